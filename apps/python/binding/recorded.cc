#include <variant>

#include "apps/python/binding/arrays.h"
#include "apps/python/binding/binding.h"
#include "apps/python/binding/callback.h"
#include "framework/graph/modes.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/recorder.h"
#include "framework/ops/support/op_examples.h"

namespace qkv::python {
namespace {

py::object python_value(const Attribute::Value& value) {
  return std::visit(
      [](const auto& v) -> py::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, Array>) {
          return v.defined() ? py::object(view_of(v)) : py::none();
        } else {
          return py::cast(v);
        }
      },
      value);
}

py::dict attributes_of(const RecordedOp& recorded) {
  py::dict attributes;
  for (const Attribute& a : attributes_of(*recorded.op)) {
    attributes[py::str(a.name.data(), a.name.size())] = python_value(a.value);
  }
  return attributes;
}

py::list recorded(const py::function& f, bool composed) {
  std::vector<RecordedOp> ops;
  {
    const Recorder recorder(ops);
    std::optional<ComposedOnly> only;
    if (composed) only.emplace();
    f();
  }
  return py::cast(ops);
}

py::list examples() {
  py::list result;
  for (const OpExamples& op : op_examples()) {
    for (const OpExample& example : op.examples) {
      const auto f = [f = example.f](const std::vector<Tensor>& inputs) { return f(inputs); };
      result.append(py::make_tuple(op.op, example.name,
                                   make_inputs(example, DType::f64, RandomStream(1)),
                                   py::cpp_function(f)));
    }
  }
  return result;
}

}  // namespace

void bind_recorded(py::module_& m) {
  py::class_<RecordedOp>(m, "RecordedOp", documentation("RecordedOp"))
      .def_property_readonly("op", [](const RecordedOp& r) { return std::string(r.op->name()); })
      .def_property_readonly("attributes", &attributes_of)
      .def_readonly("inputs", &RecordedOp::x)
      .def_readonly("output", &RecordedOp::y)
      .def_readonly("scope", &RecordedOp::scope)
      .def_readonly("in_backward", &RecordedOp::in_backward);
  m.def("recorded", &recorded, "f"_a, "composed"_a = false,
        "The ops that run while f() does, in order: a list of RecordedOp. With `composed`, fused "
        "ops run as\nthe formulas that they must equal.");
  m.def("op_examples", &examples,
        "The examples that prove each op: (op, name, inputs, f), where f(inputs) gives a tensor.");
}

}  // namespace qkv::python
