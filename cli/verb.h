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

#include "cli/show.h"
#include "data/split.h"
#include "framework/core/status.h"
#include "framework/core/text/names.h"

namespace qkv {

class GivenOptions;

// Which options of a verb may stand beside each other, so that each that is given does something.
// An option is named as "json", as "json=-" or "export=*.png" where it has such a value, and the
// arguments as "RUN".
class OptionRules {
 public:
  using Names = std::vector<std::string>;

  // Each of these with each of the others, for the reason `why`; one of `unless` allows them.
  void exclude(const Names& these, const Names& others, const std::string& why = "",
               const Names& unless = {});
  void need(const Names& these, const std::string& other) { exclude(these, {}, "", {other}); }

  // The first rule that the options break.
  absl::Status check(const GivenOptions& given) const;

 private:
  struct Rule {
    std::string name, why;
    Names others, unless;  // no others: it needs one of `unless`, whatever stands beside it
  };

  std::vector<Rule> rules_;
};

// An option of a verb, as the verb declares it: --help, the manual page and the shells' completion
// are made of these.
struct Option {
  enum class Kind { kFlag, kText, kInteger, kUnsignedInteger, kNumber };

  Kind kind = Kind::kText;
  std::string name = {};        // "help"; the user writes --help
  std::string letter = {};      // "h", for -h; "" where there is none
  std::string value = {};       // "FILE"; "" of a flag
  std::string help = {};        // "": --help leaves it to the verb's more_help
  std::string if_missing = {};  // its default; "" where there is none
  bool repeats = false;         // whether it may be given more than once
  bool may_be_empty = false;
  bool is_one_of_choices = false;
  std::function<std::vector<std::string>()> choices = {};  // which shells complete
};

// The options that a verb takes.
class OptionList {
 public:
  void flag(const std::string& name, const std::string& help, const std::string& letter = "");
  void text(const std::string& name, const std::string& value_name, const std::string& help,
            const std::string& if_missing = "");
  void texts(const std::string& name, const std::string& value_name, const std::string& help);
  void may_be_empty(const std::string& name) { named(name).may_be_empty = true; }  // the text
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
  void choices(const std::string& name, Choices values) { named(name).choices = std::move(values); }
  void one_of(const std::string& name, const Choices& values);  // and no other value

  OptionRules& rules() { return rules_; }
  const OptionRules& rules() const { return rules_; }

  // Options of several verbs.
  void set(const std::string& help = "Overrides a value: --set model.d_model=128; may be repeated");
  void json(const std::string& what);  // --json FILE; `what` it is: "the runs"
  void split();

  const std::vector<Option>& all() const { return options_; }
  const Option& arguments() const { return arguments_; }
  const Option* find(const std::string& name_or_letter) const;  // or null

 private:
  Option& named(const std::string& name);

  std::vector<Option> options_;
  Option arguments_;
  OptionRules rules_;
};

// The options and arguments that the user gave.
class GivenOptions {
 public:
  explicit GivenOptions(const OptionList& list) : list_(list) {}

  // Takes the words after the verb. InvalidArgument if one of them alone is wrong.
  absl::Status read(const std::vector<std::string>& words, const std::string& command);
  absl::Status check() const;  // whether they go together

  bool has(const std::string& name) const { return values_.contains(name); }
  std::string text(const std::string& name) const;                // "" where it is missing
  std::vector<std::string> texts(const std::string& name) const;  // none where it is missing
  int64_t integer(const std::string& name) const;
  std::optional<int64_t> integer_if_given(const std::string& name) const;
  uint64_t unsigned_integer(const std::string& name) const;
  double number(const std::string& name) const;
  std::vector<std::string> options() const;  // the names of those that were given
  const std::vector<std::string>& arguments() const { return arguments_; }
  // The texts of those of these options that were given, by name.
  std::map<std::string, std::string> texts_of(const std::set<std::string>& names) const;

  std::vector<std::string> set() const { return texts("set"); }
  Split split() const;
  template <class E>  // of an option that is one_of() its names
  E value(const std::string& name) const {
    return *value_of<E>(text(name));
  }

 private:
  const OptionList& list_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> arguments_;
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
  void (*add_options)(OptionList&) = nullptr;  // it takes none
  // `argument` is the first one.
  absl::Status (*run)(const std::string& argument, const GivenOptions&) = nullptr;
  // The text of --help after the options; an error replaces the whole help.
  absl::StatusOr<std::string> (*more_help)(const std::string& argument,
                                           const GivenOptions&) = nullptr;
  // Answers in the place of `run`, whatever the words, unless these are --help.
  absl::Status (*answer)() = nullptr;
};

OptionList options_of(const Verb& verb);  // with --help

// Runs the verb with the words after its name, or shows its help. InvalidArgument if the words
// themselves are wrong.
absl::Status run_verb(const Verb& verb, const std::vector<std::string>& words);

// InvalidArgument with the text of the first of these mistakes that was made.
absl::Status reject(std::initializer_list<std::pair<bool, std::string>> mistakes);

}  // namespace qkv
