#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "framework/core/error.h"
#include "framework/core/status.h"
#include "framework/core/text/mistakes.h"

// An "error: …" of the command line is an Error here, with the same text.
namespace qkv::python {

inline void require(const absl::Status& status) {
  if (!status.ok()) throw Error(absl::StrJoin(lines_to_show(status), "\n"));
}

template <class T>
T required_of(absl::StatusOr<T> result) {
  require(result.status());
  return *std::move(result);
}

// While one lives, a function that calls itself is one level deeper. Too deep, as in a list that
// has itself in it, is Python's RecursionError.
class Deeper {
 public:
  Deeper() {
    if (Py_EnterRecursiveCall(" in an argument of qkv") != 0) throw pybind11::error_already_set();
  }
  ~Deeper() { Py_LeaveRecursiveCall(); }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

// The text of tokens, which may end within a character: "\xE4" stands for a byte that is none.
inline pybind11::str text_in_python(const std::string& text) {
  return pybind11::reinterpret_steal<pybind11::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

// A page as a notebook shows it: in a frame of its own, which keeps its style and its script apart.
// The page is in the text. `more`: attributes after a space.
inline std::string framed(const std::string& page, int height, const char* more = "") {
  return absl::StrCat(
      "<iframe title=\"qkv\" style=\"box-sizing: border-box; width: 100%; height: ", height,
      "px; border: 1px solid #8888\"", more, " srcdoc=\"",
      absl::StrReplaceAll(page, {{"&", "&amp;"}, {"\"", "&quot;"}}), "\"></iframe>");
}
// As high as the page is.
inline std::string framed_whole(const std::string& page) {
  constexpr int kAtFirst = 480;
  return framed(page, kAtFirst,
                " onload=\"this.style.height = "
                "this.contentDocument.documentElement.scrollHeight + 4 + 'px'\"");
}

}  // namespace qkv::python
