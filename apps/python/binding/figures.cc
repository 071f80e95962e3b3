#include "apps/python/binding/figures.h"

#include <pybind11/stl.h>

#include <variant>

#include "apps/python/binding/arrays.h"
#include "apps/python/binding/binding.h"
#include "apps/python/binding/frame.h"
#include "apps/report/figure_html.h"
#include "apps/report/page_files.h"

namespace qkv::python {
namespace {

using Names = std::vector<std::string>;

std::vector<Text> names_of(const char* what, const Names& names, int64_t count) {
  if (!names.empty() && std::ssize(names) != count) {
    fail(absl::StrCat("heat_map: there are ", names.size(), " names for ", count, " ", what));
  }
  return {names.begin(), names.end()};
}

ShownFigure heat_map(py::handle numbers, const std::string& title, const Names& rows,
                     const Names& columns) {
  constexpr int64_t kMost = 128 * 128;  // 2.4 MB in the file of a notebook
  const Array array = array_from(numbers);
  if (array.shape().rank() != 2) {
    fail(absl::StrCat("heat_map: needs a matrix, not ", array.describe()));
  }
  if (array.shape().size() > kMost) {
    fail(absl::StrCat("heat_map: shows at most ", kMost, " numbers, not ", array.describe(),
                      "; take a part, [:128, :128]"));
  }
  const int64_t height = array.shape()[0], width = array.shape()[1];
  return shown(HeatMap{.title = title,
                       .rows = height,
                       .columns = width,
                       .numbers = array.to_vector(),
                       .row_names = names_of("rows", rows, height),
                       .column_names = names_of("columns", columns, width)},
               Language::kEnglish);
}

}  // namespace

ShownFigure shown(const Figure& figure, Language language) {
  const Text title = std::visit([](const auto& each) { return each.title; }, figure);
  return {title.in(language),
          absl::StrCat("<!doctype html><meta charset=\"utf-8\"><style>", kReportStyle,
                       " body { margin: 0; padding: 8px } figure { margin: 0 }</style><body>",
                       figure_html(figure, language), "</body>")};
}

void bind_figures(py::module_& m) {
  py::class_<ShownFigure>(m, "Figure", "A picture with its title, which a notebook shows.")
      .def_readonly("title", &ShownFigure::title)
      .def_readonly("html", &ShownFigure::page, "A page with the figure alone.")
      .def(
          "__repr__",
          [](const ShownFigure& figure) { return absl::StrCat("<qkv.Figure ", figure.title, ">"); })
      .def("_repr_html_", [](const ShownFigure& figure) { return framed_whole(figure.page); });
  m.def(
      "heat_map", &heat_map, "numbers"_a, "title"_a = "", py::kw_only(), "rows"_a = Names(),
      "columns"_a = Names(),
      "A matrix in colours, from zero to the largest size; `rows` and `columns` are names. NaN is "
      "left out.");
}

}  // namespace qkv::python
