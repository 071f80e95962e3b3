#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "framework/io/safetensors.h"

namespace qkv {

// Checksums that show every changed bit of a safetensors file. They are in its metadata, which
// other readers of the format take for text.
//
//   "xxh3:head.weight":"0dd9…"   of the bytes of that tensor
//   "xxh3":"63f8…"               of the header: of its JSON without spaces, without this entry and
//                                without data_offsets, all names in order
//
// Where a tensor stands in the file is left out: one at a wrong place has the wrong bytes. So a
// program that copies tensors and metadata into a file of its own need know nothing of this.

// XXH3 of 64 bits, as `xxhsum -H3` prints it: 16 digits.
std::string checksum(std::string_view bytes);

// The same checksum as a number; `seed` selects a different hash.
uint64_t checksum_number(std::string_view bytes, uint64_t seed = 0);

// The checksum of bytes that come one after the other.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(std::string_view bytes);
  std::string digits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Moves the checksums that add_checksums() made from the header's metadata to its tensors. Fails
// when the header is not the one that was written. A file of others, without any, is fine.
absl::Status take_checksums(TensorFileHeader& header);

// Puts the checksums that the tensors have, and the header's own, into its metadata. Fails when
// there are such entries already.
absl::Status add_checksums(TensorFileHeader& header);

// The end of a sentence on a tensor or header whose checksum has changed.
std::string damage_of(const std::string& now, const std::string& then);

}  // namespace qkv
