#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <string>
#include <variant>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "apps/labs/catalogue.h"
#include "apps/python/binding/arrays.h"
#include "apps/python/binding/binding.h"
#include "apps/python/binding/long_call.h"
#include "apps/python/binding/results.h"
#include "apps/report/report.h"
#include "apps/report/writers/page_files.h"
#include "apps/report/writers/page_frame.h"
#include "framework/core/text/terminal.h"
#include "framework/io/files.h"

namespace qkv::python {
namespace {

// A figure as a page with nothing else on it, which a notebook shows in a frame.
struct ShownFigure {
  std::string title, page;
};

ShownFigure shown(const Figure& figure, Language language) {
  const Text title = std::visit([](const auto& each) { return each.title; }, figure);
  return {title.in(language),
          absl::StrCat("<!doctype html><meta charset=\"utf-8\"><style>", kReportStyle,
                       " body { margin: 0; padding: 8px } figure { margin: 0 }</style><body>",
                       figure_html(figure, language), "</body>")};
}

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

struct LabReport {
  Report report;
  Language language;
};

std::string option_text(const std::string& name, py::handle value) {
  const Deeper deeper;
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (py::hasattr(value, "tolist")) return option_text(name, value.attr("tolist")());
  if (py::isinstance<py::int_>(value) || py::isinstance<py::float_>(value)) return py::str(value);
  if (!py::isinstance<py::sequence>(value)) {
    fail(absl::StrCat("--", name, " takes numbers, not ", Py_TYPE(value.ptr())->tp_name));
  }
  std::vector<std::string> texts;
  for (const py::handle each : value) texts.push_back(option_text(name, each));
  return absl::StrJoin(texts, ",");
}

LabReport run_lab_here(const std::string& name, bool control, const std::filesystem::path& runs,
                       const std::string& lang, const py::object& progress,
                       const py::kwargs& given) {
  const Lab lab = required_of(find_lab(name));
  OptionTexts options;
  for (const auto& [key, value] : given) {
    const std::string option = absl::StrReplaceAll(key.cast<std::string>(), {{"_", "-"}});
    options[option] = option_text(option, value);
  }
  LabReport made = {.report = {}, .language = required_of(find_language(lang))};
  run_long([&](LongCall& call) {
    const Stoppable stoppable(call.stop());
    ProgressLine line(stderr);
    const auto tell = [&](const std::string& what) {
      if (progress.is_none()) {
        line.show(what);
      } else {
        call.in_caller([&] { progress(what); });
      }
      stoppable.look();
    };
    made.report = required_of(run_lab(lab, options, control, runs.string(), tell));
  });
  return made;
}

// A row for each finding, for pandas or a loop.
py::list findings_of(const LabReport& made) {
  py::list rows;
  for (const Section& section : made.report.sections) {
    for (const Finding& finding : section.findings) {
      py::dict row("section"_a = section.name, "what"_a = finding.what.in(made.language),
                   "predicted"_a = finding.predicted.in(made.language),
                   "measured"_a = finding.measured.in(made.language),
                   "result"_a = name_of(finding.result), "samples"_a = finding.samples);
      if (finding.predicted_number) row["predicted_number"] = *finding.predicted_number;
      rows.append(row);
    }
  }
  return py::module_::import("qkv.table").attr("Table")(rows);
}

std::vector<ShownFigure> figures_of(const LabReport& made) {
  std::vector<ShownFigure> figures;
  for (const Section& section : made.report.sections) {
    for (const Figure& figure : section.figures) figures.push_back(shown(figure, made.language));
  }
  return figures;
}

py::dict verdicts_of(const LabReport& made) {
  py::dict verdicts;
  for (const Section& section : made.report.sections) {
    verdicts[py::str(section.name)] = section.verdict_text().in(made.language);
  }
  return verdicts;
}

}  // namespace

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

void bind_labs(py::module_& m) {
  py::class_<LabReport>(m, "LabReport",
                        "What a lab has measured, beside the sentences that it judges. A notebook "
                        "shows its page.")
      .def_property_readonly("name", [](const LabReport& made) { return made.report.name; })
      .def_property_readonly("findings", &findings_of, "A row for each finding: a dict.")
      .def_property_readonly("figures", &figures_of, "The figures, as pictures.")
      .def_property_readonly("verdicts", &verdicts_of, "The verdict of each section, by its name.")
      .def(
          "save",
          [](const LabReport& made, const std::filesystem::path& file) {
            require(write_file_atomically(file.string(), report_page(made.report, made.language)));
          },
          "file"_a, "Writes the page of qkv lab --out.")
      .def("__str__", [](const LabReport& made) { return report_text(made.report, made.language); })
      .def("__repr__",
           [](const LabReport& made) {
             return absl::StrCat("<qkv.LabReport ", made.report.name, ">\n",
                                 report_verdicts(made.report, made.language));
           })
      .def("_repr_html_", [](const LabReport& made) {
        return framed_whole(report_page(made.report, made.language));
      });
  m.def("lab", &run_lab_here, "name"_a, py::kw_only(), "control"_a = false, "runs"_a = "runs/lab",
        "lang"_a = "en", "progress"_a = py::none(),
        "Runs a lab as qkv lab does, with its options: qkv.lab(\"scaling\", d=[4, 16]). `progress` "
        "is a function that gets the progress. Ctrl-C ends it; models that are finished stay in "
        "the folder `runs`.");
  m.def(
      "labs",
      [] {
        py::dict questions;
        for (const Lab& lab : all_labs()) questions[py::str(lab.name)] = lab.question.en;
        return questions;
      },
      "The labs, and the question of each.");
}

}  // namespace qkv::python
