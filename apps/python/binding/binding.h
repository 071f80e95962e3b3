#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/python/binding/casters.h"
#include "apps/python/binding/lock.h"
#include "framework/core/error.h"

// The module _qkv: one file for each subject, each with one function that binds it.
namespace qkv::python {

using namespace py::literals;  // "x"_a

void bind_tensor(py::module_& m);
void bind_ops(py::module_& m);
void bind_plain_ops(py::module_& m);  // all that bind_ops leaves: python/documentation.py makes it
void bind_autograd(py::module_& m);
void bind_gradcheck(py::module_& m);
void bind_op(py::module_& m);
void bind_optim(py::module_& m);
void bind_nn(py::module_& m);
void bind_run(py::module_& m);
void bind_training(py::module_& m);
void bind_figures(py::module_& m);
void bind_labs(py::module_& m);
void bind_recorded(py::module_& m);
void close_classes(const py::module_& m);  // after all of them

// "What an error quo... (1000000 characters)"
py::str start_of(const py::str& text, py::ssize_t length = 100);

// The comment of a name of qkv, "softmax", in the headers: python/documentation.py reads them. Its
// absence is an error of this module, and std::logic_error when it is imported.
const char* documentation(const char* name);

using WhileComputing = py::call_guard<Computing>;

// A member function as a function of an object: pybind11 takes None for the object of a pointer to
// a member, and for no reference.
template <class Result, class Class>
auto method(Result (Class::*member)() const) {
  return [member](const Class& self) -> Result { return (self.*member)(); };
}
template <class Result, class Class>
auto method(Result (Class::*member)()) {
  return [member](Class& self) -> Result { return (self.*member)(); };
}

// Binds a function of qkv under its name, with its comment in the headers.
template <class Function, class... Extras>
void def(py::module_& m, const char* name, Function&& function, const Extras&... extras) {
  m.def(name, std::forward<Function>(function), extras..., WhileComputing(), documentation(name));
}

}  // namespace qkv::python
