#include "apps/python/binding/arrays.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "apps/python/binding/binding.h"
#include "framework/core/wide.h"
#include "framework/graph/modes.h"
#include "framework/ops/ops.h"

namespace qkv::python {
namespace {

// The part of DLPack's ABI, version 0.6, that tensors in the CPU's memory need. The names of its
// fields are ours, the layout is that of https://github.com/dmlc/dlpack, include/dlpack/dlpack.h.
namespace dlpack {

struct Device {
  int32_t type;
  int32_t id;
};
inline constexpr int32_t kCpu = 1;

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
inline constexpr uint8_t kInt = 0, kFloat = 2, kBfloat = 4, kBool = 6;

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; nullptr: dense, row-major
  uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
};

}  // namespace dlpack

// A type here and in other libraries.
struct SharedType {
  DType dtype;
  const char* name;  // in NumPy and PyTorch; NumPy's bf16 is a structure with a field of that name
  char kind;         // in NumPy
  uint8_t code;      // in DLPack
};

constexpr SharedType kTypes[] = {{DType::f32, "float32", 'f', dlpack::kFloat},
                                 {DType::f64, "float64", 'f', dlpack::kFloat},
                                 {DType::bf16, "bfloat16", 'V', dlpack::kBfloat},
                                 {DType::i64, "int64", 'i', dlpack::kInt},
                                 {DType::boolean, "bool", 'b', dlpack::kBool}};

const SharedType& shared_type(DType dtype) {
  return *std::ranges::find(kTypes, dtype, &SharedType::dtype);
}

std::string text_of(py::handle object) { return py::str(object).cast<std::string>(); }

// Numbers that another library has.
struct Foreign {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::vector<int64_t> shape, strides;  // in bytes
  bool is_writable = true;
  std::shared_ptr<const void> owner = nullptr;
};

bool can_be_shared(const Foreign& numbers, const Shape& shape) {
  const auto bytes = static_cast<int64_t>(dtype_bytes(numbers.dtype));
  if (!numbers.is_writable ||
      reinterpret_cast<uintptr_t>(numbers.data) % dtype_bytes(numbers.dtype)) {
    return false;
  }
  int64_t stride = bytes;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] > 1 && numbers.strides[axis] != stride) return false;
    stride *= shape[axis];
  }
  const auto is_sound = [](std::byte b) { return b <= std::byte{1}; };
  return shape.size() > 0 && (numbers.dtype != DType::boolean ||
                              std::all_of(numbers.data, numbers.data + shape.size(), is_sound));
}

// Copies what the axes from `axis` on have, to where `to` is. Other libraries take any byte but 0
// for true; here it is 1.
void copy_strided(const Foreign& numbers, const std::byte* from, size_t axis, std::byte*& to) {
  const size_t bytes = dtype_bytes(numbers.dtype);
  if (axis == numbers.shape.size()) {
    std::memcpy(to, from, bytes);
    if (numbers.dtype == DType::boolean) *to = std::byte{*from != std::byte{0}};
    to += bytes;
    return;
  }
  for (int64_t i = 0; i < numbers.shape[axis]; ++i) {
    copy_strided(numbers, from + i * numbers.strides[axis], axis + 1, to);
  }
}

Array array_of(Foreign numbers, bool copy) {
  const Shape shape(std::span<const int64_t>(numbers.shape), "tensor");
  if (!copy && can_be_shared(numbers, shape)) {
    return Array::on(Storage(numbers.data, std::move(numbers.owner)), shape, numbers.dtype);
  }
  const NarrowRun narrow;  // the numbers have the type that they have
  Array result(shape, numbers.dtype);
  if (shape.size() == 0) return result;
  auto* to = static_cast<std::byte*>(result.mutable_raw());
  copy_strided(numbers, numbers.data, 0, to);
  return result;
}

// A reference to the object, which any thread may release.
std::shared_ptr<const void> held(py::object object) {
  return {object.release().ptr(),
          [](PyObject* pointer) { let_go([pointer] { Py_DECREF(pointer); }); }};
}

bool is_bfloat16(const py::dtype& type) {
  return !type.attr("names").is_none() && py::len(type.attr("names")) == 1 &&
         text_of(type.attr("names")[py::int_(0)]) == shared_type(DType::bf16).name;
}

py::dtype numpy_type(DType dtype) {
  const char* const name = shared_type(dtype).name;
  if (dtype != DType::bf16) return py::dtype(name);
  py::list fields;
  fields.append(py::make_tuple(name, "u2"));
  return py::dtype::from_args(fields);
}

std::optional<DType> dtype_of_numpy(const py::dtype& type) {
  if (!type.attr("isnative").cast<bool>()) return std::nullopt;
  for (const SharedType& known : kTypes) {
    const bool is_as_large = type.itemsize() == static_cast<py::ssize_t>(dtype_bytes(known.dtype));
    if (type.kind() != known.kind || !is_as_large) continue;
    if (known.dtype != DType::bf16 || is_bfloat16(type)) return known.dtype;
  }
  return std::nullopt;
}

// The type of NumPy that holds every number of another one.
std::optional<const char*> wider_type(const py::dtype& type) {
  if (type.kind() == 'f' && type.itemsize() <= 8) return type.itemsize() <= 4 ? "f4" : "f8";
  if (type.kind() == 'i' || (type.kind() == 'u' && type.itemsize() < 8)) return "i8";
  return std::nullopt;
}

Array array_from_numpy(py::array array, bool copy) {
  std::optional<DType> dtype = dtype_of_numpy(array.dtype());
  if (!dtype) {
    const auto wider = wider_type(array.dtype());
    if (!wider) {
      fail(absl::StrCat("tensor: NumPy's ", text_of(array.dtype()),
                        " is not one of the types here: f32, f64, bf16, i64, bool"));
    }
    array = array.attr("astype")(*wider);
    dtype = dtype_of_numpy(array.dtype());
  }
  Foreign numbers = {.data = static_cast<std::byte*>(const_cast<void*>(array.data())),
                     .dtype = *dtype,
                     .shape = {array.shape(), array.shape() + array.ndim()},
                     .strides = {array.strides(), array.strides() + array.ndim()},
                     .is_writable = array.writeable()};
  numbers.owner = held(std::move(array));
  return array_of(std::move(numbers), copy);
}

// A capsule of DLPack may be used once: its name says whether it was.
constexpr const char* kUnused = "dltensor";
constexpr const char* kUsed = "used_dltensor";

DType dtype_of_dlpack(const dlpack::DataType& type) {
  for (const SharedType& known : kTypes) {
    const bool is_as_large = type.bits == 8 * dtype_bytes(known.dtype);
    if (type.lanes == 1 && type.code == known.code && is_as_large) return known.dtype;
  }
  fail(absl::StrCat("tensor: type ", type.code, " of ", type.bits,
                    " bits of DLPack is not one of the types here: f32, f64, bf16, i64, bool"));
}

Array array_from_dlpack(py::handle object, bool copy) {
  const py::object capsule = object.attr("__dlpack__")();
  if (PyCapsule_IsValid(capsule.ptr(), kUsed)) fail("tensor: this capsule of DLPack is used");
  if (!PyCapsule_IsValid(capsule.ptr(), kUnused)) {
    fail(absl::StrCat("tensor: __dlpack__ of ", Py_TYPE(object.ptr())->tp_name, " gave ",
                      Py_TYPE(capsule.ptr())->tp_name, ", which is not \"", kUnused, "\""));
  }
  auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kUnused));
  const dlpack::Tensor& tensor = managed->tensor;
  if (tensor.device.type != dlpack::kCpu) fail("tensor: the numbers are not in the CPU's memory");
  if (tensor.ndim < 0 || tensor.ndim > Shape::kMaxRank || (tensor.ndim > 0 && !tensor.shape)) {
    fail(absl::StrCat("tensor: the capsule of DLPack has ", tensor.ndim, " axes",
                      tensor.shape ? "" : " and no shape", "; there may be up to ",
                      Shape::kMaxRank));
  }
  Foreign numbers = {.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset,
                     .dtype = dtype_of_dlpack(tensor.dtype),
                     .shape = {tensor.shape, tensor.shape + tensor.ndim},
                     .strides = {}};
  const auto bytes = static_cast<int64_t>(dtype_bytes(numbers.dtype));
  numbers.strides.resize(numbers.shape.size());
  int64_t stride = bytes;
  for (size_t axis = numbers.shape.size(); axis-- > 0;) {
    numbers.strides[axis] = tensor.strides ? tensor.strides[axis] * bytes : stride;
    stride *= numbers.shape[axis];
  }
  if (!tensor.data && Shape(std::span<const int64_t>(numbers.shape), "tensor").size() > 0) {
    fail("tensor: the capsule of DLPack has no numbers");
  }
  PyCapsule_SetName(capsule.ptr(), kUsed);
  numbers.owner = {managed, [](dlpack::ManagedTensor* used) {
                     if (used->deleter) let_go([used] { used->deleter(used); });
                   }};
  return array_of(std::move(numbers), copy);
}

bool is_pythons_own(py::handle object) {
  return py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object) ||
         PyFloat_CheckExact(object.ptr());
}

bool has_tensors(py::handle object) {
  if (!py::isinstance<py::list>(object) && !py::isinstance<py::tuple>(object)) return false;
  return std::ranges::any_of(object, [](py::handle x) { return py::isinstance<Tensor>(x); });
}

}  // namespace

DType dtype_named(std::string_view name) {
  for (const SharedType& known : kTypes) {
    if (name == known.name || name == dtype_name(known.dtype)) return known.dtype;
  }
  fail(absl::StrCat("there is no dtype \"", text_of(start_of(py::str(std::string(name)))),
                    "\"; there are f32, f64, bf16, i64, bool"));
}

DType dtype_of_object(py::handle object) {
  if (py::isinstance<py::str>(object)) return dtype_named(text_of(object));
  std::string name = text_of(object);  // torch.float32, or whatever NumPy takes
  if (name.starts_with("torch.")) return dtype_named(name.substr(6));
  try {
    name = text_of(py::module_::import("numpy").attr("dtype")(object).attr("name"));
  } catch (const py::error_already_set&) {
    fail(
        absl::StrCat("dtype: ", text_of(start_of(py::repr(object))), " is not the name of a type"));
  }
  return dtype_named(name);
}

Array array_from(py::handle object, std::optional<DType> dtype, bool copy) {
  Array array;
  if (py::isinstance<Tensor>(object)) {
    array = object.cast<const Tensor&>().array();
    if (copy) array = array.copy();
  } else if (!py::isinstance<py::array>(object) && py::hasattr(object, "__dlpack__")) {
    array = array_from_dlpack(object, copy);
  } else {
    if (has_tensors(object)) {
      fail("tensor: these are tensors; stack and concat join them, with their gradients");
    }
    array = array_from_numpy(py::module_::import("numpy").attr("asarray")(object), copy);
    if (!dtype && array.dtype() == DType::f64 && is_pythons_own(object)) dtype = DType::f32;
  }
  if (!dtype || *dtype == array.dtype()) return array;
  const NoGrad no_grad;
  return cast(Tensor(array), *dtype).array();
}

py::array view_of(const Array& array, bool writable) {
  if (array.dtype() == DType::f128) {
    const std::vector<double> values = array.to_vector();
    return py::array_t<double>(std::vector<py::ssize_t>(array.shape().begin(), array.shape().end()),
                               values.data());
  }
  const py::capsule keeper(new Array(array), [](void* kept) { delete static_cast<Array*>(kept); });
  py::array view(numpy_type(array.dtype()),
                 std::vector<py::ssize_t>(array.shape().begin(), array.shape().end()), array.raw(),
                 keeper);
  if (!writable) view.attr("flags").attr("writeable") = false;
  return view;
}

py::capsule dlpack_of(const Array& array) {
  struct Exported {
    dlpack::ManagedTensor managed;
    Array array;
    std::vector<int64_t> shape;
  };
  if (array.dtype() == DType::f128) fail("__dlpack__: DLPack has no f128");
  auto exported = std::make_unique<Exported>(Exported{
      .managed = {}, .array = array, .shape = {array.shape().begin(), array.shape().end()}});
  exported->managed = {
      .tensor = {.data = const_cast<void*>(array.raw()),
                 .device = {.type = dlpack::kCpu, .id = 0},
                 .ndim = array.shape().rank(),
                 .dtype = {.code = shared_type(array.dtype()).code,
                           .bits = static_cast<uint8_t>(8 * dtype_bytes(array.dtype())),
                           .lanes = 1},
                 .shape = exported->shape.data(),
                 .strides = nullptr,
                 .byte_offset = 0},
      .manager_ctx = exported.get(),
      .deleter = [](dlpack::ManagedTensor* used) {
        delete static_cast<Exported*>(used->manager_ctx);
      }};
  return py::capsule(&exported.release()->managed, kUnused, [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, kUnused)) return;  // its new owner releases it
    auto* unused = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, kUnused));
    unused->deleter(unused);
  });
}

}  // namespace qkv::python
