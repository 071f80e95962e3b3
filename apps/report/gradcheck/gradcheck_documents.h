#pragma once

#include <string>

#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// The report of a gradient check, its text on a page that needs nothing else, and as a document for
// other programs, which has everything. Numbers that are not finite are the strings "nan", "inf"
// and "-inf".
std::string gradcheck_html(const GradcheckReport& report,
                           const std::string& title = "Gradient check");
std::string gradcheck_json(const GradcheckReport& report);

// Parts of a page about gradient checks, as HTML.

// "PASS" and so on, in its colour.
std::string html_of(Verdict verdict);

// "3e-22", or "0".
std::string size_text(double size);
// "15", of 15.9; "-" where nothing was compared.
std::string digits_text(double digits);

}  // namespace qkv
