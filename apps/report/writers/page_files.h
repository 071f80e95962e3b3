#pragma once

#include <map>
#include <string>

// The files of apps/report/page, as cmake/report_page.cmake puts them into the program, and what
// it finds in examples/steps.cc.
namespace qkv {

extern const std::string kReportStyle;
extern const std::string kReportScript;        // all modules in one
extern const std::string kReportScriptDigest;  // its SHA-256, in hexadecimal

// The lines of the example between "// [name]" and "// []", by name.
const std::map<std::string, std::string>& code_regions();

}  // namespace qkv
