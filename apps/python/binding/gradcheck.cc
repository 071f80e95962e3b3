#include "framework/gradcheck/gradcheck.h"

#include <span>

#include "apps/python/binding/binding.h"
#include "apps/python/binding/callback.h"
#include "apps/report/gradcheck/diagnosis.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/gradcheck/wrong_op.h"
#include "apps/report/html/html.h"

namespace qkv::python {
namespace {

TensorFunction function_of(const py::function& f) {
  return [&f](std::span<const Tensor> inputs) {
    return call_python([&] {
      py::tuple arguments(inputs.size());
      for (size_t i = 0; i < inputs.size(); ++i) arguments[i] = py::cast(inputs[i]);
      const py::object result = f(*arguments);
      if (!py::isinstance<Tensor>(result)) {
        throw py::type_error("gradcheck: the function gave " +
                             py::repr(py::type::of(result)).cast<std::string>() +
                             ", which is not a tensor");
      }
      return result.cast<Tensor>();
    });
  };
}

GradcheckReport check(const py::function& f, const std::vector<Tensor>& inputs, int order,
                      uint64_t seed, const std::vector<std::string>& names, int worst,
                      double move_by) {
  const TensorFunction function = function_of(f);
  const Computing computing;
  const Interruptible interruptible;
  return gradcheck(function, inputs,
                   {.order = order,
                    .seed = seed,
                    .names = names,
                    .worst = worst,
                    .diagnose = diagnose,
                    .name_wrong_op = name_wrong_op,
                    .move_by = move_by});
}

}  // namespace

void bind_gradcheck(py::module_& m) {
  py::class_<GradcheckReport>(m, "GradcheckReport", documentation("GradcheckReport"))
      .def_property_readonly("passed", method(&GradcheckReport::passed))
      .def_property_readonly("verdict",
                             [](const GradcheckReport& r) { return name_of(r.verdict()); })
      .def_readonly("derivatives", &GradcheckReport::derivatives)
      .def_readonly("computed_in", &GradcheckReport::computed_in)
      .def("to_text", method(&GradcheckReport::to_text))
      .def("to_json", &gradcheck_json)
      .def("to_html", &gradcheck_html, "title"_a = "Gradient check")
      .def("__bool__", method(&GradcheckReport::passed))
      .def("__repr__", method(&GradcheckReport::to_text))
      .def("_repr_html_", [](const GradcheckReport& r) { return element("pre", r.to_text()); });
  m.def("gradcheck", &check, "f"_a, "inputs"_a, "order"_a = 1, "seed"_a = 1,
        "names"_a = std::vector<std::string>(), "worst"_a = 3, "move_by"_a = 0.0,
        documentation("gradcheck"));
}

}  // namespace qkv::python
