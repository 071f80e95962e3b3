#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "framework/core/array.h"

namespace qkv {

// Files of named arrays, as Hugging Face's safetensors library reads and writes them: 8 bytes with
// the header's length (little-endian), a header in JSON, and the arrays' bytes without gaps.
//
//   {"__metadata__":{"step":"100"},
//    "head.weight":{"dtype":"F32","shape":[12,64],"data_offsets":[0,3072]}}
//
// F64, F32, BF16, I64 and BOOL are known, and F16 is read as f32. Whatever is wrong with a file,
// one byte or all of them, is a Status: "FILE: what is wrong". Checksums find every changed bit
// (framework/io/safetensors_checksums.h); files of other programs, without checksums, are read,
// too.

struct NamedArray {
  std::string name;
  Array array;
};

struct TensorFile {
  std::map<std::string, std::string> metadata;  // without checksums
  std::vector<NamedArray> tensors;              // in the order of their bytes in the file
};

// One array of a file, as its header tells.
struct TensorEntry {
  std::string name;
  DType dtype;
  std::string type =
      {};  // in the file, where it is none of DType: "F16", read as f32; others are not
  Shape shape;
  uint64_t begin = 0, end = 0;  // its bytes, counted from the end of the header
  std::string checksum;         // of its bytes; "": the file has none
};

struct TensorFileHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> tensors;  // in the order of their bytes
  uint64_t data_start = 0;           // in the file
  uint64_t file_bytes = 0;
};

// Reads and checks the header, and that the file is as long as it must be. After it, only a disk
// error or a damaged array can still fail.
absl::StatusOr<TensorFileHeader> read_safetensors_header(const std::string& path);
// Nothing is read of tensors that are not wanted, and they may be of any type.
using WantsTensor = absl::FunctionRef<bool(const TensorEntry&)>;
absl::StatusOr<TensorFile> read_safetensors(
    const std::string& path, WantsTensor wants = [](const TensorEntry&) { return true; });
// The name of its type in the file.
std::string type_in_file(const TensorEntry& entry);

// Writes atomically (framework/io/files.h). The same content gives the same bytes. Wider types come
// first, so that every array is aligned; arrays of one width stay in their order. Fails when two
// have one name, when a name or the metadata is not UTF-8, and when the metadata has checksums.
absl::Status write_safetensors(const std::string& path, const TensorFile& file);

// The same bytes, for whoever writes them elsewhere.
absl::StatusOr<std::string> safetensors_bytes(const TensorFile& file);

}  // namespace qkv
