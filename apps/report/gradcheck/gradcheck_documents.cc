#include "apps/report/gradcheck/gradcheck_documents.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/gradcheck/json_values.h"
#include "apps/report/html/html.h"

namespace qkv {
namespace {

// Plain, light or dark as the reader has it.
constexpr char kStyle[] = R"(:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 50rem; padding: 1rem; font: 15px/1.5 system-ui, sans-serif; }
pre { white-space: pre-wrap; }
.verdict { font-weight: 600; }
.disagrees { color: light-dark(#b3261e, #ff8a80); }
)";

using Json = nlohmann::ordered_json;

Json json_of(const Agreement& a) {
  return {{"verdict", name_of(a.verdict)},
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
  return {{"verdict", name_of(formula.verdict)},
          {"order", formula.order},
          {"inputs", formula.inputs},
          {"outputs", formula.outputs},
          {"disagreement", json_number(formula.disagreement)},
          {"resolved_to", json_number(formula.resolved_to)}};
}

Json json_of(const InputReport& input) {
  Json worst = Json::array();
  for (const ElementReport& e : input.worst) worst.push_back(json_of(e));
  return {{"verdict", name_of(input.verdict)},
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

std::string size_text(double size) { return size == 0.0 ? "0" : absl::StrFormat("%.0e", size); }

std::string digits_text(double digits) {
  return digits == 0.0 ? "-" : absl::StrFormat("%.0f", std::floor(digits));
}

std::string html_of(Verdict verdict) {
  const char* kind = verdict == Verdict::kPass   ? "agrees"
                     : verdict == Verdict::kFail ? "disagrees verdict"
                                                 : "undecided verdict";
  return absl::StrCat("<span class=\"", kind, "\">", name_of(verdict), "</span>");
}

std::string gradcheck_html(const GradcheckReport& report, const std::string& title) {
  const std::string body = absl::StrCat(
      element("h1", title), "<p>", html_of(report.verdict()),
      absl::StrFormat(": %d derivatives, in %.1f s.</p>\n", report.derivatives, report.seconds),
      element("pre", report.to_text()));
  return page_of({.title = title, .style = kStyle, .body = body});
}

std::string gradcheck_json(const GradcheckReport& report) {
  Json input_list = Json::array(), formula_list = Json::array();
  for (const InputReport& input : report.inputs) input_list.push_back(json_of(input));
  for (const FormulaReport& formula : report.formulas) formula_list.push_back(json_of(formula));
  const Json object = {{"verdict", name_of(report.verdict())},
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
