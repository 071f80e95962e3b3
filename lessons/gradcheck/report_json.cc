#include "lessons/gradcheck/report_json.h"

#include <cmath>

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json sizes(const Shape& shape) {
  Json array = Json::array();
  for (const int64_t size : shape.dims()) array.push_back(size);
  return array;
}

Json json_of(const Agreement& a) {
  return {{"verdict", verdict_name(a.verdict)},
          {"analytic", number(static_cast<double>(a.analytic))},
          {"numeric", number(static_cast<double>(a.numeric))},
          {"error", number(a.error)},
          {"estimated_error", number(a.estimated_error)},
          {"tolerance", number(a.tolerance)},
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
          {"disagreement", number(formula.disagreement)},
          {"told_to", number(formula.told_to)}};
}

Json json_of(const InputReport& input) {
  Json worst = Json::array();
  for (const ElementReport& e : input.worst) worst.push_back(json_of(e));
  return {{"verdict", verdict_name(input.verdict)},
          {"order", input.order},
          {"name", input.name},
          {"input", input.input},
          {"shape", sizes(input.shape)},
          {"output_shape", sizes(input.output_shape)},
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
          {"digits", number(input.digits)},
          {"diagnosis", input.diagnosis},
          {"note", input.note}};
}

}  // namespace

Json to_json(const GradcheckReport& report) {
  Json inputs = Json::array();
  for (const InputReport& input : report.inputs) inputs.push_back(json_of(input));
  Json formulas = Json::array();
  for (const FormulaReport& formula : report.formulas) formulas.push_back(json_of(formula));
  return {{"verdict", verdict_name(report.verdict())},
          {"computed_in", report.computed_in},
          {"formulas", formulas},
          {"inputs", inputs},
          {"hessian_symmetry", json_of(report.hessian_symmetry)},
          {"notes", report.notes},
          {"derivatives", report.derivatives},
          {"evaluations", report.evaluations},
          {"seconds", number(report.seconds)}};
}

Json to_json(const MutationReport& report) {
  Json mutants = Json::array();
  for (const MutationResult& result : report.results) {
    mutants.push_back({{"mutant", result.mutant.to_text()},
                       {"function", result.mutant.function},
                       {"op", result.mutant.op},
                       {"killed", result.killed},
                       {"example", result.example},
                       {"how", result.how},
                       {"equivalent_because", result.equivalent_because}});
  }
  return {{"score_percent", number(report.score())},
          {"planted", report.results.size()},
          {"killed", report.killed()},
          {"equivalent", report.equivalent()},
          {"not_runnable", report.not_runnable},
          {"mutants", mutants}};
}

Json to_json(const PrecisionReport& report) {
  Json results = Json::array();
  for (const ResultPrecision& result : report.results) {
    Json elements = Json::array();
    for (const ElementPrecision& e : result.elements) {
      elements.push_back({{"verdict", verdict_name(e.verdict)},
                          {"element", e.element},
                          {"narrow", number(e.narrow)},
                          {"exact", number(e.exact)},
                          {"error", number(e.error)},
                          {"bound", number(e.bound)},
                          {"ulp", e.ulp},
                          {"largest", e.largest}});
    }
    results.push_back({{"verdict", verdict_name(result.verdict())},
                       {"name", result.name},
                       {"dtype", dtype_name(result.dtype)},
                       {"shape", sizes(result.shape)},
                       {"elements", elements}});
  }
  return {{"verdict", verdict_name(report.verdict())},
          {"kinks", report.kinks},
          {"roundings", number(report.roundings)},
          {"results", results}};
}

}  // namespace qkv
