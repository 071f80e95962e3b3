#include "framework/graph/op.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/core/wide.h"
#include "framework/graph/node.h"
#include "python/binding/arrays.h"
#include "python/binding/autograd.h"
#include "python/binding/binding.h"
#include "python/binding/callback.h"

namespace qkv::python {
namespace {

// What backward may read, for as long as it runs.
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

// The call of an op that is written in Python. Its object is let go with the lock.
class PythonOp : public Op {
 public:
  PythonOp(py::object op, std::string name) : op_(std::move(op)), name_(std::move(name)) {}
  ~PythonOp() override {
    PyObject* op = op_.release().ptr();
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();  // which throws nothing
    Py_DECREF(op);
    PyGILState_Release(state);
  }
  PythonOp(const PythonOp&) = delete;
  PythonOp& operator=(const PythonOp&) = delete;

  std::string_view name() const override { return name_; }
  Saves saves() const override { return Saves::kInputsAndOutput; }

  Array forward(const Inputs& x) override {
    return call_python([&] {
      py::tuple arrays(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        if (x[i].dtype() == DType::f128) WideRun::note_narrowing(name_);
        arrays[i] = view_of(x[i]);
      }
      // A view of an input, or of what another holds, is none of its own.
      return array_from(op_.attr("forward")(*arrays), std::nullopt, /*copy=*/true);
    });
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return call_python([&] {
      const auto view = std::make_shared<SavedView>(saved);
      const absl::Cleanup end = [&] { view->end(); };
      const py::object gradients = op_.attr("backward")(view, dy);
      const bool one = py::isinstance<Tensor>(gradients) || gradients.is_none() ||
                       py::isinstance<py::array>(gradients);
      const py::sequence each = one ? py::make_tuple(gradients) : py::tuple(gradients);
      std::vector<Tensor> result;
      for (const py::handle gradient : each) {
        result.push_back(gradient.is_none() ? Tensor() : tensor_of(gradient));
      }
      return result;
    });
  }

 private:
  py::object op_;
  std::string name_;
};

Tensor apply_op(py::object op, const std::vector<Tensor>& inputs) {
  auto name = py::type::of(op).attr("__name__").cast<std::string>();
  auto made = std::make_shared<PythonOp>(std::move(op), std::move(name));
  const Computing computing;
  return run(std::move(made), inputs);
}

}  // namespace

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
