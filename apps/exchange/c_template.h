#pragma once

#include <map>
#include <set>
#include <string>

namespace qkv {

// What a template is filled with.
struct TemplateValues {
  std::set<std::string> facts;               // "norm=pre"
  std::map<std::string, std::string> parts;  // by the name of "//= name"
  std::map<std::string, std::string> words;  // by the name of "@NAME@"
};

// The text of a template. Of its lines, those between "//? a b" and "//." stay where one of the
// facts holds ("!a": does not hold); such pairs nest. "//= name" stands for a part, "@NAME@" for a
// word. Throws Error where the template has a mistake, or asks for what is not there.
std::string filled_template(const std::string& text, const TemplateValues& values);

}  // namespace qkv
