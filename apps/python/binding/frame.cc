#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "apps/python/binding/results.h"

namespace qkv::python {
namespace {

std::string frame(const std::string& page, int height, const char* more) {
  return absl::StrCat(
      "<iframe title=\"qkv\" style=\"box-sizing: border-box; width: 100%; height: ", height,
      "px; border: 1px solid #8888\"", more, " srcdoc=\"",
      absl::StrReplaceAll(page, {{"&", "&amp;"}, {"\"", "&quot;"}}), "\"></iframe>");
}

}  // namespace

std::string framed(const std::string& page, int height) { return frame(page, height, ""); }

std::string framed_whole(const std::string& page) {
  constexpr int kAtFirst = 480;
  return frame(page, kAtFirst,
               " onload=\"this.style.height = "
               "this.contentDocument.documentElement.scrollHeight + 4 + 'px'\"");
}

}  // namespace qkv::python
