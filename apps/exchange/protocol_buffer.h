#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qkv {

// The fields of a protocol buffer: a key, which is its number and the way its value is written, and
// the value (protobuf.dev/programming-guides/encoding).
class ProtocolBuffer {
 public:
  ProtocolBuffer& add_integer(uint64_t field, int64_t value) {
    add_varint(field << 3 | 0);
    add_varint(static_cast<uint64_t>(value));
    return *this;
  }
  ProtocolBuffer& add_double(uint64_t field, double value) {
    add_varint(field << 3 | 1);
    add_little_endian(std::bit_cast<uint64_t>(value));
    return *this;
  }
  ProtocolBuffer& add_float(uint64_t field, float value) {
    add_varint(field << 3 | 5);
    add_little_endian(std::bit_cast<uint32_t>(value));
    return *this;
  }
  ProtocolBuffer& add_bytes(uint64_t field, std::string_view value) {
    add_varint(field << 3 | 2);
    add_varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtocolBuffer& add(uint64_t field, const ProtocolBuffer& message) {
    return add_bytes(field, message.bytes());
  }
  // The fields of another after these.
  ProtocolBuffer& append(const ProtocolBuffer& fields) {
    bytes_ += fields.bytes();
    return *this;
  }
  ProtocolBuffer& add_doubles(uint64_t field, std::span<const double> values) {
    ProtocolBuffer packed;
    for (const double value : values) packed.add_little_endian(std::bit_cast<uint64_t>(value));
    return add_bytes(field, packed.bytes());
  }

  template <class T>
  void add_little_endian(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) bytes_ += static_cast<char>(value >> 8 * i & 0xff);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void add_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace qkv
