#include "framework/graph/op.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "apps/python/binding/arrays.h"
#include "apps/python/binding/autograd.h"
#include "apps/python/binding/binding.h"
#include "apps/python/binding/callback.h"
#include "framework/core/wide.h"
#include "framework/graph/saved.h"

namespace qkv::python {
namespace {

// The tensors that backward may read, for as long as it runs.
class SavedView {
 public:
  explicit SavedView(const Saved& saved) : saved_(&saved) {}

  void end() { saved_ = nullptr; }
  const Saved& saved() const {
    if (!saved_) fail("saved: its backward has ended");
    return *saved_;
  }
  const Saved& with(size_t i) const {
    if (i >= saved().size()) fail(absl::StrCat("saved: there is no input ", i));
    return saved();
  }

 private:
  const Saved* saved_;
};

// An exception of f in Python has a text of several lines. In one: "KeyError: 'gone'"; the rest is
// its cause.
template <class F>
auto in_one_line(F&& f) {
  try {
    return f();
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    const std::string text = error.what();
    std::throw_with_nested(std::runtime_error(text.substr(0, text.find("\n\nAt:"))));
  }
}

// The call of an op that is written in Python. Its object is released with the lock.
class PythonOp : public Op, public std::enable_shared_from_this<PythonOp> {
 public:
  PythonOp(py::object op, std::string name) : op_(std::move(op)), name_(std::move(name)) {}
  ~PythonOp() override {
    PyObject* op = op_.release().ptr();
    let_go([op] { Py_DECREF(op); });
  }
  PythonOp(const PythonOp&) = delete;
  PythonOp& operator=(const PythonOp&) = delete;

  PyObject* object() const { return weak_from_this().use_count() == 1 ? op_.ptr() : nullptr; }
  std::string_view name() const override { return name_; }
  Saves saves() const override { return Saves::kInputsAndOutput; }

  Array forward(const Inputs& x) override {
    return call_python([&] {
      py::tuple arrays(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        if (x[i].dtype() == DType::f128) WideRun::note_narrowing(name_);
        arrays[i] = view_of(x[i]);
      }
      const py::object result = op_.attr("forward")(*arrays);
      try {  // a view of another's memory is not its own
        return array_from(result, std::nullopt, /*copy=*/true);
      } catch (const Error& error) {
        fail(absl::StrCat(name_, ": forward gave ", Py_TYPE(result.ptr())->tp_name, "; ",
                          error.what()));
      }
    });
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return call_python([&] { return in_one_line([&] { return gradients(saved, dy); }); });
  }

 private:
  std::vector<Tensor> gradients(const Saved& saved, const Tensor& dy) const {
    const auto view = std::make_shared<SavedView>(saved);
    const absl::Cleanup end = [&] { view->end(); };
    const py::object given = op_.attr("backward")(view, dy);
    const bool one =
        py::isinstance<Tensor>(given) || given.is_none() || py::isinstance<py::array>(given);
    const py::tuple each = one ? py::make_tuple(given) : py::tuple(given);
    std::vector<Tensor> result;
    for (const py::handle gradient : each) {
      result.push_back(gradient.is_none() ? Tensor() : tensor_of(gradient));
    }
    return result;
  }

  py::object op_;
  std::string name_;
};

Tensor apply_op(py::object op, py::handle arguments) {
  std::vector<Tensor> inputs = tensors_of(arguments);
  auto name = py::type::of(op).attr("__name__").cast<std::string>();
  auto made = std::make_shared<PythonOp>(std::move(op), std::move(name));
  const Computing computing;
  const Tensor y = run(std::move(made), std::move(inputs));
  return is_floating(y.dtype()) ? y : y.detached();  // masks and indices have no gradients
}

}  // namespace

PyObject* object_of(const Op& op) {
  const auto* python_op = dynamic_cast<const PythonOp*>(&op);
  return python_op ? python_op->object() : nullptr;
}

void bind_op(py::module_& m) {
  py::class_<SavedView, std::shared_ptr<SavedView>>(m, "Saved", documentation("Saved"))
      .def(
          "needs", [](const SavedView& s, size_t i) { return s.with(i).needs(i); }, "i"_a)
      .def(
          "input", [](const SavedView& s, size_t i) { return s.with(i).input(i); }, "i"_a)
      .def("output", [](const SavedView& s) { return s.saved().output(); })
      .def(
          "shape", [](const SavedView& s, size_t i) { return s.with(i).shape(i); }, "i"_a)
      .def(
          "dtype", [](const SavedView& s, size_t i) { return s.with(i).dtype(i); }, "i"_a)
      .def("__len__", [](const SavedView& s) { return s.saved().size(); });
  m.def("_apply", &apply_op, "op"_a, "inputs"_a);
}

}  // namespace qkv::python
