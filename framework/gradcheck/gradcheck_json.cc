#include "framework/gradcheck/gradcheck_report.h"
#include "framework/gradcheck/json_values.h"

namespace qkv {
namespace {

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

std::string GradcheckReport::to_json() const {
  Json input_list = Json::array(), formula_list = Json::array();
  for (const InputReport& input : inputs) input_list.push_back(json_of(input));
  for (const FormulaReport& formula : formulas) formula_list.push_back(json_of(formula));
  const Json object = {{"verdict", verdict_name(verdict())},
                       {"computed_in", computed_in},
                       {"backward_error", backward_error},
                       {"wrong_op", wrong_op},
                       {"formulas", formula_list},
                       {"inputs", input_list},
                       {"hessian_symmetry", json_of(hessian_symmetry)},
                       {"notes", notes},
                       {"derivatives", derivatives},
                       {"evaluations", evaluations},
                       {"seconds", json_number(seconds)}};
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
