#include "framework/io/safetensors.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"
#include "framework/io/large_file.h"
#include "framework/io/safetensors_checksums.h"
#include "framework/io/safetensors_header.h"

namespace qkv {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian, and so are arrays here");

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100'000'000;  // as in the reference library

absl::Status not_safetensors(const std::string& path, const std::string& why) {
  return absl::DataLossError(absl::StrCat(path, ": not a safetensors file: ", why));
}

absl::Status damaged(const std::string& path, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(path, ": ", why));
}

absl::Status cannot_read(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot read ", path));
}

absl::Status read_exactly(const std::string& path, const FileDescriptor& file, uint64_t offset,
                          void* target, uint64_t bytes) {
  const absl::StatusOr<size_t> got =
      read_at(path, file, offset, {static_cast<char*>(target), bytes});
  if (!got.ok()) return got.status();
  if (*got < bytes) return damaged(path, "the file became shorter while it was read");
  return absl::OkStatus();
}

// The arrays, in the order of their bytes, must fill the rest of the file.
absl::Status check_layout(const std::string& path, const TensorFileHeader& header) {
  const uint64_t data_bytes = header.file_bytes - header.data_start;
  uint64_t filled = 0;
  const TensorEntry* previous = nullptr;
  for (const TensorEntry& entry : header.tensors) {
    const std::string bytes = absl::StrCat("bytes ", entry.begin, " to ", entry.end);
    if (entry.end > data_bytes) {
      return damaged(path, absl::StrCat("tensor ", in_quotes(entry.name), " is at ", bytes,
                                        " of the data, but the file has only ", data_bytes,
                                        " of them; it may have been cut off"));
    }
    if (entry.begin < filled) {
      return damaged(path, absl::StrCat("tensor ", in_quotes(entry.name), " at ", bytes,
                                        " overlaps ", in_quotes(previous->name)));
    }
    if (entry.begin > filled) {
      return damaged(path, absl::StrCat("there is a gap of ", entry.begin - filled,
                                        " bytes before tensor ", in_quotes(entry.name)));
    }
    filled = entry.end;
    previous = &entry;
  }
  if (filled != data_bytes) {
    return damaged(path,
                   absl::StrCat("there are ", data_bytes - filled, " bytes after the last tensor"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorFileHeader> read_header(const std::string& path, const FileDescriptor& file) {
  struct stat status;
  if (::fstat(file.get(), &status) != 0) return cannot_read(path, errno);
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  if (file_bytes == 0) return not_safetensors(path, "it is empty");
  if (file_bytes < kLengthBytes) {
    return not_safetensors(path, absl::StrCat("it has only ", file_bytes, " bytes"));
  }
  uint64_t header_bytes = 0;
  absl::Status read = read_exactly(path, file, 0, &header_bytes, kLengthBytes);
  if (!read.ok()) return read;
  const std::string_view beginning(reinterpret_cast<const char*>(&header_bytes), kLengthBytes);
  if (beginning.starts_with("PK\3\4") || beginning.starts_with("\x80\2")) {
    return not_safetensors(
        path,
        "it is a pickle of PyTorch, which is a program; in Python, from safetensors.torch "
        "import save_file, and save_file(torch.load(FILE, weights_only=True), NEW_FILE)");
  }
  if (header_bytes > kLongestHeader) {
    return not_safetensors(path,
                           absl::StrCat("it does not begin with the length of a header of at most ",
                                        kLongestHeader, " bytes"));
  }
  if (header_bytes > file_bytes - kLengthBytes) {
    return not_safetensors(
        path, absl::StrCat("its header would be ", header_bytes, " bytes long, but the file has ",
                           file_bytes, "; it may have been cut off"));
  }
  std::string json(header_bytes, '\0');
  read = read_exactly(path, file, kLengthBytes, json.data(), header_bytes);
  if (!read.ok()) return read;
  if (json.empty() || json[0] != '{') {
    return not_safetensors(path, "its header is not a JSON object");
  }
  absl::StatusOr<TensorFileHeader> header = parse_safetensors_header(json);
  if (!header.ok()) return damaged(path, header.status().message());
  if (const absl::Status same = take_checksums(*header); !same.ok()) {
    return damaged(path, same.message());
  }
  header->data_start = kLengthBytes + header_bytes;
  header->file_bytes = file_bytes;
  absl::Status layout = check_layout(path, *header);
  if (!layout.ok()) return layout;
  return header;
}

// A bool in memory must be 0 or 1: any other byte is undefined behaviour waiting to be read.
bool all_booleans(const Array& array) {
  const auto* bytes = static_cast<const unsigned char*>(array.raw());
  return std::all_of(bytes, bytes + array.bytes(), [](unsigned char byte) { return byte <= 1; });
}

// IEEE 754's binary16: a sign, 5 bits of exponent, 10 of the fraction.
float widened(uint16_t half) {
  const uint32_t sign = half >> 15, exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
  if (exponent == 0) return std::ldexp(static_cast<float>(fraction), -24) * (sign ? -1.0F : 1.0F);
  const uint32_t wide = exponent == 0x1F ? 0xFF : exponent + 127 - 15;
  return std::bit_cast<float>(sign << 31 | wide << 23 | fraction << 13);
}

// In pieces that are still in the cache when their checksum is taken.
absl::Status read_tensor(const std::string& path, const FileDescriptor& file, uint64_t offset,
                         const TensorEntry& entry, Array& array) {
  constexpr size_t kPiece = 1 << 17;
  Checksum sum;
  const size_t all =
      entry.end - entry.begin;  // half of the array's, at its end, where they are F16
  auto* const bytes = static_cast<char*>(array.mutable_raw()) + (array.bytes() - all);
  for (size_t done = 0; done < all; done += kPiece) {
    const size_t count = std::min(kPiece, all - done);
    if (absl::Status read = read_exactly(path, file, offset + done, bytes + done, count);
        !read.ok()) {
      return read;
    }
    sum.add(std::string_view(bytes + done, count));
  }
  const std::string tensor = absl::StrCat("tensor ", in_quotes(entry.name), " ");
  if (!entry.checksum.empty() && sum.digits() != entry.checksum) {
    return damaged(path, tensor + damage_of(sum.digits(), entry.checksum));
  }
  if (entry.dtype == DType::boolean && !all_booleans(array)) {
    return damaged(path, tensor + "is BOOL but has bytes that are neither 0 nor 1");
  }
  // From the end of the array's bytes to its beginning: a number is read before its place is taken.
  for (int64_t i = 0; entry.type == kHalf && i < array.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + static_cast<size_t>(i) * sizeof half, sizeof half);
    array.mutable_data<float>()[i] = widened(half);
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorFile> read_tensors(const std::string& path, const FileDescriptor& file,
                                        TensorFileHeader header, WantsTensor wants) {
  TensorFile result;
  result.metadata = std::move(header.metadata);
  for (const TensorEntry& entry : header.tensors) {
    if (!wants(entry)) continue;
    if (!entry.type.empty() && entry.type != kHalf) {
      return damaged(path, absl::StrCat("tensor ", in_quotes(entry.name), " has the dtype ",
                                        in_quotes(entry.type),
                                        "; this program knows F64, F32, F16, BF16, I64 and BOOL"));
    }
    Array array(entry.shape, entry.dtype);
    absl::Status read = read_tensor(path, file, header.data_start + entry.begin, entry, array);
    if (!read.ok()) return read;
    result.tensors.push_back({entry.name, std::move(array)});
  }
  return result;
}

// The header before the arrays, and the bytes of each of them, which stay where they are.
struct EncodedTensors {
  std::string front;
  std::vector<std::string_view> arrays;
};

absl::StatusOr<EncodedTensors> encode(const TensorFile& file) {
  std::vector<const NamedArray*> order;
  for (const NamedArray& tensor : file.tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const NamedArray* a, const NamedArray* b) {
    return dtype_bytes(a->array.dtype()) > dtype_bytes(b->array.dtype());
  });

  TensorFileHeader header;
  header.metadata = file.metadata;
  EncodedTensors encoded;
  uint64_t offset = 0;
  for (const NamedArray* tensor : order) {
    const Array& array = tensor->array;
    if (!array.defined()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", in_quotes(tensor->name), " has no numbers"));
    }
    if (*name_of_type(array.dtype()) == '\0') {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", in_quotes(tensor->name), " is ", std::string(dtype_name(array.dtype())),
          ", a type of gradient checks that files do not have; cast it to f64"));
    }
    const std::string_view bytes(static_cast<const char*>(array.raw()), array.bytes());
    header.tensors.push_back({.name = tensor->name,
                              .dtype = array.dtype(),
                              .shape = array.shape(),
                              .begin = offset,
                              .end = offset + bytes.size(),
                              .checksum = checksum(bytes)});
    encoded.arrays.push_back(bytes);
    offset += bytes.size();
  }

  if (absl::Status added = add_checksums(header); !added.ok()) return added;
  const absl::StatusOr<std::string> json = safetensors_header_json(header);
  if (!json.ok()) return json.status();
  const std::string spaces((8 - json->size() % 8) % 8, ' ');  // align the data
  const uint64_t header_bytes = json->size() + spaces.size();
  encoded.front = absl::StrCat(
      absl::string_view(reinterpret_cast<const char*>(&header_bytes), kLengthBytes), *json, spaces);
  return encoded;
}

}  // namespace

absl::StatusOr<TensorFileHeader> read_safetensors_header(const std::string& path) {
  const absl::StatusOr<FileDescriptor> file = open_regular_file(path);
  if (!file.ok()) return file.status();
  return read_header(path, *file);
}

absl::StatusOr<TensorFile> read_safetensors(const std::string& path, WantsTensor wants) {
  const absl::StatusOr<FileDescriptor> file = open_regular_file(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<TensorFileHeader> header = read_header(path, *file);
  if (!header.ok()) return header.status();
  try {
    return read_tensors(path, *file, *std::move(header), wants);
  } catch (const std::bad_alloc&) {
    return cannot_read(path, ENOMEM);
  }
}

absl::Status write_safetensors(const std::string& path, const TensorFile& file) {
  const absl::StatusOr<EncodedTensors> encoded = encode(file);
  if (!encoded.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path, ": ", encoded.status().message()));
  }
  std::vector<std::string_view> parts = {encoded->front};
  parts.insert(parts.end(), encoded->arrays.begin(), encoded->arrays.end());
  return write_file_atomically(path, parts);
}

absl::StatusOr<std::string> safetensors_bytes(const TensorFile& file) {
  absl::StatusOr<EncodedTensors> encoded = encode(file);
  if (!encoded.ok()) return encoded.status();
  std::string bytes = std::move(encoded->front);
  size_t size = bytes.size();
  for (const std::string_view array : encoded->arrays) size += array.size();
  bytes.reserve(size);
  for (const std::string_view array : encoded->arrays) bytes += array;
  return bytes;
}

}  // namespace qkv
