#include "lessons/gradcheck/report_json.h"

#include <cmath>
#include <vector>

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json numbers(const std::vector<double>& values) {
  Json array = Json::array();
  for (const double value : values) array.push_back(number(value));
  return array;
}

Json sizes(const Shape& shape) {
  Json array = Json::array();
  for (const int64_t size : shape.dims()) array.push_back(size);
  return array;
}

Json json_of(const Agreement& a) {
  return {{"verdict", verdict_name(a.verdict)},
          {"analytic", number(a.analytic)},
          {"numeric", number(a.numeric)},
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

Json json_of(const BlockReport& b) {
  if (b.count == 0) return nullptr;
  return {{"count", b.count},         {"rounds", b.rounds},     {"wrong", b.wrong},
          {"by_size", b.by_size},     {"seen", number(b.seen)}, {"missed", number(b.missed)},
          {"worst", json_of(b.worst)}};
}

Json json_of(const TaylorReport& t) {
  return {{"verdict", verdict_name(t.verdict)},
          {"measured", t.measured},
          {"slope", number(t.slope)},
          {"steps", numbers(t.steps)},
          {"remainders", numbers(t.remainders)},
          {"note", t.note}};
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
          {"full_jacobian", input.full_jacobian},
          {"blocks", json_of(input.blocks)},
          {"ignored", input.ignored},
          {"elements", input.elements},
          {"derivatives", input.derivatives},
          {"failed", input.failed},
          {"undecided", input.undecided},
          {"structural_zeros", input.structural_zeros},
          {"kinks_stepped_around", input.kinks_stepped_around},
          {"smaller_steps", input.smaller_steps},
          {"worst", worst},
          {"direction", json_of(input.direction)},
          {"taylor", json_of(input.taylor)},
          {"dot_product", json_of(input.dot_product)},
          {"composed", json_of(input.composed)},
          {"forward", input.no_forward_rule.empty() ? json_of(input.forward) : Json()},
          {"no_forward_rule", input.no_forward_rule},
          {"diagnosis", input.diagnosis},
          {"note", input.note}};
}

}  // namespace

Json to_json(const GradcheckReport& report) {
  Json inputs = Json::array();
  for (const InputReport& input : report.inputs) inputs.push_back(json_of(input));
  return {{"verdict", verdict_name(report.verdict())},
          {"inputs", inputs},
          {"hessian_symmetry", json_of(report.hessian_symmetry)},
          {"notes", report.notes},
          {"elements", report.elements},
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
