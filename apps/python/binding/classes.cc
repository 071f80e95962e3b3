#include "apps/python/binding/binding.h"
#include "framework/graph/tensor.h"

// The parts that pybind11 leaves open in every function and every class.
namespace qkv::python {
namespace {

PyCFunctionWithKeywords dispatcher = nullptr;  // pybind11's, which all functions have
constexpr int kTexts = 4;                      // tensors that an error shows
constexpr py::ssize_t kQuoted = 400;           // characters of the arguments

// A TypeError of pybind11 has the repr of all arguments.
void shorten_error() {
  py::error_already_set error;
  const py::str text(error.value());
  const auto quoted = text.attr("find")("\nInvoked with: ").cast<py::ssize_t>();
  if (quoted < 0 || static_cast<py::ssize_t>(py::len(text)) < quoted + 2 * kQuoted) {
    return error.restore();
  }
  PyErr_SetObject(error.type().ptr(), start_of(text, quoted + kQuoted).ptr());
}

PyObject* call_briefly(PyObject* self, PyObject* arguments, PyObject* keywords) {
  if (texts_left != kAllTexts) return dispatcher(self, arguments, keywords);
  texts_left = kTexts;
  PyObject* const result = dispatcher(self, arguments, keywords);
  texts_left = kAllTexts;
  if (!result && PyErr_ExceptionMatches(PyExc_TypeError)) shorten_error();
  return result;
}

void shorten_errors_of(py::handle function) {
  function = py::detail::get_function(function);
  if (!function || !PyCFunction_Check(function.ptr())) return;
  PyMethodDef& method = *reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
  if (method.ml_flags != (METH_VARARGS | METH_KEYWORDS)) return;
  const auto call =
      reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(method.ml_meth));
  if (!dispatcher) dispatcher = call;
  if (call != dispatcher) return;
  method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_briefly));
}

// An object that __new__ alone has made has no value, and would be given memory that is none.
void* refuse_memory(size_t) {
  throw py::type_error("an argument has no value: __new__ made it, and __init__ was not called");
}

void close_class(py::handle kind) {
  const py::dict members = kind.attr("__dict__");
  for (const auto& [name, member] : members) shorten_errors_of(member);
  py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(kind.ptr()))->operator_new =
      &refuse_memory;
  if (members.contains("__reduce__")) return;
  kind.attr("__reduce__") = py::cpp_function(
      [](py::handle self) -> py::object {
        throw py::type_error(std::string(Py_TYPE(self.ptr())->tp_name) +
                             " can be neither copied nor pickled");
      },
      py::name("__reduce__"), py::is_method(kind));
}

}  // namespace

py::str start_of(const py::str& text, py::ssize_t length) {
  const auto whole = static_cast<py::ssize_t>(py::len(text));
  if (whole <= length) return text;
  return py::str("{}... ({} characters)").format(py::object(text[py::slice(0, length, 1)]), whole);
}

void close_classes(const py::module_& m) {
  const py::object base = py::type::handle_of<Tensor>().attr("__base__");
  for (const auto& [name, value] : py::dict(m.attr("__dict__"))) {
    if (PyType_Check(value.ptr()) && py::object(value.attr("__base__")).is(base))
      close_class(value);
    shorten_errors_of(value);
  }
}

}  // namespace qkv::python
