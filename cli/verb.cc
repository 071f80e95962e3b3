#include "cli/verb.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "framework/core/terminal.h"
#include "train/config/config.h"
#include "train/config/suggest.h"

// A comma in a value belongs to it: --set optimizer.betas=[0.9,0.95]
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cxxopts.hpp>

namespace qkv {
namespace {

using Strings = std::vector<std::string>;

template <class T>
bool read(const std::string& text, T& number) {
  if constexpr (std::is_same_v<T, double>) {
    return absl::SimpleAtod(text, &number);
  } else {
    return absl::SimpleAtoi(text, &number);
  }
}

// The text of one number and of nothing else, as in decimal. Its mistakes name the option, what it
// wants and what it got; those of cxxopts name the text alone.
template <class T>
class NumberText final : public cxxopts::values::standard_value<std::string> {
 public:
  explicit NumberText(std::string option) : option_(std::move(option)) {}

  void parse(const std::string& text) const override {
    T number = 0;
    if (!read(text, number)) {
      const char* const expected = std::is_same_v<T, double>    ? "a number"
                                   : std::is_same_v<T, int64_t> ? "an integer"
                                                                : "an integer of 0 or more";
      throw cxxopts::exceptions::parsing(
          absl::StrCat("--", option_, ": expected ", expected, ", found \"", text, "\""));
    }
    *m_store = text;
  }

  std::shared_ptr<cxxopts::Value> clone() const override {
    return std::make_shared<NumberText>(*this);
  }

 private:
  std::string option_;
};

template <class T>
T number_of(const cxxopts::ParseResult& parsed, const std::string& name) {
  T number = 0;
  read(parsed[name].as<std::string>(), number);
  return number;
}

// There or not there.
class FlagValue final : public cxxopts::values::standard_value<bool> {
 public:
  explicit FlagValue(std::string option) : option_(std::move(option)) {}

  void parse(const std::string& text) const override {
    if (text != get_implicit_value()) {
      throw cxxopts::exceptions::parsing(
          absl::StrCat("--", option_, " takes no value, found \"", text, "\""));
    }
    *m_store = true;
  }

  std::shared_ptr<cxxopts::Value> clone() const override {
    return std::make_shared<FlagValue>(*this);
  }

 private:
  std::string option_;
};

// cxxopts takes a name of one letter behind one dash only: --d 16 and --d=16 become -d 16.
Strings with_short_names(int argc, char** argv) {
  Strings words;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    const bool is_letter =
        word.size() > 2 && word.starts_with("--") && absl::ascii_isalpha(word[2]);
    if (is_letter && word.size() == 3) {
      words.push_back(word.substr(1));
    } else if (is_letter && word[3] == '=') {
      words.insert(words.end(), {word.substr(1, 2), word.substr(4)});
    } else {
      words.push_back(word);
    }
  }
  return words;
}

// What is wrong with that option. Names are compared with _ in the place of -, as nearest() does.
std::string no_such_option(const std::string& name, const cxxopts::Options& options,
                           const std::string& command) {
  Strings names;
  for (const std::string& group : options.groups()) {
    for (const cxxopts::HelpOptionDetails& option : options.group_help(group).options) {
      const std::string known = option.l.empty() ? option.s : option.l.front();
      if (known != "argument") names.push_back(absl::StrReplaceAll(known, {{"-", "_"}}));
    }
  }
  const std::string near = absl::StrReplaceAll(nearest(name, names), {{"_", "-"}});
  return absl::StrCat("there is no option ", name.size() == 1 ? "-" : "--", name, "; ",
                      near.empty() ? "" : absl::StrCat("did you mean \"--", near, "\"? "), "./",
                      command, " --help lists them");
}

cxxopts::ParseResult parse(cxxopts::Options& options, const std::string& command, int argc,
                           char** argv) {
  const Strings words = with_short_names(argc, argv);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  try {
    return options.parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const cxxopts::exceptions::no_such_option& e) {
    std::string name = e.what();  // the message has it in quotes; nothing else has it
    name.erase(0, name.find(cxxopts::LQUOTE) + cxxopts::LQUOTE.size());
    name.erase(name.rfind(cxxopts::RQUOTE));
    throw cxxopts::exceptions::parsing(no_such_option(name, options, command));
  }
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

absl::Status show_help(const Verb& verb, const std::string& argument,
                       const cxxopts::Options& options, const GivenOptions& given) {
  const absl::StatusOr<std::string> more = verb.more_help ? verb.more_help(argument, given) : "";
  if (!more.ok()) return more.status();
  show(options.help({""}) + *more);
  if (absl::StrContains(verb.title.argument, "CONFIG")) show("\n" + config_help());
  return absl::OkStatus();
}

}  // namespace

void OptionList::flag(const std::string& name, const std::string& help) {
  const std::string long_name = name.substr(name.find(',') + 1);  // of "h,help"
  options_.add_options()(name, help, std::make_shared<FlagValue>(long_name));
}

void OptionList::text(const std::string& name, const std::string& value_name,
                      const std::string& help, const std::string& if_missing) {
  auto value = cxxopts::value<std::string>();
  if (!if_missing.empty()) value->default_value(if_missing);
  options_.add_options()(name, help, value, value_name);
}

void OptionList::texts(const std::string& name, const std::string& value_name,
                       const std::string& help) {
  options_.add_options()(name, help, cxxopts::value<Strings>(), value_name);
  rules_.may_repeat(name);
}

void OptionList::unlisted_text(const std::string& name) {
  options_.add_options("unlisted")(name, "", cxxopts::value<std::string>(), "");
}

void OptionList::integer(const std::string& name, const std::string& value_name,
                         const std::string& help, std::optional<int64_t> if_missing) {
  const auto value = std::make_shared<NumberText<int64_t>>(name);
  if (if_missing) value->default_value(absl::StrCat(*if_missing));
  options_.add_options()(name, help, value, value_name);
}

void OptionList::unsigned_integer(const std::string& name, const std::string& value_name,
                                  const std::string& help, uint64_t if_missing) {
  const auto value = std::make_shared<NumberText<uint64_t>>(name);
  value->default_value(absl::StrCat(if_missing));
  options_.add_options()(name, help, value, value_name);
}

void OptionList::number(const std::string& name, const std::string& value_name,
                        const std::string& help, const std::string& if_missing) {
  const auto value = std::make_shared<NumberText<double>>(name);
  value->default_value(if_missing);
  options_.add_options()(name, help, value, value_name);
}

Strings OptionList::choices_of(const std::string& name) const {
  const auto found = choices_.find(name);
  return found == choices_.end() ? Strings{} : found->second();
}

void OptionList::one_of(const std::string& name, const Choices& values) {
  choices(name, values);
  rules_.allow_only(name, values());
}

void OptionList::set(const std::string& help) { texts("set", "KEY=VALUE", help); }

void OptionList::json(const std::string& what) {
  text("json", "FILE", absl::StrCat("Writes ", what, " as JSON; -: to standard output, alone"));
}

void OptionList::split() {
  text("split", "PART", "Part of the data: val or train", "val");
  one_of("split", [] { return Strings{"val", "train"}; });
}

bool GivenOptions::has(const std::string& name) const { return count(name) > 0; }

size_t GivenOptions::count(const std::string& name) const { return parsed_.count(name); }

std::string GivenOptions::text(const std::string& name) const {
  return has(name) || parsed_[name].has_default() ? parsed_[name].as<std::string>() : "";
}

Strings GivenOptions::texts(const std::string& name) const {
  return has(name) ? parsed_[name].as<Strings>() : Strings{};
}

int64_t GivenOptions::integer(const std::string& name) const {
  return number_of<int64_t>(parsed_, name);
}

std::optional<int64_t> GivenOptions::integer_if_given(const std::string& name) const {
  if (!has(name)) return std::nullopt;
  return integer(name);
}

uint64_t GivenOptions::unsigned_integer(const std::string& name) const {
  return number_of<uint64_t>(parsed_, name);
}

double GivenOptions::number(const std::string& name) const {
  return number_of<double>(parsed_, name);
}

Strings GivenOptions::arguments() const { return texts("argument"); }

Strings GivenOptions::options() const {
  Strings names;
  for (const cxxopts::KeyValue& given : parsed_.arguments()) {
    const std::string& name = given.key();
    if (name != "argument" && std::ranges::count(names, name) == 0) names.push_back(name);
  }
  return names;
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

absl::Status run_verb(const Verb& verb, int argc, char** argv) try {
  const std::string command = absl::StrCat("qkv ", verb.title.name);
  cxxopts::Options options(command, absl::StrCat(verb.title.summary, "\n"));
  options.positional_help(verb.title.argument);
  options.set_width(static_cast<size_t>(text_columns()));
  OptionList list(options);
  verb.add_options(list);
  list.flag("h,help", "Prints this help");
  if (verb.answer && !(argc == 2 && std::string_view(argv[1]) == "--help")) return verb.answer();
  list.texts("argument", "", "");
  options.parse_positional("argument");
  options.add_options("hidden");
  const cxxopts::ParseResult parsed = parse(options, command, argc, argv);
  const Strings arguments = GivenOptions(parsed).arguments();
  if (parsed.count("help") > 0) {
    return show_help(verb, arguments.empty() ? "" : arguments[0], options, GivenOptions(parsed));
  }
  for (const cxxopts::KeyValue& given : parsed.arguments()) {
    const bool may_be_empty = given.key() == "argument" || list.takes_empty(given.key());
    if (!given.value().empty() || may_be_empty) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", given.key(), " needs a value; see ", command, " --help"));
  }
  if (absl::Status s = list.rules().check(GivenOptions(parsed)); !s.ok()) return s;
  const ArgumentCount wanted = count_arguments(verb.title.argument);
  if (arguments.size() < wanted.least || arguments.size() > wanted.most) {
    return absl::InvalidArgumentError(
        absl::StrCat(verb.title.name, " takes ", wanted.in_words, ": ./", command,
                     *verb.title.argument == '\0' ? "" : " ", verb.title.argument));
  }
  return verb.run(arguments.empty() ? "" : arguments[0], GivenOptions(parsed));
} catch (const cxxopts::exceptions::exception& e) {
  return absl::InvalidArgumentError(e.what());
}

absl::Status reject(std::initializer_list<std::pair<bool, std::string>> mistakes) {
  for (const auto& [is_made, message] : mistakes) {
    if (is_made) return absl::InvalidArgumentError(message);
  }
  return absl::OkStatus();
}

}  // namespace qkv
