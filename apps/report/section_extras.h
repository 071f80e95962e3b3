#pragma once

#include <map>
#include <string>

namespace qkv {

// What stands in some sections beside what they measured, by "lab.section".

// The name of a slider in page/sliders.js.
const std::map<std::string, std::string>& sliders_of_sections();
// The name of a region in examples/steps.cc: how qkv computes what the section is about.
const std::map<std::string, std::string>& code_of_sections();

}  // namespace qkv
