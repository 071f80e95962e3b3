#include "apps/report/gradcheck/gradcheck_documents.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/gradcheck/json_values.h"
#include "apps/report/html/html.h"
#include "framework/core/shape.h"

namespace qkv {
namespace {

std::string head_of(const InputReport& input) {
  return escaped(
      absl::StrCat(input.name, " ", std::string(dtype_name(input.dtype)), input.shape.to_string()));
}

// `text`, and the verdict before it where it is no pass.
std::string judged(Verdict verdict, const std::string& text) {
  return verdict == Verdict::kPass ? text : absl::StrCat(html_of(verdict), " ", text);
}

std::string error_of(const Agreement& a) {
  return judged(a.verdict, absl::StrFormat("%.0e", a.error));
}

std::string elements_of(const InputReport& input) {
  if (input.elements == 0) return "–";
  if (input.failed + input.undecided == 0) return absl::StrCat(input.elements, " agree");
  const bool some_are_wrong = input.failed > 0;
  std::string text = some_are_wrong ? absl::StrCat(input.failed, " wrong") : "";
  if (input.undecided > 0) {
    absl::StrAppend(&text, some_are_wrong ? ", " : "", input.undecided, " undecided");
  }
  return absl::StrCat("<span class=\"", some_are_wrong ? "disagrees" : "undecided", " verdict\">",
                      text, " of ", input.elements, "</span>");
}

std::string forward_of(const InputReport& input) {
  return input.no_forward_rule.empty() ? error_of(input.forward) : "no rule";
}

std::string digits_cell(const InputReport& input) {
  return judged(input.in_f64.verdict, digits_text(input.digits));
}

// Of the derivatives of all inputs together; none where f itself was not finite.
const FormulaReport* formula_of(const GradcheckReport& report, int order) {
  const auto found = std::ranges::find(report.formulas, order, &FormulaReport::order);
  return found == report.formulas.end() ? nullptr : &*found;
}

std::string methods_of(const GradcheckReport& report) {
  if (report.inputs.empty()) return "";
  std::string html = table_head(
      absl::StrCat("What each method says, computed in ", report.computed_in),
      {"input", "verdict", "order", "derivatives", "agrees to", "told to", "single elements",
       "dot product", "fused - composed", "forward - backward", "digits in f64"});
  for (const InputReport& input : report.inputs) {
    std::vector<std::string> cells = {html_of(input.verdict), absl::StrCat(input.order),
                                      absl::StrCat(input.derivatives)};
    const FormulaReport* formula = formula_of(report, input.order);
    if (input.derivatives == 0 || formula == nullptr) {
      cells.insert(cells.end(), 7, "–");
    } else {
      cells.insert(cells.end(),
                   {judged(formula->verdict, size_text(formula->disagreement)),
                    size_text(formula->told_to), elements_of(input), error_of(input.dot_product),
                    error_of(input.composed), forward_of(input), digits_cell(input)});
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
      {position(input.shape, cell.element), output_of(input, cell), digits_of(cell.analytic),
       absl::StrCat(digits_of(cell.numeric), absl::StrFormat(" ± %.1e", cell.estimated_error)),
       absl::StrFormat("%.1e", cell.error), absl::StrFormat("%.1e", cell.tolerance),
       html_of(cell.verdict) + note});
}

std::string wrong_elements_of(const GradcheckReport& report) {
  std::string rows;
  bool has_notes = false;
  for (const InputReport& input : report.inputs) {
    for (const ElementReport& cell : input.worst) {
      if (cell.verdict == Verdict::kPass) continue;
      rows += row_of(input, cell);
      has_notes |= !cell.note.empty();
    }
  }
  if (rows.empty()) return "";
  return table_head("The elements that are most wrong",
                    {"input", "element", "of output", "analytic", "numeric ± its estimated error",
                     "error", "tolerance", "verdict"},
                    has_notes ? "words" : "") +
         rows + kTableEnd;
}

std::string numbers_of(const Agreement& a) {
  return absl::StrCat("analytic ", digits_of(a.analytic), ", numeric ", digits_of(a.numeric),
                      absl::StrFormat(", error %.1e, tolerance %.1e", a.error, a.tolerance));
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
    const auto add_check = [&](const std::string& what, const Agreement& a) {
      if (a.verdict == Verdict::kPass) return add(absl::StrCat(input.name, ", ", what), a.note);
      add(absl::StrCat(input.name, ", ", what),
          absl::StrCat(a.note, a.note.empty() ? "" : ": ", numbers_of(a)));
    };
    add_check("dot product", input.dot_product);
    if (input.derivatives == 0) continue;
    add_check(absl::StrCat("fused - composed at ", position(input.shape, input.composed.element)),
              input.composed);
    add_check("forward mode", input.forward);
    add_check(absl::StrCat("in f64 at ", position(input.shape, input.in_f64.element)),
              input.in_f64);
  }
  const Agreement& symmetry = report.hessian_symmetry;
  if (symmetry.tolerance > 0.0 || symmetry.verdict != Verdict::kPass) {  // it was tested
    add(absl::StrCat("symmetry of the Hessian, ", std::string(verdict_name(symmetry.verdict))),
        absl::StrCat(
            "<u, Hv> ", digits_of(symmetry.analytic), ", <v, Hu> ", digits_of(symmetry.numeric),
            absl::StrFormat(", error %.1e, tolerance %.1e", symmetry.error, symmetry.tolerance)));
  }
  for (const std::string& note : report.notes) add("note", note);
  return items.empty() ? "" : absl::StrCat("<ul>\n", items, "</ul>\n");
}

// Plain, light or dark as the reader has it.
constexpr char kStyle[] = R"(:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; font: 15px/1.5 system-ui, sans-serif; }
p, ul { max-width: 50rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.8rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; }
th, td { text-align: left; vertical-align: top; padding: 0.1rem 1rem 0.1rem 0; white-space: nowrap; }
td:last-child { white-space: normal; }
tbody tr { border-top: 1px solid; }
.verdict { font-weight: 600; }
.disagrees { color: light-dark(#b3261e, #ff8a80); }
)";

using Json = nlohmann::ordered_json;

Json json_of(const Agreement& a) {
  return {{"verdict", verdict_name(a.verdict)},
          {"analytic", json_number(static_cast<double>(a.analytic))},
          {"numeric", json_number(static_cast<double>(a.numeric))},
          {"error", json_number(a.error)},
          {"estimated_error", json_number(a.estimated_error)},
          {"tolerance", json_number(a.tolerance)},
          {"note", a.note}};
}

Json json_of(const ElementReport& e) {
  Json object = json_of(static_cast<const Agreement&>(e));
  object["element"] = e.element;
  if (e.output >= 0) object["output"] = e.output;
  return object;
}

Json json_of(const FormulaReport& formula) {
  return {{"verdict", verdict_name(formula.verdict)},
          {"order", formula.order},
          {"inputs", formula.inputs},
          {"outputs", formula.outputs},
          {"disagreement", json_number(formula.disagreement)},
          {"told_to", json_number(formula.told_to)}};
}

Json json_of(const InputReport& input) {
  Json worst = Json::array();
  for (const ElementReport& e : input.worst) worst.push_back(json_of(e));
  return {{"verdict", verdict_name(input.verdict)},
          {"order", input.order},
          {"name", input.name},
          {"input", input.input},
          {"shape", json_sizes(input.shape)},
          {"output_shape", json_sizes(input.output_shape)},
          {"ignored", input.ignored},
          {"derivatives", input.derivatives},
          {"elements", input.elements},
          {"failed", input.failed},
          {"undecided", input.undecided},
          {"worst", worst},
          {"dot_product", json_of(input.dot_product)},
          {"composed", json_of(input.composed)},
          {"forward", input.no_forward_rule.empty() ? json_of(input.forward) : Json()},
          {"no_forward_rule", input.no_forward_rule},
          {"in_f64", json_of(input.in_f64)},
          {"digits", json_number(input.digits)},
          {"diagnosis", input.diagnosis},
          {"note", input.note}};
}

}  // namespace

const char kHowToReadReports[] =
    R"(<p>A function f with the Jacobian J runs in f128, forward and backward: 34 decimal digits, so that differences have next to no error. u and v are random. Four methods must agree on what backward says:</p>
<ul>
<li>Differences, of all derivatives at once: v · (Ju) = (Jᵀv) · u, where Ju comes from differences and Jᵀv from backward. <em>Agrees to</em> is how far the two sides are apart, beside their size; <em>told to</em> is how far the differences may be off. Where they do not agree, single elements are looked at.</li>
<li>The dot-product test: Ju from the backward of backward. Beside it, the fused and the composed backward must be the same.</li>
<li>Forward mode: Ju once more, from the inputs to the value, by a rule for each op that no backward is part of.</li>
</ul>
<p><em>Digits in f64</em> is how many decimal digits the gradient in f64 has in common with that in f128, of at most 15.</p>
)";

std::string size_text(double size) { return size == 0.0 ? "0" : absl::StrFormat("%.0e", size); }

std::string digits_text(double digits) {
  return digits == 0.0 ? "-" : absl::StrFormat("%.0f", std::floor(digits));
}

std::string html_of(Verdict verdict) {
  const char* kind = verdict == Verdict::kPass   ? "agrees"
                     : verdict == Verdict::kFail ? "disagrees verdict"
                                                 : "undecided verdict";
  return absl::StrCat("<span class=\"", kind, "\">", std::string(verdict_name(verdict)), "</span>");
}

std::string html_of(const GradcheckReport& report) {
  return absl::StrCat(notes_of(report), methods_of(report), wrong_elements_of(report),
                      report.wrong_op.empty() ? "" : element("pre", report.wrong_op));
}

std::string gradcheck_html(const GradcheckReport& report, const std::string& title) {
  const std::string body = absl::StrCat(
      element("h1", title), "<p>", html_of(report.verdict()),
      absl::StrFormat(": %d derivatives, in %.1f s.</p>\n", report.derivatives, report.seconds),
      html_of(report), element("h2", "How to read this page"), kHowToReadReports);
  return page_of({.title = title, .style = kStyle, .body = body});
}

std::string gradcheck_json(const GradcheckReport& report) {
  Json input_list = Json::array(), formula_list = Json::array();
  for (const InputReport& input : report.inputs) input_list.push_back(json_of(input));
  for (const FormulaReport& formula : report.formulas) formula_list.push_back(json_of(formula));
  const Json object = {{"verdict", verdict_name(report.verdict())},
                       {"computed_in", report.computed_in},
                       {"backward_error", report.backward_error},
                       {"wrong_op", report.wrong_op},
                       {"formulas", formula_list},
                       {"inputs", input_list},
                       {"hessian_symmetry", json_of(report.hessian_symmetry)},
                       {"notes", report.notes},
                       {"derivatives", report.derivatives},
                       {"evaluations", report.evaluations},
                       {"seconds", json_number(report.seconds)}};
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
