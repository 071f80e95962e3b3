#include <algorithm>
#include <filesystem>
#include <variant>

#include "absl/strings/match.h"
#include "apps/shell/all_verbs.h"
#include "cli/kit.h"
#include "train/config/config_fields.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// To bash "=" is a word.
Strings joined_at_equals(const Strings& parts) {
  Strings words;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && (parts[i] == "=" || parts[i - 1] == "=")) {
      words.back() += parts[i];
    } else {
      words.push_back(parts[i]);
    }
  }
  return words;
}

Strings keys_and_values(const std::string& word) {
  Strings found;
  Config defaults;
  for (const Field& field : config_fields(defaults)) {
    const std::string key = field.key() + "=";
    if (!absl::StrContains(word, '=')) found.push_back(key);
    if (!word.starts_with(key)) continue;
    const bool is_flag = std::holds_alternative<bool*>(field.value);
    for (const std::string& value : is_flag ? Strings{"true", "false"} : field.allowed()) {
      found.push_back(key + value);
    }
  }
  return found;
}

Strings run_folders() {
  Strings found;
  std::error_code ignored;
  for (auto file = fs::recursive_directory_iterator("runs", ignored); file != end(file); ++file) {
    if (file->path().filename() == "config.toml") found.push_back(file->path().parent_path());
    if (file.depth() > 1) file.disable_recursion_pending();
  }
  std::ranges::sort(found);
  return found;
}

// Completions of `word`, where a value of that option or an argument belongs: a line each, which
// begins with `before`. A line before says what else can: ":files".
std::string offer(const Option& option, const std::string& before, const std::string& word) {
  const auto lines = [&](const Strings& words) {
    std::string text;
    for (const std::string& each : words) absl::StrAppend(&text, before, each, "\n");
    return text;
  };
  const auto is_named = [&](const char* name) { return absl::StrContains(option.value, name); };
  if (option.choices) return lines(option.choices());
  if (is_named("KEY=VALUE")) return lines(keys_and_values(word));
  if (is_named("CONFIG")) return ":configs\n";
  if (is_named("RUN")) return ":files\n" + lines(run_folders());
  if (is_named("FILE")) return ":files\n";
  return is_named("DIR") ? ":folders\n" : "";
}

// The words follow `qkv`. A word that is offered may have what it means after a tab.
std::string offer_for_last(const Strings& words) {
  const std::string& word = words.back();
  std::string verbs, options;
  for (const auto make_verb : all_verbs()) {
    const Verb verb = make_verb();
    const auto& [name, argument, summary] = verb.title;
    if (*name != '_') absl::StrAppend(&verbs, name, "\t", summary, "\n");
    if (words.size() == 1 || words[0] != name) continue;
    const OptionList list = options_of(verb);
    const size_t equals = word.find('=');
    if (word.starts_with("--") && equals != std::string::npos) {
      const Option* const option = list.find(word.substr(2, equals - 2));
      if (option == nullptr) return "";
      return offer(*option, word.substr(0, equals + 1), word.substr(equals + 1));
    }
    for (const Option& option : list.all()) {
      if (words.end()[-2] == "--" + option.name && option.kind != Option::Kind::kFlag) {
        return offer(option, "", word);
      }
      absl::StrAppend(&options, "--", option.name, "\t", option.help, "\n");
    }
    if (word.starts_with("-")) return options;
    Option of_arguments = list.arguments();
    of_arguments.value = argument;
    return offer(of_arguments, "", word);
  }
  if (words.size() > 1) return "";
  return verbs + "--help\tPrints the verbs\n--version\tPrints the version\n";
}

absl::Status run_complete(const std::string& /*word*/, const GivenOptions& given) {
  print(offer_for_last(joined_at_equals(given.arguments())));
  return absl::OkStatus();
}

}  // namespace

Verb complete_verb() {
  return {{"_complete", "WORD…", "what the scripts of `completion` ask"}, nullptr, run_complete};
}

}  // namespace qkv
