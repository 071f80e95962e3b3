#include "cli/verb.h"

#include <algorithm>
#include <cxxopts.hpp>
#include <limits>
#include <memory>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "framework/core/each_of.h"
#include "framework/core/text/terminal.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

using Strings = std::vector<std::string>;

template <class T>
std::optional<T> number_in(const std::string& text) {
  T number = 0;
  if constexpr (std::is_integral_v<T>) {
    if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  } else {
    if (!absl::SimpleAtod(text, &number)) return std::nullopt;
  }
  return number;
}

// The kind of value that the option needs, if the text is not one; else "".
std::string missed_kind(Option::Kind kind, const std::string& text) {
  using enum Option::Kind;
  if (kind == kInteger && !number_in<int64_t>(text)) return "an integer";
  if (kind == kUnsignedInteger && !number_in<uint64_t>(text)) return "an integer of 0 or more";
  return kind == kNumber && !number_in<double>(text) ? "a number" : "";
}

// Names are compared with _ in the place of -, as nearest() does.
absl::Status no_such_option(const std::string& name, const OptionList& list,
                            const std::string& command) {
  const auto names = each_of(list.all(), [](const Option& option) {
    return absl::StrReplaceAll(option.name, {{"-", "_"}});
  });
  const std::string near = absl::StrReplaceAll(nearest(name, names), {{"_", "-"}});
  return invalid_argument("there is no option ", name.size() == 1 ? "-" : "--", name, "; ",
                          near.empty() ? "" : absl::StrCat("did you mean \"--", near, "\"? "), "./",
                          command, " --help lists them");
}

struct ArgumentCount {
  size_t least = 0, most = 0;
  std::string in_words;
};

ArgumentCount count_arguments(const std::string& argument) {
  constexpr size_t kAny = std::numeric_limits<size_t>::max();
  if (argument.empty()) return {0, 0, "no argument"};
  const std::string thing = absl::StrReplaceAll(absl::AsciiStrToLower(argument),
                                                {{"[", ""}, {"]", ""}, {"…", ""}, {"|", " or "}});
  if (argument.starts_with('[')) return {0, 1, "at most one " + thing};
  const size_t space = argument.find(' ');
  const bool any = absl::EndsWith(argument, "…");
  if (space == std::string::npos && any) return {1, kAny, "at least one " + thing};
  if (space == std::string::npos) return {1, 1, "one " + thing};
  const std::string first = thing.substr(0, space), second = thing.substr(space + 1);
  if (any) return {2, kAny, "one " + first + " and at least one " + second};
  return {2, 2, first == second ? "two " + first + "s" : "one " + first + " and one " + second};
}

bool is_given(const GivenOptions& given, const std::string& name) {
  if (absl::ascii_isupper(name[0])) return !given.arguments().empty();
  const size_t equals = name.find('=');
  if (equals == std::string::npos) return given.has(name);
  const std::string option = name.substr(0, equals), value = name.substr(equals + 1);
  if (!given.has(option)) return false;
  if (value.starts_with('*')) return absl::EndsWithIgnoreCase(given.text(option), value.substr(1));
  double wanted = 0, found = 0;  // 0.0 is 0
  if (!absl::SimpleAtod(value, &wanted)) return given.text(option) == value;
  return absl::SimpleAtod(given.text(option), &found) && found == wanted;
}

std::string spelled(const std::string& name) {
  if (absl::ascii_isupper(name[0])) return name;
  return "--" + absl::StrReplaceAll(name, {{"=", " "}});
}

absl::Status show_help(const Verb& verb, const OptionList& list, const std::string& argument,
                       const GivenOptions& given) {
  ASSIGN_OR_RETURN(const std::string more, verb.more_help ? verb.more_help(argument, given) : "");
  cxxopts::Options layout(absl::StrCat("qkv ", verb.title.name),
                          absl::StrCat(verb.title.summary, "\n"));
  layout.positional_help(verb.title.argument).set_width(static_cast<size_t>(text_columns()));
  layout.parse_positional("argument");
  for (const Option& option : list.all()) {
    if (option.help.empty()) continue;
    const bool is_flag = option.kind == Option::Kind::kFlag;
    std::shared_ptr<cxxopts::Value> value = cxxopts::value<std::string>();
    if (is_flag) value = cxxopts::value<bool>();
    if (!option.if_missing.empty()) value->default_value(option.if_missing);
    const std::string letter = option.letter.empty() ? "" : option.letter + ",";
    layout.add_options()(letter + option.name, option.help, value, option.value);
  }
  show(layout.help({""}) + more);
  return absl::OkStatus();
}

}  // namespace

void OptionRules::exclude(const Names& these, const Names& others, const std::string& why,
                          const Names& unless) {
  if (others.empty() && unless.empty()) return;
  for (const std::string& name : these) rules_.push_back({name, why, others, unless});
}

absl::Status OptionRules::check(const GivenOptions& given) const {
  const auto is_there = [&](const std::string& name) { return is_given(given, name); };
  for (const auto& [name, why, others, unless] : rules_) {
    const auto other = std::ranges::find_if(others, is_there);
    const bool breaks = is_there(name) && (others.empty() || other != others.end());
    if (!breaks || std::ranges::any_of(unless, is_there)) continue;
    const std::string needs =
        absl::StrCat(" needs ", absl::StrJoin(each_of(unless, spelled), " or "));
    const std::string because = why.empty() ? "" : ": " + why;
    if (others.empty()) return invalid_argument(spelled(name), needs);
    if (!unless.empty())
      return invalid_argument(spelled(name), " beside ", spelled(*other), needs, because);
    return invalid_argument(spelled(name), " and ", spelled(*other), " exclude each other",
                            because);
  }
  return absl::OkStatus();
}

void OptionList::flag(const std::string& name, const std::string& help, const std::string& letter) {
  options_.push_back({.kind = Option::Kind::kFlag, .name = name, .letter = letter, .help = help});
}

void OptionList::text(const std::string& name, const std::string& value_name,
                      const std::string& help, const std::string& if_missing) {
  options_.push_back({.name = name, .value = value_name, .help = help, .if_missing = if_missing});
}

void OptionList::texts(const std::string& name, const std::string& value_name,
                       const std::string& help) {
  options_.push_back({.name = name, .value = value_name, .help = help, .repeats = true});
}

void OptionList::unlisted_text(const std::string& name) { text(name, "VALUE", ""); }

void OptionList::integer(const std::string& name, const std::string& value_name,
                         const std::string& help, std::optional<int64_t> if_missing) {
  text(name, value_name, help, if_missing ? absl::StrCat(*if_missing) : "");
  options_.back().kind = Option::Kind::kInteger;
}

void OptionList::unsigned_integer(const std::string& name, const std::string& value_name,
                                  const std::string& help, uint64_t if_missing) {
  text(name, value_name, help, absl::StrCat(if_missing));
  options_.back().kind = Option::Kind::kUnsignedInteger;
}

void OptionList::number(const std::string& name, const std::string& value_name,
                        const std::string& help, const std::string& if_missing) {
  text(name, value_name, help, if_missing);
  options_.back().kind = Option::Kind::kNumber;
}

void OptionList::one_of(const std::string& name, const Choices& values) {
  choices(name, values);
  named(name).is_one_of_choices = true;
}

void OptionList::set(const std::string& help) { texts("set", "KEY=VALUE", help); }

void OptionList::json(const std::string& what) {
  text("json", "FILE", absl::StrCat("Writes ", what, " as JSON; -: to standard output, alone"));
}

void OptionList::split() {
  text("split", "PART", "Part of the data: val or train", "val");
  one_of("split", [] { return Strings{"val", "train"}; });
}

Option& OptionList::named(const std::string& name) {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? arguments_ : *found;
}

const Option* OptionList::find(const std::string& name_or_letter) const {
  const auto found = std::ranges::find_if(options_, [&](const Option& option) {
    return option.name == name_or_letter ||
           (option.letter == name_or_letter && !option.letter.empty());
  });
  return found == options_.end() ? nullptr : &*found;
}

absl::Status GivenOptions::read(const Strings& words, const std::string& command) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--") {
      arguments_.insert(arguments_.end(), word + 1, words.end());
      break;
    }
    if (word->size() < 2 || !word->starts_with('-')) {
      arguments_.push_back(*word);
      continue;
    }
    // --name=value, or -nvalue
    const size_t dashes = word->starts_with("--") ? 2 : 1;
    const size_t end = dashes == 1 ? 2 : std::min(word->find('='), word->size());
    const std::string name = word->substr(dashes, end - dashes);
    const Option* const option = list_.find(name);
    if (option == nullptr) return no_such_option(name, list_, command);
    std::optional<std::string> value;
    if (end < word->size()) value = word->substr(end + dashes - 1);
    if (option->kind == Option::Kind::kFlag) {
      if (value)
        return invalid_argument("--", option->name, " takes no value, found \"", *value, "\"");
      values_[option->name].emplace_back();
      continue;
    }
    if (!value && ++word != words.end()) value = *word;
    if (!value || (value->empty() && !option->may_be_empty)) {
      return invalid_argument("--", option->name, " needs a value; see ", command, " --help");
    }
    const std::string expected = missed_kind(option->kind, *value);
    if (!expected.empty()) {
      return invalid_argument("--", option->name, ": expected ", expected, ", found \"", *value,
                              "\"");
    }
    values_[option->name].push_back(*value);
  }
  return absl::OkStatus();
}

absl::Status GivenOptions::check() const {
  for (const auto& [name, values] : values_) {
    const Option& option = *list_.find(name);
    if (values.size() > 1 && !option.repeats) {
      return invalid_argument("--", name, " is given ", values.size(), " times; give it once");
    }
    if (!option.is_one_of_choices) continue;
    const Strings choices = option.choices();
    if (std::ranges::count(choices, values[0]) > 0) continue;
    return invalid_argument("--", name, ": there is no \"", values[0], "\"; there are ",
                            absl::StrJoin(choices, ", "));
  }
  return list_.rules().check(*this);
}

std::string GivenOptions::text(const std::string& name) const {
  if (has(name)) return values_.at(name).back();
  const Option* const option = list_.find(name);
  return option == nullptr ? "" : option->if_missing;
}

Strings GivenOptions::texts(const std::string& name) const {
  return has(name) ? values_.at(name) : Strings{};
}

int64_t GivenOptions::integer(const std::string& name) const {
  return number_in<int64_t>(text(name)).value();
}

std::optional<int64_t> GivenOptions::integer_if_given(const std::string& name) const {
  return number_in<int64_t>(has(name) ? text(name) : "");
}

uint64_t GivenOptions::unsigned_integer(const std::string& name) const {
  return number_in<uint64_t>(text(name)).value();
}

double GivenOptions::number(const std::string& name) const {
  return number_in<double>(text(name)).value();
}

Strings GivenOptions::options() const {
  return each_of(values_, [](const auto& given) { return given.first; });
}

std::map<std::string, std::string> GivenOptions::texts_of(
    const std::set<std::string>& names) const {
  std::map<std::string, std::string> texts;
  for (const std::string& name : names) {
    if (has(name)) texts[name] = text(name);
  }
  return texts;
}

Split GivenOptions::split() const {
  return text("split") == "val" ? Split::kValidation : Split::kTraining;
}

OptionList options_of(const Verb& verb) {
  OptionList list;
  if (verb.add_options) verb.add_options(list);
  list.flag("help", "Prints this help", "h");
  return list;
}

absl::Status run_verb(const Verb& verb, const Strings& words) {
  if (verb.answer && words != Strings{"--help"}) return verb.answer();
  const std::string command = absl::StrCat("qkv ", verb.title.name);
  const OptionList list = options_of(verb);
  GivenOptions given(list);
  RETURN_IF_ERROR(given.read(words, command));
  const size_t count = given.arguments().size();
  const std::string argument = count == 0 ? "" : given.arguments()[0];
  if (given.has("help")) return show_help(verb, list, argument, given);
  RETURN_IF_ERROR(given.check());
  const ArgumentCount wanted = count_arguments(verb.title.argument);
  if (count < wanted.least || count > wanted.most) {
    return invalid_argument(verb.title.name, " takes ", wanted.in_words, ": ./", command,
                            *verb.title.argument == '\0' ? "" : " ", verb.title.argument);
  }
  return verb.run(argument, given);
}

absl::Status reject(std::initializer_list<std::pair<bool, std::string>> mistakes) {
  for (const auto& [is_made, message] : mistakes) {
    if (is_made) return absl::InvalidArgumentError(message);
  }
  return absl::OkStatus();
}

}  // namespace qkv
