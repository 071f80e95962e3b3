#pragma once

#include <string>
#include <vector>

#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// "PASS" and so on, in its colour.
std::string html_of(Verdict verdict);

// The start of a table, until its first row: `caption` and `columns` are escaped. `kind`: "words"
// where the rows begin and end with sentences.
std::string table_head(const std::string& caption, const std::vector<std::string>& columns,
                       const std::string& kind = "");

// A row; all are HTML. The first cell is the head of the row.
std::string table_row(const std::string& head, const std::vector<std::string>& cells);
inline constexpr char kTableEnd[] = "</tbody></table></div>\n";

}  // namespace qkv
