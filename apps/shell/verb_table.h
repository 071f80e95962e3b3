#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/verb.h"

namespace qkv {

// The verbs with their options, as the verbs themselves declare them: what shells complete and the
// man page tells.
struct OptionEntry {
  std::string name;                       // "help"
  std::string letter;                     // "h"; "" where there is none
  std::string value;                      // "FILE"; "": it is a flag
  std::string help;                       // "" of an option that --help leaves out
  std::string if_missing;                 // its default; ""
  bool repeats;                           // whether it may be given more than once
  std::vector<std::string> choices = {};  // the values there are; none: any
};
struct VerbEntry {
  VerbTitle title;
  std::vector<OptionEntry> options;
  std::vector<std::string> choices;  // the arguments there are; none: any
};
std::vector<VerbEntry> verb_table(std::span<Verb (*const)()> verbs);

// What a shell offers in the place of a value or of an argument.
enum class WordKind { kNothing, kFile, kFolder, kConfig, kRun, kKey, kChoice };
WordKind kind_of_word(const std::string& name, const std::vector<std::string>& choices);

// A key of a config, for --set, with the values there are; none: any.
struct KeyEntry {
  std::string key;
  std::vector<std::string> values;
};
std::vector<KeyEntry> config_keys();

}  // namespace qkv
