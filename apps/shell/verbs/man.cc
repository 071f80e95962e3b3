#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/shell/all_verbs.h"
#include "cli/command_line.h"
#include "framework/core/text/utf8.h"
#include "train/config/config_fields.h"

namespace qkv {
namespace {

// The number of the code point at the front of `text`, which is valid UTF-8 of `length` bytes.
uint32_t code_point(std::string_view text, size_t length) {
  uint32_t number = static_cast<unsigned char>(text[0]) & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    number = (number << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return number;
}

// `text` as roff reads it: every sign for itself, none of it a command.
std::string roff(std::string_view text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, code_point_length(text));
    if (length > 1) {
      absl::StrAppendFormat(&result, "\\[u%04X]", code_point(text, length));
    } else if (text[0] == '\\') {
      result += "\\e";
    } else if (text[0] == '-') {
      result += "\\-";
    } else {
      result += text[0];
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string bold(const std::string& text) { return absl::StrCat("\\fB", roff(text), "\\fR"); }
std::string italic(const std::string& text) { return absl::StrCat("\\fI", roff(text), "\\fR"); }

std::string entry(const std::string& head, const std::string& text) {
  return absl::StrCat(".TP\n", head, "\n", text, "\n");
}

std::string option_text(const Option& option) {
  const std::string letter = option.letter.empty() ? "" : bold("-" + option.letter) + ", ";
  const std::string value = option.value.empty() ? "" : " " + italic(option.value);
  const std::string if_missing =
      option.if_missing.empty() ? "" : absl::StrCat(" (default: ", roff(option.if_missing), ")");
  return entry(absl::StrCat(letter, bold("--" + option.name), value),
               roff(option.help) + if_missing);
}

std::string verb_text(const Verb& verb) {
  const std::string argument = verb.title.argument;
  std::string text = absl::StrCat(".SS \"qkv ", roff(verb.title.name), argument.empty() ? "" : " ",
                                  roff(argument), "\"\n", roff(verb.title.summary), ".\n");
  const OptionList options = options_of(verb);
  for (const Option& option : options.all()) {
    if (!option.help.empty()) text += option_text(option);
  }
  return text;
}

std::string keys_text() {
  Config defaults;
  std::string text, table;
  for (const Field& field : config_fields(defaults)) {
    if (field.table != table) absl::StrAppend(&text, ".SS [", roff(field.table), "]\n");
    table = field.table;
    text += entry(absl::StrCat(bold(field.name), " = ", roff(field.to_string())),
                  roff(meaning_of(field)));
  }
  return text;
}

// qkv.1, for man: the verbs with their options, and the keys of configs.
std::string man_page() {
  const std::string version(version_text().substr(0, version_text().find('\n')));
  std::string text =
      absl::StrCat(".TH QKV 1 \"\" \"", roff(version), "\" \"User Commands\"\n.ad l\n.nh\n",
                   ".SH NAME\nqkv \\- trains small transformers and shows how they learn\n",
                   ".SH SYNOPSIS\n\\fBqkv\\fR \\fIVERB\\fR [\\fIarguments\\fR]\n", ".SH VERBS\n");
  for (const auto make_verb : all_verbs()) {
    const Verb verb = make_verb();
    if (*verb.title.name != '_') text += verb_text(verb);
  }
  absl::StrAppend(&text,
                  ".SH CONFIG KEYS\nA CONFIG is a TOML file. These are its keys, with "
                  "their defaults;\n",
                  bold("--set"), " overrides them.\n", keys_text(), ".SH ENVIRONMENT\n",
                  entry(bold("NO_COLOR"), "If it is set, there are no colours."),
                  entry(bold("COLUMNS"), "The width of the terminal, where it says another."),
                  ".SH EXIT STATUS\n", entry("0", "All went well."),
                  entry("1", "Something went wrong, or a check did not pass."),
                  entry("2", "What the user wrote is wrong."),
                  entry("130", "Ctrl\\-C stopped a training, which can continue."));
  return text;
}

absl::Status run_man(const std::string& /*argument*/, const GivenOptions& /*given*/) {
  print(man_page());
  return absl::OkStatus();
}

}  // namespace

Verb man_verb() { return {{"man", "", "prints the manual page"}, nullptr, run_man}; }

}  // namespace qkv
