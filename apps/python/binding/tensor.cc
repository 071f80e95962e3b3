#include "framework/graph/tensor.h"

#include <algorithm>
#include <utility>

#include "apps/python/binding/arrays.h"
#include "apps/python/binding/autograd.h"
#include "apps/python/binding/binding.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/ops/ops.h"

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

py::module_ numpy() { return py::module_::import("numpy"); }

// The numbers for NumPy to compute with.
py::array numbers_of(const Tensor& x) {
  const NoGrad no_grad;
  return view_of(x.dtype() == DType::bf16 ? cast(x, DType::f32).array() : x.array());
}

// The operand of NumPy beside a tensor's numbers. The bytes of a mask become 0 and 1.
py::object operand_of(const py::object& x) {
  const bool is_mask = py::isinstance<py::array>(x) && py::array(x).dtype().kind() == 'b';
  if (py::isinstance<Tensor>(x) || is_mask) return numbers_of(Tensor(array_from(x)));
  return x;
}

// The only number, as an int of i64 and a bool of bool.
py::object number_of(const Tensor& x) {
  const double number = x.item();
  if (is_floating(x.dtype())) return py::float_(number);
  return numbers_of(x).attr("item")();
}

py::object index_of(const Tensor& x) {
  if (x.dtype() == DType::i64 && x.size() == 1) return number_of(x);
  throw py::type_error(x.describe() +
                       " is not an index: one number of i64 is; where, gather and embedding take "
                       "masks and more numbers");
}

// How copy, deepcopy and pickle make it again: a leaf with numbers of its own.
py::tuple made_of(const py::object& self) {
  const auto& x = self.cast<const Tensor&>();
  if (x.requires_grad() && !x.node()->is_leaf()) {
    fail("tensor: " + x.describe() +
         " was computed: only a leaf is copied or pickled, as is what "
         "detach() gives");
  }
  return py::make_tuple(py::type::of(self), py::make_tuple(view_of(x.array()).attr("copy")(),
                                                           py::none(), x.requires_grad()));
}

// "tensor([[1., 2.]], f32[1, 2])"
std::string text_of_tensor(const Tensor& x) {
  if (texts_left == 0) return "tensor(" + x.describe() + ")";
  if (texts_left > 0) --texts_left;
  const auto values =
      numpy().attr("array2string")(numbers_of(x), "separator"_a = ", ", "prefix"_a = "tensor(");
  return "tensor(" + values.cast<std::string>() + ", " + x.describe() +
         (x.requires_grad() ? ", requires_grad)" : ")");
}

// One part of x[…], which stands at `axis`. Moves on to the next axis.
Tensor indexed(const Tensor& x, py::handle index, int& axis) {
  if (index.is_none()) return reshape(x, x.shape().inserted(axis++, 1));
  if (axis >= x.rank()) throw py::index_error("too many indices for " + x.describe());
  const int64_t size = x.dim(axis);
  if (py::isinstance<py::slice>(index)) {
    py::ssize_t start = 0, stop = 0, step = 0, length = 0;
    if (!index.cast<py::slice>().compute(size, &start, &stop, &step, &length)) {
      throw py::error_already_set();
    }
    if (step != 1) fail("tensor: an index has no step other than 1; numpy() has");
    return length == size ? (++axis, x) : slice(x, axis++, start, length);
  }
  const py::ssize_t at = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (at == -1 && PyErr_Occurred()) throw py::error_already_set();
  if (at < -size || at >= size) {
    throw py::index_error("index " + std::to_string(at) + " is outside of axis " +
                          std::to_string(axis) + " of " + x.describe());
  }
  return reshape(slice(x, axis, at < 0 ? at + size : at, 1), x.shape().without(axis));
}

// Numbers, ranges, None and … as in NumPy.
Tensor item_of(const Tensor& x, const py::object& key) {
  const py::tuple indices = py::isinstance<py::tuple>(key) ? key : py::make_tuple(key);
  Tensor result = x;
  int axis = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].ptr() == Py_Ellipsis) {
      int after = 0;
      for (size_t j = i + 1; j < indices.size(); ++j) after += !indices[j].is_none();
      axis = std::max(axis, result.rank() - after);
    } else {
      result = indexed(result, indices[i], axis);
    }
  }
  return result;
}

// Writes where NumPy would, and the engine notices: backward refuses numbers that changed since.
void set_item(const Tensor& x, const py::object& key, const py::object& value) {
  if (x.requires_grad() && !x.node()->is_leaf()) {
    fail("tensor: " + x.describe() + " was computed: only a leaf's numbers may be changed");
  }
  Array array = x.array();
  array.mutable_raw();
  const py::object numbers = array.dtype() == DType::bf16  // whose view has bits
                                 ? view_of(array_from(value, DType::bf16))
                                 : operand_of(value);
  view_of(array, true).attr("__setitem__")(key, numbers);
}

template <class Result, class... Arguments>
using Function = Result (*)(Arguments...);
using Binary = Function<Tensor, const Tensor&, const Tensor&>;
using WithNumber = Function<Tensor, const Tensor&, double>;

// x + y, x + 1, and 1 + x with its own name.
void def_operator(py::class_<Tensor>& tensor, const char* name, const char* reflected,
                  Binary tensors, WithNumber number, WithNumber number_first) {
  tensor.def(name, tensors, py::is_operator(), WhileComputing());
  tensor.def(name, number, py::is_operator(), WhileComputing());
  // An array of NumPy on the left.
  tensor.def(
      reflected, [tensors](const Tensor& b, const Tensor& a) { return tensors(a, b); },
      py::is_operator(), WhileComputing());
  tensor.def(reflected, number_first, py::is_operator(), WhileComputing());
}

void def_operators(py::class_<Tensor>& tensor) {
  def_operator(tensor, "__add__", "__radd__", &add, &add_scalar, &add_scalar);
  def_operator(
      tensor, "__sub__", "__rsub__", &sub, [](const Tensor& x, double term) { return x - term; },
      [](const Tensor& x, double term) { return term - x; });
  def_operator(tensor, "__mul__", "__rmul__", &mul, &scale, &scale);
  def_operator(tensor, "__truediv__", "__rtruediv__", &div, &div,
               [](const Tensor& x, double number) { return div(full({}, number, x.dtype()), x); });
  def_operator(tensor, "__pow__", "__rpow__", &pow, &pow,
               [](const Tensor& x, double number) { return pow(full({}, number, x.dtype()), x); });
  tensor.def("__neg__", &neg, WhileComputing());
  const Binary product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  tensor.def("__matmul__", product, py::is_operator(), WhileComputing());
  tensor.def(
      "__rmatmul__", [](const Tensor& b, const Tensor& a) { return matmul(a, b); },
      py::is_operator(), WhileComputing());

  // Masks: the engine has no ops for them, as no gradient flows through.
  for (const auto& [name, function] :
       {std::pair{"__lt__", "less"}, std::pair{"__le__", "less_equal"},
        std::pair{"__gt__", "greater"}, std::pair{"__ge__", "greater_equal"},
        std::pair{"__eq__", "equal"}, std::pair{"__ne__", "not_equal"},
        std::pair{"__and__", "bitwise_and"}, std::pair{"__or__", "bitwise_or"},
        std::pair{"__xor__", "bitwise_xor"}}) {
    tensor.def(
        name,
        [function = function](const Tensor& a, const py::object& b) {
          return Tensor(array_from(numpy().attr(function)(numbers_of(a), operand_of(b))));
        },
        py::is_operator());
  }
  tensor.def("__invert__", [](const Tensor& x) {
    return Tensor(array_from(numpy().attr("invert")(numbers_of(x))));
  });
  tensor.def("__hash__", [](py::handle x) { return reinterpret_cast<uintptr_t>(x.ptr()) >> 4; });
}

}  // namespace

void bind_tensor(py::module_& m) {
  py::class_<Tensor> tensor(m, "Tensor", documentation("Tensor"), collected<Tensor>());
  tensor
      .def(py::init(&tensor_from), "data"_a, "dtype"_a = py::none(), "requires_grad"_a = false,
           "copy"_a = false)
      .def_property_readonly("shape", method(&Tensor::shape))
      .def_property_readonly("dtype", method(&Tensor::dtype))
      .def_property_readonly("ndim", method(&Tensor::rank))
      .def_property_readonly("size", method(&Tensor::size))
      .def_property_readonly("requires_grad", method(&Tensor::requires_grad))
      .def_property_readonly(
          "is_leaf", [](const Tensor& x) { return !x.requires_grad() || x.node()->is_leaf(); })
      .def_property_readonly("node",
                             [](const Tensor& x) -> py::object {
                               if (!x.requires_grad()) return py::none();
                               return py::int_(x.node()->id());
                             })
      .def_property_readonly("T",
                             [](const Tensor& x) {
                               std::vector<int> axes(static_cast<size_t>(x.rank()));
                               for (size_t i = 0; i < axes.size(); ++i)
                                 axes[axes.size() - 1 - i] = static_cast<int>(i);
                               return permute(x, axes);
                             })
      .def("reshape",
           [](const Tensor& x, const py::args& sizes) {  // one by one, or together
             const bool together = sizes.size() == 1 && !py::isinstance<py::int_>(sizes[0]);
             const py::object shape = together ? py::object(sizes[0]) : py::object(sizes);
             return reshape(x, std::span<const int64_t>(shape.cast<std::vector<int64_t>>()));
           })
      .def("detach", method(&Tensor::detached))
      .def("item", &number_of)
      .def("tolist", [](const Tensor& x) { return numbers_of(x).attr("tolist")(); })
      .def("numpy", [](const Tensor& x) { return view_of(x.array()); })
      .def(
          "__array__",
          [](const Tensor& x, const py::object& dtype) {
            return numpy().attr("asarray")(view_of(x.array()), dtype);
          },
          "dtype"_a = py::none())
      .def(
          "__dlpack__", [](const Tensor& x, const py::object&) { return dlpack_of(x.array()); },
          "stream"_a = py::none())
      .def("__dlpack_device__", [](const Tensor&) { return py::make_tuple(1, 0); })
      .def("__repr__", &text_of_tensor)
      .def("__len__",
           [](const Tensor& x) {
             if (x.rank() == 0) throw py::type_error("a scalar has no length");
             return x.dim(0);
           })
      .def("__getitem__", &item_of)
      .def("__setitem__", &set_item)
      .def("__iter__",
           [](const py::object& x) {
             if (x.cast<const Tensor&>().rank() == 0) throw py::type_error("a scalar has no rows");
             return py::reinterpret_steal<py::object>(PySeqIter_New(x.ptr()));
           })
      .def("__reduce__", &made_of)
      .def("__float__", method(&Tensor::item))
      .def("__int__", [](const Tensor& x) { return py::int_(number_of(x)); })
      .def("__index__", &index_of)
      .def("__bool__", [](const Tensor& x) { return x.item() != 0.0; });
  // Between an array of NumPy and a tensor, the operators are the tensor's.
  tensor.attr("__array_priority__") = 1000;
  def_operators(tensor);
  py::implicitly_convertible<py::array, Tensor>();
  m.attr("tensor") = tensor;

  m.def(
      "parameter", [](py::handle data) { return tensor_from(data, {}, true, false); }, "data"_a,
      documentation("parameter"));
}

}  // namespace qkv::python
