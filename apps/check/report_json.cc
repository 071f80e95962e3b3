#include "apps/check/report_json.h"

#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/gradcheck/json_values.h"

namespace qkv {
using Json = nlohmann::ordered_json;

Json to_json(const GradcheckReport& report) { return Json::parse(gradcheck_json(report)); }

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
  return {{"score_percent", json_number(report.score())},
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
                          {"narrow", json_number(e.narrow)},
                          {"exact", json_number(e.exact)},
                          {"error", json_number(e.error)},
                          {"bound", json_number(e.bound)}});
    }
    results.push_back({{"verdict", verdict_name(result.verdict)},
                       {"name", result.name},
                       {"dtype", dtype_name(result.dtype)},
                       {"shape", json_sizes(result.shape)},
                       {"compared", result.compared},
                       {"digits", result.digits ? Json(*result.digits) : Json()},
                       {"elements", elements}});
  }
  return {{"verdict", verdict_name(report.verdict())},
          {"kinks", report.kinks},
          {"roundings", json_number(report.roundings)},
          {"results", results}};
}

}  // namespace qkv
