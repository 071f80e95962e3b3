#include <exception>
#include <utility>

#include "apps/python/binding/binding.h"
#include "apps/python/binding/callback.h"

namespace qkv::python {
namespace {

// An exception of Python's at the bottom of `error` is its cause.
void raise(const std::exception& error, py::handle type, const char* text) {
  try {
    std::rethrow_if_nested(error);
  } catch (py::error_already_set& cause) {
    return py::raise_from(cause, type.ptr(), text);
  } catch (const std::exception& inner) {
    return raise(inner, type, text);
  }
  PyErr_SetString(type.ptr(), text);
}

}  // namespace

PYBIND11_MODULE(_qkv, m) {
  m.doc() = "The engine of qkv.";
  m.attr("__version__") = QKV_VERSION;
  // People see the package, which has all of it.
  const py::object name = m.attr("__name__");
  m.attr("__name__") = "qkv";
  static const py::handle error_type = py::register_exception<Error>(m, "Error", PyExc_ValueError);
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(std::move(pointer));
    } catch (const Stop& stop) {
      stop.restore();
    } catch (const Error& error) {
      raise(error, error_type, error.what());
    } catch (const py::cast_error&) {  // not a RuntimeError, and not pybind11's text
      PyErr_SetString(PyExc_TypeError, "an argument has parts of a wrong type");
    }
  });
  // OutOfMemory is a std::bad_alloc, which becomes a MemoryError with its text.
  bind_tensor(m);
  bind_ops(m);
  bind_autograd(m);
  bind_gradcheck(m);
  bind_op(m);
  bind_optim(m);
  bind_nn(m);
  bind_recorded(m);
  bind_run(m);
  bind_training(m);
  bind_figures(m);
  bind_labs(m);
  close_classes(m);
  stop_threads_at_the_end();
  m.attr("__name__") = name;
}

}  // namespace qkv::python
