#pragma once

#include <cstdint>

// The part of DLPack's ABI, version 0.6, that tensors in the CPU's memory need. The names of its
// fields are ours, the layout is that of https://github.com/dmlc/dlpack, include/dlpack/dlpack.h.
namespace qkv::python::dlpack {

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

}  // namespace qkv::python::dlpack
