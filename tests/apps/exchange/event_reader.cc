#include "tests/apps/exchange/event_reader.h"

#include <gtest/gtest.h>

#include <cstring>

namespace qkv {
namespace {

template <class T>
T take(std::string_view& bytes) {  // this machine is little-endian, too
  T value{};
  if (bytes.size() < sizeof value) {
    ADD_FAILURE() << "the bytes end too early";
    bytes = {};
    return value;
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

// By long division with the polynomial 0x1EDC6F41, bit by bit.
uint32_t checksum(std::string_view bytes) {
  uint32_t rest = ~0U;
  for (const char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {  // the lowest bit of a byte comes first
      const bool next = (static_cast<unsigned char>(byte) >> bit & 1) != 0;
      const bool divides = next != (rest >> 31 == 1);
      rest = rest << 1 ^ (divides ? 0x1EDC6F41U : 0U);
    }
  }
  uint32_t reflected = 0;
  for (int bit = 0; bit < 32; ++bit) reflected |= (rest >> bit & 1) << (31 - bit);
  const uint32_t crc = ~reflected;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

struct WireField {
  uint64_t number = 0, type = 0, integer = 0;  // fixed numbers: their bits
  std::string_view bytes;

  double real() const {
    double value = 0;
    EXPECT_EQ(type, 1U) << "field " << number;
    std::memcpy(&value, &integer, sizeof value);
    return value;
  }
  float small_real() const {
    const auto bits = static_cast<uint32_t>(integer);
    float value = 0;
    EXPECT_EQ(type, 5U) << "field " << number;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::vector<double> reals() const {
    std::vector<double> values;
    for (std::string_view rest = bytes; !rest.empty();) values.push_back(take<double>(rest));
    return values;
  }
};

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = take<uint8_t>(bytes);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  ADD_FAILURE() << "a varint of more than 64 bits";
  return 0;
}

std::vector<WireField> fields(std::string_view bytes) {
  std::vector<WireField> fields;
  while (!bytes.empty()) {
    WireField& field = fields.emplace_back();
    const uint64_t key = take_varint(bytes);
    field.number = key / 8;
    field.type = key % 8;
    if (field.type == 0) {
      field.integer = take_varint(bytes);
    } else if (field.type == 1) {
      field.integer = take<uint64_t>(bytes);
    } else if (field.type == 5) {
      field.integer = take<uint32_t>(bytes);
    } else {
      EXPECT_EQ(field.type, 2U);
      const uint64_t size = take_varint(bytes);
      EXPECT_LE(size, bytes.size());
      field.bytes = bytes.substr(0, size);
      bytes.remove_prefix(field.bytes.size());
    }
  }
  return fields;
}

HistogramRead read_histogram(std::string_view bytes) {
  HistogramRead histogram;
  for (const WireField& field : fields(bytes)) {
    switch (field.number) {
      case 1:
        histogram.min = field.real();
        break;
      case 2:
        histogram.max = field.real();
        break;
      case 3:
        histogram.count = field.real();
        break;
      case 4:
        histogram.sum = field.real();
        break;
      case 5:
        histogram.sum_of_squares = field.real();
        break;
      case 6:
        histogram.limits = field.reals();
        break;
      case 7:
        histogram.counts = field.reals();
        break;
      default:
        ADD_FAILURE() << "HistogramProto has no field " << field.number;
    }
  }
  return histogram;
}

std::string read_string_tensor(std::string_view bytes) {
  std::string text;
  for (const WireField& field : fields(bytes)) {
    if (field.number == 1) {  // DT_STRING
      EXPECT_EQ(field.integer, 7U);
    }
    if (field.number == 2) {  // no dimensions
      EXPECT_EQ(field.bytes, "");
    }
    if (field.number == 8) text = field.bytes;
  }
  return text;
}

void read_value(std::string_view bytes, EventRead& event) {
  std::string tag, plugin;
  for (const WireField& field : fields(bytes)) {
    if (field.number == 1) tag = field.bytes;
  }
  for (const WireField& field : fields(bytes)) {
    if (field.number == 2) event.scalars[tag] = field.small_real();
    if (field.number == 5) event.histograms[tag] = read_histogram(field.bytes);
    if (field.number == 8) event.texts[tag] = read_string_tensor(field.bytes);
    if (field.number != 9) continue;
    for (const WireField& metadata : fields(field.bytes)) {
      if (metadata.number == 1) plugin = fields(metadata.bytes).at(0).bytes;
      if (metadata.number == 4) {  // DATA_CLASS_TENSOR
        EXPECT_EQ(metadata.integer, 2U);
      }
    }
  }
  EXPECT_EQ(plugin, event.texts.contains(tag) ? "text" : "") << tag;
}

EventRead read_event(std::string_view bytes) {
  EventRead event;
  for (const WireField& field : fields(bytes)) {
    switch (field.number) {
      case 1:
        event.time = field.real();
        break;
      case 2:
        event.step = static_cast<int64_t>(field.integer);
        break;
      case 3:
        event.version = field.bytes;
        break;
      case 5:
        for (const WireField& value : fields(field.bytes)) read_value(value.bytes, event);
        break;
      case 7:
        event.session_status = static_cast<int64_t>(fields(field.bytes).at(0).integer);
        break;
      default:
        ADD_FAILURE() << "no event of a run has the field " << field.number;
    }
  }
  return event;
}

}  // namespace

std::vector<EventRead> read_events(std::string_view file) {
  std::vector<EventRead> events;
  while (!file.empty()) {
    const std::string_view length_bytes = file.substr(0, 8);
    const auto length = take<uint64_t>(file);
    EXPECT_EQ(take<uint32_t>(file), checksum(length_bytes));
    if (length > file.size()) {
      ADD_FAILURE() << "a record of " << length << " bytes is cut";
      break;
    }
    const std::string_view data = file.substr(0, length);
    file.remove_prefix(length);
    EXPECT_EQ(take<uint32_t>(file), checksum(data));
    events.push_back(read_event(data));
  }
  return events;
}

}  // namespace qkv
