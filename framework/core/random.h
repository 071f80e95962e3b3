#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace qkv {

// Philox 4x32-10: four random words from a counter and a key, with no state in between.
// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// A stream of random numbers: the i-th number is a function of (seed, stream, i) alone, so that it
// can be had in any order and by any thread, and is the same on every machine. Cheap to copy;
// passed in, never global.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  // An independent stream for a named or numbered purpose.
  RandomStream derive(std::string_view purpose) const;
  RandomStream derive(uint64_t number) const;

  uint64_t seed() const { return seed_; }

  // The i-th number of the stream; these do not advance it.
  uint64_t bits_at(uint64_t i) const;
  double uniform_at(uint64_t i) const;  // in [0, 1), 53 bits
  double normal_at(uint64_t i) const;   // mean 0, variance 1 (Box and Muller 1958)

  // The next number of the stream.
  uint64_t bits() { return bits_at(position_++); }
  double uniform() { return uniform_at(position_++); }
  double normal() { return normal_at(position_++); }
  // Uniform in 0 … bound - 1, without bias. Throws Error where bound is 0.
  uint64_t below(uint64_t bound);

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t position_ = 0;
};

// Puts them in a random order (Fisher and Yates 1938).
template <class T>
void shuffle(std::vector<T>& items, RandomStream& stream) {
  for (size_t left = items.size(); left > 1; --left) {
    std::swap(items[left - 1], items[stream.below(left)]);
  }
}

// A hash that is the same on every machine and in every version (FNV-1a, finished with SplitMix64),
// of bytes that come one after the other.
class StableHash {
 public:
  void add(std::string_view bytes);
  uint64_t value() const;

 private:
  uint64_t state_ = 0xCBF29CE484222325;
};

uint64_t stable_hash(std::string_view bytes);  // of all of them

}  // namespace qkv
