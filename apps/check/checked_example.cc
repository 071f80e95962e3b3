#include "apps/check/checked_example.h"

#include "absl/strings/str_cat.h"
#include "framework/core/html.h"
#include "framework/gradcheck/report_html.h"

namespace qkv {

std::string html_of(const CheckedExample& example, const std::string& heading) {
  return absl::StrCat(element("h3", heading), html_of(example.report));
}

}  // namespace qkv
