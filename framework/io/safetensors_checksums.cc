#include "framework/io/safetensors_checksums.h"

#define XXH_INLINE_ALL
#ifdef __AVX512F__
#define XXH_VECTOR XXH_AVX2  // as fast, without the false alarms of g++ 12 (GCC bug 105593)
#endif
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/io/safetensors_header.h"

namespace qkv {
namespace {

constexpr char kHeaderChecksum[] = "xxh3";
constexpr char kTensorChecksum[] = "xxh3:";  // and its name

std::string header_checksum(const TensorFileHeader& header) {
  nlohmann::json object;  // sorts its names
  object[kMetadata] = header.metadata;
  for (const TensorEntry& entry : header.tensors) {
    object[entry.name] = {{"dtype", type_in_file(entry)},
                          {"shape", std::vector<int64_t>(entry.shape.begin(), entry.shape.end())}};
  }
  return checksum(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

bool has_tensor_checksums(const TensorFileHeader& header) {
  const auto first = header.metadata.lower_bound(kTensorChecksum);
  return first != header.metadata.end() && absl::StartsWith(first->first, kTensorChecksum);
}

}  // namespace

struct Checksum::State {
  XXH3_state_t xxh3;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh3); }
Checksum::~Checksum() = default;

void Checksum::add(std::string_view bytes) {
  XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

std::string Checksum::digits() const {
  return absl::StrFormat("%016x", XXH3_64bits_digest(&state_->xxh3));
}

uint64_t checksum_number(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string checksum(std::string_view bytes) {
  return absl::StrFormat("%016x", checksum_number(bytes));
}

absl::Status take_checksums(TensorFileHeader& header) {
  const auto own = header.metadata.extract(kHeaderChecksum);
  if (!own && !has_tensor_checksums(header)) return absl::OkStatus();
  if (!own) {
    return absl::DataLossError(
        "its tensors have checksums, but its header has none; the file is damaged");
  }
  if (const std::string now = header_checksum(header); now != own.mapped()) {
    return absl::DataLossError(absl::StrCat("its header ", damage_of(now, own.mapped())));
  }
  for (TensorEntry& entry : header.tensors) {
    const auto found = header.metadata.extract(absl::StrCat(kTensorChecksum, entry.name));
    if (!found) {
      return absl::DataLossError(
          absl::StrCat("tensor ", in_quotes(entry.name), " has no checksum"));
    }
    entry.checksum = found.mapped();
  }
  return absl::OkStatus();
}

absl::Status add_checksums(TensorFileHeader& header) {
  if (header.metadata.count(kHeaderChecksum) > 0 || has_tensor_checksums(header)) {
    return absl::InvalidArgumentError(
        "its metadata has an entry named xxh3, a name reserved for checksums");
  }
  for (const TensorEntry& entry : header.tensors) {
    header.metadata[absl::StrCat(kTensorChecksum, entry.name)] = entry.checksum;
  }
  header.metadata[kHeaderChecksum] = header_checksum(header);
  return absl::OkStatus();
}

std::string damage_of(const std::string& now, const std::string& then) {
  return absl::StrCat("is damaged: its checksum is ", now, ", but the file says ", then);
}

}  // namespace qkv
