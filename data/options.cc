#include "data/options.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace qkv {
namespace {

// Larger than anybody needs, small enough that nothing overflows or eats the machine.
constexpr int64_t kMaxLength = 65536;
constexpr int64_t kMaxAlphabet = 62;        // 0-9, a-z, A-Z
constexpr int64_t kMaxRecallAlphabet = 26;  // keys a-z, values A-Z
constexpr int64_t kMaxDigits = 100;
constexpr int64_t kMaxModulus = 1000;
constexpr int64_t kMaxValidationExamples = 100000;

class Checker {
 public:
  explicit Checker(std::vector<OptionMistake>& mistakes) : mistakes_(mistakes) {}

  void range(const char* key, int64_t value, int64_t low, int64_t high) {
    if (value < low || value > high) {
      add(key, absl::StrCat("must be ", low, " … ", high, ", not ", value));
    }
  }

  // Written so that a NaN is a mistake too.
  void fraction(double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      add("train_fraction", absl::StrCat("must be ", low, " … ", high, ", not ", value));
    }
  }

  void add(const char* key, std::string message) { mistakes_.push_back({key, std::move(message)}); }

 private:
  std::vector<OptionMistake>& mistakes_;
};

void check_lengths(Checker& check, const DataOptions& options, int64_t shortest) {
  check.range("length", options.length, shortest, kMaxLength);
  if (options.min_length != 0) {
    check.range("min_length", options.min_length, shortest, std::max(shortest, options.length));
  }
  if (options.validation_length != 0) {
    check.range("validation_length", options.validation_length, shortest, kMaxLength);
  }
}

}  // namespace

const std::vector<std::string>& task_names() {
  static const auto& names = *new std::vector<std::string>{"copy",
                                                           "reverse",
                                                           "sort",
                                                           "addition",
                                                           "modular_addition",
                                                           "parity",
                                                           "associative_recall",
                                                           "induction",
                                                           "text",
                                                           "lines"};
  return names;
}

std::vector<OptionMistake> find_mistakes(const DataOptions& options) {
  std::vector<OptionMistake> mistakes;
  Checker check(mistakes);
  const std::string& task = options.task;
  const auto is = [&task](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), task) != names.end();
  };

  const auto& known = task_names();
  if (std::find(known.begin(), known.end(), task) == known.end()) {
    check.add("task",
              absl::StrCat("must be one of ", absl::StrJoin(known, ", "), ", not \"", task, "\""));
    return mistakes;  // which of the other keys count is not known
  }

  if (is({"copy", "reverse", "sort"})) check_lengths(check, options, 1);
  if (is({"parity"})) check_lengths(check, options, 1);
  if (is({"induction"})) check_lengths(check, options, 2);
  if (is({"text"})) check.range("length", options.length, 1, kMaxLength);
  if (is({"copy", "reverse", "sort", "induction"})) {
    check.range("alphabet", options.alphabet, 2, kMaxAlphabet);
  }
  if (is({"induction"}) && options.alphabet <= kMaxAlphabet) {
    const int64_t longest = std::max(options.length, options.validation_length);
    if (options.alphabet < longest) {
      check.add("alphabet",
                absl::StrCat("must be at least the longest segment, ", longest,
                             ", because its symbols are all different, not ", options.alphabet));
    }
  }
  if (is({"associative_recall"})) {
    check.range("alphabet", options.alphabet, 2, kMaxRecallAlphabet);
    check.range("pairs", options.pairs, 1, kMaxRecallAlphabet);
    if (options.alphabet >= 2 && options.pairs <= kMaxRecallAlphabet &&
        options.pairs > options.alphabet) {
      check.add("pairs", absl::StrCat("must be at most the alphabet, ", options.alphabet,
                                      ", because the keys are all different, not ", options.pairs));
    }
  }
  if (is({"addition"})) check.range("digits", options.digits, 1, kMaxDigits);
  if (is({"modular_addition"})) check.range("modulus", options.modulus, 2, kMaxModulus);
  if (is({"text", "lines"}) && options.path.empty()) {
    check.add("path", absl::StrCat("is missing: the task \"", task,
                                   "\" reads a file; give one with --set data.path=FILE"));
  }

  // A task draws questions until one falls on the side it wants: neither side may be tiny.
  if (is({"text", "lines"})) {
    check.fraction(options.train_fraction, 0.001, 0.999);
  } else {
    check.fraction(options.train_fraction, 0.01, 0.99);
  }
  if (!is({"text", "modular_addition"})) {
    check.range("validation_examples", options.validation_examples, 1, kMaxValidationExamples);
  }
  return mistakes;
}

}  // namespace qkv
