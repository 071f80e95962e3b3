#include "apps/python/binding/autograd.h"

#include <memory>

#include "apps/python/binding/arrays.h"
#include "apps/python/binding/binding.h"
#include "apps/python/binding/callback.h"
#include "framework/graph/modes.h"

namespace qkv::python {
namespace {

PythonGradients backward_of(const Tensor& output, const std::optional<Tensor>& cotangent,
                            bool create_graph, bool keep_graph, const std::vector<Tensor>& keep) {
  const Interruptible interruptible;
  return {.gradients = backward(output, {.cotangent = cotangent.value_or(Tensor()),
                                         .create_graph = create_graph,
                                         .keep_graph = keep_graph,
                                         .keep = keep}),
          .create_graph = create_graph};
}

// Numbers, unless they can be differentiated.
py::object gradient_of(const PythonGradients& g, const Tensor& x) {
  const Tensor& gradient = g.gradients[x];
  if (g.create_graph || gradient.dtype() == DType::bf16) return py::cast(gradient);
  return view_of(gradient.array());
}

// A block of this thread begins or ends. All say the same, so it does not matter which one ends.
void begin_or_end_no_grad(bool begins) {
  thread_local std::vector<std::unique_ptr<NoGrad>> blocks;
  if (begins) {
    blocks.push_back(std::make_unique<NoGrad>());
  } else if (!blocks.empty()) {
    blocks.pop_back();
  }
}

}  // namespace

std::vector<Tensor> tensors_of(py::handle tensors) {
  const py::object sequence = py::isinstance<py::dict>(tensors)
                                  ? tensors.attr("values")()
                                  : py::reinterpret_borrow<py::object>(tensors);
  std::vector<Tensor> result;
  for (const py::handle x : py::list(sequence)) result.push_back(tensor_of(x));
  return result;
}

Tensor tensor_of(py::handle x) {
  py::detail::make_caster<Tensor> caster;
  if (!x.is_none() && caster.load(x, true)) return py::detail::cast_op<const Tensor&>(caster);
  throw py::type_error(py::str(py::type::of(x)).cast<std::string>() + " is not a tensor");
}

void bind_autograd(py::module_& m) {
  py::class_<PythonGradients>(m, "Gradients", documentation("Gradients"),
                              collected<PythonGradients>())
      .def("__getitem__", &gradient_of, "x"_a,
           "The gradient of x: an array of NumPy; with create_graph, and of bf16, a Tensor.")
      .def("__contains__",
           [](const PythonGradients& g, const Tensor& x) { return g.gradients.contains(x); })
      .def("__len__", [](const PythonGradients& g) { return g.gradients.size(); })
      .def("__repr__",
           [](const PythonGradients& g) {
             return absl::StrCat("<qkv.Gradients of ", g.gradients.size(), " tensors>");
           })
      .attr("__iter__") = py::none();  // else Python would count from 0
  def(m, "backward", backward_of, "output"_a, "cotangent"_a = py::none(), "create_graph"_a = false,
      "keep_graph"_a = false, "keep"_a = std::vector<Tensor>());

  m.def("_no_grad", &begin_or_end_no_grad,
        "begins"_a);  // apps/python/qkv/__init__.py makes a context of it
}

}  // namespace qkv::python
