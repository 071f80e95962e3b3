#include "framework/graph/tensor.h"

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "framework/core/error.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "python/binding/arrays.h"
#include "python/binding/binding.h"

namespace qkv::python {
namespace {

Tensor tensor_from(py::handle data, std::optional<DType> dtype, bool requires_grad, bool copy) {
  Array array = array_from(data, dtype, copy);
  if (!requires_grad) return Tensor(std::move(array));
  if (!is_floating(array.dtype())) {
    fail("tensor: " + array.describe() + " has no gradient: it is not floating");
  }
  return parameter(std::move(array));
}

// "tensor([[1., 2.]], f32[1, 2])"
std::string text_of(const Tensor& x) {
  const NoGrad no_grad;
  const Tensor numbers = x.dtype() == DType::bf16 ? cast(x.detached(), DType::f32) : x;
  const auto values = py::module_::import("numpy").attr("array2string")(
      view_of(numbers.array()), "separator"_a = ", ", "prefix"_a = "tensor(");
  return "tensor(" + values.cast<std::string>() + ", " + x.describe() +
         (x.requires_grad() ? ", requires_grad)" : ")");
}

}  // namespace

void bind_tensor(py::module_& m) {
  py::class_<Tensor> tensor(m, "Tensor", documentation("Tensor"));
  tensor
      .def(py::init(&tensor_from), "data"_a, "dtype"_a = py::none(), "requires_grad"_a = false,
           "copy"_a = false)
      .def_property_readonly("shape", &Tensor::shape)
      .def_property_readonly("dtype", &Tensor::dtype)
      .def_property_readonly("ndim", &Tensor::rank)
      .def_property_readonly("size", &Tensor::size)
      .def_property_readonly("requires_grad", &Tensor::requires_grad)
      .def("detach", &Tensor::detached)
      .def("item", &Tensor::item)
      .def("numpy", [](const Tensor& x) { return view_of(x.array()); })
      .def(
          "__dlpack__", [](const Tensor& x, const py::object&) { return dlpack_of(x.array()); },
          "stream"_a = py::none())
      .def("__dlpack_device__", [](const Tensor&) { return py::make_tuple(1, 0); })
      .def("__repr__", &text_of);
  py::implicitly_convertible<py::array, Tensor>();
  m.attr("tensor") = tensor;
}

}  // namespace qkv::python
