#include <cmath>
#include <nlohmann/json.hpp>

#include "framework/gradcheck/gradcheck_report.h"

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

std::string GradcheckReport::to_json() const {
  Json input_list = Json::array(), formula_list = Json::array();
  for (const InputReport& input : inputs) input_list.push_back(json_of(input));
  for (const FormulaReport& formula : formulas) formula_list.push_back(json_of(formula));
  const Json object = {{"verdict", verdict_name(verdict())},
                       {"computed_in", computed_in},
                       {"backward_error", backward_error},
                       {"formulas", formula_list},
                       {"inputs", input_list},
                       {"hessian_symmetry", json_of(hessian_symmetry)},
                       {"notes", notes},
                       {"derivatives", derivatives},
                       {"evaluations", evaluations},
                       {"seconds", number(seconds)}};
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
