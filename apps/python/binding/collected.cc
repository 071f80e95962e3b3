#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "apps/python/binding/autograd.h"
#include "apps/python/binding/lock.h"
#include "framework/graph/node.h"

namespace qkv::python {
namespace {

using Nodes = std::vector<const std::shared_ptr<Node>*>;

Nodes nodes_of(const Tensor& x) { return {&x.node()}; }

Nodes nodes_of(const PythonGradients& g) {
  Nodes held;
  for (const auto& [node, gradient] : g.gradients.all()) {
    held.insert(held.end(), {&node, &gradient.node()});
  }
  return held;
}

// Visits the ops that nobody holds but these.
int visit_ops(const Nodes& held, visitproc visit, void* argument) noexcept {
  std::map<uint64_t, std::pair<const std::shared_ptr<Node>*, long>, std::greater<>>
      uses;  // of a node by those seen here; users come first
  const auto add = [&](const std::shared_ptr<Node>& node) {
    if (node && !node->is_leaf()) ++uses.try_emplace(node->id(), &node, 0).first->second.second;
  };
  for (const std::shared_ptr<Node>* node : held) add(*node);
  while (!uses.empty()) {
    const auto [node, count] = uses.extract(uses.begin()).mapped();
    if (node->use_count() != count || (*node)->is_released()) continue;
    if (PyObject* const object = object_of((*node)->op())) {
      if (const int result = visit(object, argument)) return result;
    }
    for (const Tensor& x : (*node)->inputs()) add(x.node());
  }
  return 0;
}

template <class T>
T* held_value(PyObject* self) {
  auto holder = reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder();
  return holder.holder_constructed() ? holder.template value_ptr<T>() : nullptr;
}

}  // namespace

template <class T>
py::custom_type_setup collected() {
  return py::custom_type_setup([](PyHeapTypeObject* heap_type) {
    PyTypeObject& type = heap_type->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      const T* value = held_value<T>(self);
      // A thread that computes may take a graph apart.
      return value && threads_computing == 0 ? visit_ops(nodes_of(*value), visit, arg) : 0;
    };
    type.tp_clear = [](PyObject* self) {
      if (T* value = held_value<T>(self)) const T cleared = std::exchange(*value, T());
      return 0;
    };
    type.tp_dealloc = [](PyObject* self) {  // which pybind11 2.10 leaves in the collector's list
      PyObject_GC_UnTrack(self);
      py::detail::pybind11_object_dealloc(self);
    };
  });
}

template py::custom_type_setup collected<Tensor>();
template py::custom_type_setup collected<PythonGradients>();

}  // namespace qkv::python
