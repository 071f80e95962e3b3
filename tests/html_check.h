#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace qkv {

// The first tag of a page that is not closed in its turn, or closes nothing, or the first row of a
// table that has another number of cells than the one before; "" where all are well. Text must have
// no bare '<', and attributes no '>'.
inline std::string first_wrong_tag(std::string_view html) {
  std::vector<std::string> open;
  int cells = 0, cells_before = -1;
  for (size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    const std::string_view tag = html.substr(at + 1, html.find('>', at) - at - 1);
    const std::string name(tag.substr(0, tag.find_first_of(" \n")));
    if (name == "!doctype" || name == "meta" || tag.ends_with('/')) continue;
    cells += name == "td" || name == "th";
    if (name == "table") cells_before = -1;
    if (name == "tr") cells = 0;
    if (name == "/tr") {
      if (cells_before >= 0 && cells != cells_before)
        return absl::StrCat("<tr> with ", cells, " cells");
      cells_before = cells;
    }
    if (!name.starts_with('/')) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name.substr(1)) {
      return absl::StrCat("<", name, "> in <", open.empty() ? "" : open.back(), ">");
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : absl::StrCat("<", open.back(), "> is not closed");
}

// What a reader sees of a page, without its styles and scripts.
inline std::string main_of(const std::string& page) {
  return page.substr(page.find("<main>"), page.find("</main>") + 7 - page.find("<main>"));
}

// What of a page would come from elsewhere; "" where it needs nothing else.
inline std::string outside_reference(std::string_view html) {
  for (const char* reference : {"http:", "https:", "src=", "@import", "url(", "<link", "<script"}) {
    if (html.find(reference) != std::string_view::npos) return reference;
  }
  return "";
}

}  // namespace qkv
