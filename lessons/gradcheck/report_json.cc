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

}  // namespace

Json to_json(const GradcheckReport& report) { return Json::parse(report.to_json()); }

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
