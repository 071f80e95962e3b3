#include "lessons/gradcheck/checked_example.h"

#include "absl/strings/str_cat.h"
#include "framework/core/html.h"
#include "framework/gradcheck/report_html.h"

namespace qkv {

std::string html_of(const CheckedExample& example, const std::string& heading) {
  std::string html = absl::StrCat(element("h3", heading), html_of(example.report));
  if (!example.wrong_op.empty()) html += element("pre", example.wrong_op);
  return html;
}

}  // namespace qkv
