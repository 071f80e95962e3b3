#include "framework/ops/ops.h"

#include "python/binding/arrays.h"
#include "python/binding/binding.h"

namespace qkv::python {

void bind_ops(py::module_& m) {
  def(m, "add", add, "a"_a, "b"_a);
  def(m, "softmax", softmax, "x"_a);
}

}  // namespace qkv::python
