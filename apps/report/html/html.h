#pragma once

#include <string>
#include <vector>

namespace qkv {

// Text between tags, or in a quoted attribute, of HTML or SVG.
std::string escaped(const std::string& text);

// <tag class="kind">text</tag>, the text escaped.
std::string element(const std::string& tag, const std::string& text, const std::string& kind = "");

// A link with that text.
std::string link_to(const std::string& address, const std::string& text);

// A table, in a box in which it can be moved where it is too wide. All cells are HTML.
std::string table_of(const std::vector<std::string>& columns,
                     const std::vector<std::vector<std::string>>& rows);

// A page that needs nothing else.
struct HtmlPage {
  std::string title = "";  // escaped
  std::string style = "";  // CSS
  std::string body = "";   // HTML
  std::string attributes = "lang=\"en\"";
  std::string script_policy = "";  // the scripts that the page's policy allows; "": none
};
std::string page_of(const HtmlPage& page);

}  // namespace qkv
