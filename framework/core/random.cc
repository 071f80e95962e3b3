#include "framework/core/random.h"

#include <cmath>
#include <numbers>

#include "framework/core/error.h"

namespace qkv {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;  // the golden ratio
constexpr uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1

uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every input bit reaches every output
// bit.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1),
               high(product0) ^ counter[3] ^ key[1], low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

RandomStream RandomStream::derive(std::string_view purpose) const {
  return derive(stable_hash(purpose));
}

RandomStream RandomStream::derive(uint64_t number) const {
  return RandomStream(seed_, mix(stream_ ^ mix(number)));
}

uint64_t RandomStream::bits_at(uint64_t i) const {
  // Two 64-bit numbers from each block of four words.
  const uint64_t block = i / 2;
  const auto words =
      philox({low(block), high(block), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
  return i % 2 == 0 ? (uint64_t{words[1]} << 32 | words[0]) : (uint64_t{words[3]} << 32 | words[2]);
}

double RandomStream::uniform_at(uint64_t i) const {
  return static_cast<double>(bits_at(i) >> 11) * 0x1.0p-53;
}

double RandomStream::normal_at(uint64_t i) const {
  // Each number takes a block of its own: two uniforms give one normal.
  const double u = 1.0 - uniform_at(2 * i);  // in (0, 1]
  const double angle = 2.0 * std::numbers::pi * uniform_at(2 * i + 1);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(angle);
}

uint64_t RandomStream::below(uint64_t bound) {
  if (bound == 0) fail("random: there is no number below 0");
  // Lemire 2019: the high half of bits * bound, with the few uneven cases drawn again.
  const uint64_t uneven = -bound % bound;
  while (true) {
    const auto product = static_cast<unsigned __int128>(bits()) * bound;
    if (static_cast<uint64_t>(product) >= uneven) return static_cast<uint64_t>(product >> 64);
  }
}

void StableHash::add(std::string_view bytes) {
  uint64_t state = state_;
  for (const char byte : bytes) {
    state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
  }
  state_ = state;
}

uint64_t StableHash::value() const { return mix(state_); }

uint64_t stable_hash(std::string_view bytes) {
  StableHash hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace qkv
