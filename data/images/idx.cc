#include "data/images/idx.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

constexpr size_t kMagic = 4;               // bytes
constexpr int64_t kMaxBytes = 1 << 30;     // twenty times MNIST
constexpr unsigned kUnsignedBytes = 0x08;  // the type

unsigned byte_at(std::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

const char* name_of_type(unsigned type) {
  switch (type) {
    case 0x09:
      return "signed bytes";
    case 0x0B:
      return "integers of 16 bits";
    case 0x0C:
      return "integers of 32 bits";
    case 0x0D:
      return "floating-point numbers of 32 bits";
    case 0x0E:
      return "floating-point numbers of 64 bits";
    default:
      return "which IDX does not define";
  }
}

absl::Status check_magic(std::string_view file, size_t dimensions) {
  if (file.size() < kMagic || byte_at(file, 0) != 0 || byte_at(file, 1) != 0) {
    std::string begin;
    for (size_t i = 0; i < std::min(file.size(), kMagic); ++i) {
      absl::StrAppendFormat(&begin, " %02X", byte_at(file, i));
    }
    return invalid_argument("is not an IDX file (the format of MNIST): it begins with", begin);
  }
  if (const unsigned type = byte_at(file, 2); type != kUnsignedBytes) {
    return invalid_argument(absl::StrFormat(
        "its numbers have type 0x%02X, %s; images and labels are unsigned bytes, type 0x08", type,
        name_of_type(type)));
  }
  if (const unsigned found = byte_at(file, 3); found != dimensions) {
    return invalid_argument("its numbers have ", found, " dimensions; ",
                            dimensions == 3 ? "images have 3: number, height and width"
                                            : "labels have 1: their number");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> parse_sizes(std::string_view file, size_t dimensions) {
  RETURN_IF_ERROR(check_magic(file, dimensions));
  if (file.size() < kMagic + 4 * dimensions)
    return invalid_argument("is truncated: it ends within the header");
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < dimensions; ++d) {
    int64_t size = 0;
    for (size_t i = 0; i < 4; ++i) size = 256 * size + byte_at(file, kMagic + 4 * d + i);
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

bool is_gzipped(std::string_view bytes) { return bytes.starts_with("\x1F\x8B"); }

absl::StatusOr<std::string> gunzip(std::string_view bytes, size_t max_bytes) {
  constexpr size_t kFirstRoom = 1 << 12;
  constexpr size_t kMaxChunk = 1 << 30;  // for zlib at a time
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream = {};
  if (inflateInit2(&stream, kGzip) != Z_OK) {
    return absl::ResourceExhaustedError("its gzip data cannot be unpacked: there is no memory");
  }
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, inflateEnd);

  std::string unpacked;
  size_t written = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END || !bytes.empty()) {
    if (status == Z_STREAM_END) inflateReset(&stream);  // another part follows, as `cat` makes them
    if (written == unpacked.size()) {
      if (written == max_bytes) break;
      unpacked.resize(std::min(max_bytes, std::max(kFirstRoom, 2 * written)));
    }
    const size_t given = std::min(bytes.size(), kMaxChunk);
    const size_t room = std::min(unpacked.size() - written, kMaxChunk);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(given - stream.avail_in);
    written += room - stream.avail_out;
    if (status == Z_BUF_ERROR) {
      return absl::InvalidArgumentError("its gzip data end before they are complete");
    }
    if (status != Z_OK && status != Z_STREAM_END) {
      return invalid_argument("its gzip data are damaged: ",
                              stream.msg != nullptr ? stream.msg : zError(status));
    }
  }
  unpacked.resize(written);
  return unpacked;
}

absl::StatusOr<IdxArray> parse_idx(std::string_view file, size_t dimensions) {
  if (file.empty()) return invalid_argument("is empty");
  const bool zipped = is_gzipped(file);
  const size_t header = kMagic + 4 * dimensions;
  std::string unpacked;
  if (zipped) {
    ASSIGN_OR_RETURN(unpacked, gunzip(file, header));
  }
  ASSIGN_OR_RETURN(std::vector<int64_t> sizes, parse_sizes(zipped ? unpacked : file, dimensions));

  const std::string product = absl::StrJoin(sizes, " x ");
  if (std::ranges::count(sizes, 0) > 0) {
    return invalid_argument("has no elements: its header says ", product);
  }
  int64_t wanted = 1;
  for (const int64_t size : sizes) {
    if (size > kMaxBytes / wanted) {
      return invalid_argument("is too large: its header says ", product, " bytes, but at most ",
                              kMaxBytes, " are read");
    }
    wanted *= size;
  }
  // A byte more than there should be shows that there are too many, however many they are.
  const size_t whole = header + static_cast<size_t>(wanted);
  if (zipped) {
    ASSIGN_OR_RETURN(unpacked, gunzip(file, whole + 1));
    file = unpacked;
  }
  if (file.size() < whole) {
    return invalid_argument("is truncated: its header says ", product, " bytes, but ",
                            file.size() - header, " follow it");
  }
  if (file.size() > whole) {
    return invalid_argument("is too long: its header says ", product, " bytes, but more follow it");
  }
  return IdxArray{std::move(sizes), std::string(file.substr(header))};
}

absl::StatusOr<IdxArray> read_idx(const std::string& path, size_t dimensions) {
  ASSIGN_OR_RETURN(const std::string file, read_regular_file(path));
  absl::StatusOr<IdxArray> array = parse_idx(file, dimensions);
  if (array.ok()) return array;
  return absl::Status(array.status().code(), absl::StrCat(path, ": ", array.status().message()));
}

}  // namespace qkv
