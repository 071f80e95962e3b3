#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/option_rules.h"
#include "cli/show.h"
#include "data/split.h"
#include "framework/core/names.h"

namespace cxxopts {
class Options;
class ParseResult;
}  // namespace cxxopts

namespace qkv {

// The options that a verb takes. The error about a wrong value names the option.
class OptionList {
 public:
  explicit OptionList(cxxopts::Options& options) : options_(options) {}

  void flag(const std::string& name, const std::string& help);
  void text(const std::string& name, const std::string& value_name, const std::string& help,
            const std::string& if_missing = "");
  void texts(const std::string& name, const std::string& value_name, const std::string& help);
  void may_be_empty(const std::string& name) { may_be_empty_.insert(name); }  // the text
  void unlisted_text(const std::string& name);  // --help leaves it to the verb's more_help
  // Without `if_missing` they may be missing.
  void integer(const std::string& name, const std::string& value_name, const std::string& help,
               std::optional<int64_t> if_missing = std::nullopt);
  void unsigned_integer(const std::string& name, const std::string& value_name,
                        const std::string& help, uint64_t if_missing);
  void number(const std::string& name, const std::string& value_name, const std::string& help,
              const std::string& if_missing);

  // The values that an option may have, which shells complete; name "": the verb's arguments.
  using Choices = std::function<std::vector<std::string>()>;
  void choices(const std::string& name, Choices values) { choices_[name] = std::move(values); }
  std::vector<std::string> choices_of(const std::string& name) const;
  void one_of(const std::string& name, const Choices& values);  // and no other value

  OptionRules& rules() { return rules_; }  // texts() may repeat, and nothing else

  // Options of several verbs.
  void set(const std::string& help = "Overrides a value: --set model.d_model=128; may be repeated");
  void json(const std::string& what);  // --json FILE; `what` it is: "the runs"
  void split();

  bool takes_empty(const std::string& name) const { return may_be_empty_.contains(name); }

 private:
  cxxopts::Options& options_;
  std::set<std::string> may_be_empty_;
  std::map<std::string, Choices> choices_;
  OptionRules rules_;
};

// The options that the user gave.
class GivenOptions {
 public:
  explicit GivenOptions(const cxxopts::ParseResult& parsed) : parsed_(parsed) {}

  bool has(const std::string& name) const;
  std::string text(const std::string& name) const;                // "" where it is missing
  std::vector<std::string> texts(const std::string& name) const;  // none where it is missing
  int64_t integer(const std::string& name) const;
  std::optional<int64_t> integer_if_given(const std::string& name) const;
  uint64_t unsigned_integer(const std::string& name) const;
  size_t count(const std::string& name) const;
  std::vector<std::string> options() const;    // the names of those that were given, each once
  std::vector<std::string> arguments() const;  // all of them
  // The texts of those of these options that were given, by name.
  std::map<std::string, std::string> texts_of(const std::set<std::string>& names) const;
  double number(const std::string& name) const;

  std::vector<std::string> set() const { return texts("set"); }
  Split split() const;
  template <class E>  // of an option that is one_of() its names
  E value(const std::string& name) const {
    return *value_of<E>(text(name));
  }

 private:
  const cxxopts::ParseResult& parsed_;
};

struct VerbTitle {
  const char* name;
  // "CONFIG"; "[CONFIG]" where it may be left out; "RUN RUN" for two; "RUN…" for one or more,
  // "RUN FILE…" for one and more; "" for none.
  const char* argument;
  const char* summary;
};

// A verb of the command line, `qkv NAME [ARGUMENT] [options]`. Its Status decides the exit status:
//   2    a user error: InvalidArgument, NotFound, AlreadyExists or FailedPrecondition
//   130  Cancelled: an interruption that was already reported
//   1    every other error
struct Verb {
  VerbTitle title;
  void (*add_options)(OptionList&);
  absl::Status (*run)(const std::string& argument, const GivenOptions&);  // the first argument
  // The text of --help after the options; an error replaces the whole help.
  absl::StatusOr<std::string> (*more_help)(const std::string& argument,
                                           const GivenOptions&) = nullptr;
  // Answers in the place of `run`, whatever the words, unless these are --help.
  absl::Status (*answer)() = nullptr;
};

// Runs the verb with the words after `qkv`, the first of which is its name; or shows its help. What
// is wrong with the words themselves is InvalidArgument.
absl::Status run_verb(const Verb& verb, int argc, char** argv);

// InvalidArgument with the text of the first of these mistakes that was made.
absl::Status reject(std::initializer_list<std::pair<bool, std::string>> mistakes);

}  // namespace qkv
