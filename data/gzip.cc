#include "data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"

namespace qkv {

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
      return absl::InvalidArgumentError(absl::StrCat(
          "its gzip data are damaged: ", stream.msg != nullptr ? stream.msg : zError(status)));
    }
  }
  unpacked.resize(written);
  return unpacked;
}

}  // namespace qkv
