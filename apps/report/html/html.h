#pragma once

#include <string>
#include <vector>

namespace qkv {

// Text between tags, or in a quoted attribute, of HTML or SVG.
std::string escaped(const std::string& text);

// <tag class="kind">text</tag>, the text escaped.
std::string element(const std::string& tag, const std::string& text, const std::string& kind = "");

// The start of a table, until its first row: `caption` and `columns` are escaped. `kind`: "words"
// where the rows begin and end with sentences.
std::string table_head(const std::string& caption, const std::vector<std::string>& columns,
                       const std::string& kind = "");

// A row; all are HTML. The first cell is the head of the row.
std::string table_row(const std::string& head, const std::vector<std::string>& cells);
inline constexpr char kTableEnd[] = "</tbody></table></div>\n";

// A page that needs nothing else.
struct HtmlPage {
  std::string title = "";  // escaped
  std::string style = "";  // CSS
  std::string body = "";   // HTML
  std::string attributes = "lang=\"en\"";
  std::string script_policy = "";  // what the page's policy lets run; "": nothing
};
std::string page_of(const HtmlPage& page);

}  // namespace qkv
