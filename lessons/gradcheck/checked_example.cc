#include "lessons/gradcheck/checked_example.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/gradcheck/position.h"
#include "lessons/gradcheck/html_table.h"
#include "lessons/report/page_frame.h"
#include "lessons/report/svg.h"

namespace qkv {
namespace {

std::string head_of(const InputReport& input) {
  return escaped(absl::StrCat(input.name, " f64", input.shape.to_string()));
}

// `text`, and the verdict before it where it is no pass.
std::string judged(Verdict verdict, const std::string& text) {
  return verdict == Verdict::kPass ? text : absl::StrCat(html_of(verdict), " ", text);
}

std::string error_of(const Agreement& a) {
  return judged(a.verdict, absl::StrFormat("%.0e", a.error));
}

std::string derivatives_of(const InputReport& input) {
  return absl::StrCat(input.derivatives, input.blocks.count > 0 ? ", every element in blocks"
                                         : input.full_jacobian  ? ", full Jacobian"
                                                                : ", random cotangent");
}

std::string differences_of(const InputReport& input) {
  if (input.failed + input.undecided == 0) return "agree";
  const bool some_are_wrong = input.failed > 0;
  std::string text = some_are_wrong ? absl::StrCat(input.failed, " wrong") : "";
  if (input.undecided > 0) {
    absl::StrAppend(&text, some_are_wrong ? ", " : "", input.undecided, " undecided");
  }
  return absl::StrCat("<span class=\"", some_are_wrong ? "disagrees" : "undecided", " verdict\">",
                      text, "</span>");
}

std::string taylor_of(const TaylorReport& taylor) {
  return judged(taylor.verdict, taylor.to_text());
}

std::string forward_of(const InputReport& input) {
  return input.no_forward_rule.empty() ? error_of(input.forward) : "no rule";
}

std::string methods_of(const GradcheckReport& report) {
  if (report.inputs.empty()) return "";
  std::string html = table_head(
      "What each method says",
      {"input", "verdict", "order", "derivatives", "zeros", "kinks", "differences", "along u",
       "Taylor remainder", "dot product", "fused - composed", "forward - backward"});
  for (const InputReport& input : report.inputs) {
    std::vector<std::string> cells = {html_of(input.verdict), absl::StrCat(input.order)};
    if (input.elements == 0) {
      cells.insert(cells.end(), {"0", "0", "0", "–", "–", "–", "–", "–", "–"});
    } else {
      cells.insert(cells.end(),
                   {derivatives_of(input), absl::StrCat(input.structural_zeros),
                    absl::StrCat(input.kinks_stepped_around), differences_of(input),
                    error_of(input.direction), taylor_of(input.taylor), error_of(input.dot_product),
                    error_of(input.composed), forward_of(input)});
    }
    html += table_row(head_of(input), cells);
  }
  return html + kTableEnd;
}

std::string output_of(const InputReport& input, const ElementReport& cell) {
  if (cell.output < 0) return "random cotangent";
  if (input.output_shape.rank() == 0) return "the value";
  return position(input.output_shape, cell.output);
}

std::string row_of(const InputReport& input, const ElementReport& cell) {
  const std::string note = cell.note.empty() ? "" : absl::StrCat("; ", escaped(cell.note));
  return table_row(
      escaped(absl::StrCat(input.name, input.order == 2 ? ", order 2" : "")),
      {position(input.shape, cell.element), output_of(input, cell),
       absl::StrFormat("%.10g", cell.analytic),
       absl::StrFormat("%.10g ± %.1e", cell.numeric, cell.estimated_error),
       absl::StrFormat("%.1e", cell.error), absl::StrFormat("%.1e", cell.tolerance),
       absl::StrFormat("%.1e", share_of_tolerance(cell)), html_of(cell.verdict) + note});
}

std::string worst_cells_of(const GradcheckReport& report) {
  std::string rows;
  bool has_notes = false;
  for (const InputReport& input : report.inputs) {
    for (const ElementReport& cell : input.worst) {
      rows += row_of(input, cell);
      has_notes |= !cell.note.empty();
    }
  }
  if (rows.empty()) return "";
  return table_head("The worst cells of the Jacobian",
                    {"input", "element", "of output", "analytic", "numeric ± its estimated error",
                     "error", "tolerance", "error/tol.", "verdict"},
                    has_notes ? "words" : "") +
         rows + kTableEnd;
}

// What is said in words, a list item each.
std::string notes_of(const GradcheckReport& report) {
  std::string items;
  const auto add = [&](const std::string& name, const std::string& note) {
    if (!note.empty()) items += element("li", absl::StrCat(name, ": ", note));
  };
  for (const InputReport& input : report.inputs) {
    add(input.name, input.note);
    if (!input.diagnosis.empty()) {
      items += element("li", absl::StrCat(input.name, ": diagnosis: ", input.diagnosis), "verdict");
    }
    if (input.smaller_steps > 0) {
      add(input.name,
          absl::StrCat("elements that only smaller steps settled: ", input.smaller_steps));
    }
    add(absl::StrCat(input.name, ", along u"), input.direction.note);
    if (input.taylor.verdict != Verdict::kPass) {
      add(absl::StrCat(input.name, ", Taylor remainder"), input.taylor.note);
    }
    add(absl::StrCat(input.name, ", dot product"), input.dot_product.note);
    add(absl::StrCat(input.name, ", fused - composed"), input.composed.note);
    add(absl::StrCat(input.name, ", forward mode"), input.forward.note);
  }
  const Agreement& symmetry = report.hessian_symmetry;
  if (symmetry.tolerance > 0.0 || symmetry.verdict != Verdict::kPass) {  // it was tested
    add(absl::StrCat("symmetry of the Hessian, ", std::string(verdict_name(symmetry.verdict))),
        absl::StrFormat("<u, Hv> %.10g, <v, Hu> %.10g, error %.1e, tolerance %.1e",
                        symmetry.analytic, symmetry.numeric, symmetry.error, symmetry.tolerance));
  }
  for (const std::string& note : report.notes) add("note", note);
  return items.empty() ? "" : absl::StrCat("<ul>\n", items, "</ul>\n");
}

}  // namespace

std::string html_of(const CheckedExample& example, const std::string& heading) {
  std::string html = absl::StrCat(element("h3", heading), notes_of(example.report),
                                  methods_of(example.report), worst_cells_of(example.report));
  if (!example.wrong_op.empty()) html += element("pre", example.wrong_op);
  return html;
}

}  // namespace qkv
