#include "apps/exchange/listeners/tensorboard/event_record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/exchange/protocol_buffer.h"

namespace qkv {
namespace {

constexpr size_t kBuckets = 30;

constexpr std::array<uint32_t, 256> kCrcOfByte = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    table[byte] = crc;
  }
  return table;
}();

ProtocolBuffer event(double time, int64_t step) {  // Event: wall_time = 1, step = 2
  ProtocolBuffer event;
  return event.add_double(1, time).add_integer(2, step);
}

uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8; }

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc = kCrcOfByte[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
  }
  return ~crc;
}

std::string tf_record(std::string_view data) {
  ProtocolBuffer length, length_crc, data_crc;
  length.add_little_endian<uint64_t>(data.size());
  length_crc.add_little_endian(masked_crc32c(length.bytes()));
  data_crc.add_little_endian(masked_crc32c(data));
  return absl::StrCat(length.bytes(), length_crc.bytes(), std::string(data), data_crc.bytes());
}

void EventSummary::add_value(std::string_view value) {  // Summary: value = 1
  values_ += ProtocolBuffer().add_bytes(1, value).bytes();
}

void EventSummary::add_scalar(std::string_view tag, double value) {
  ProtocolBuffer scalar;  // Value: tag = 1, simple_value = 2
  add_value(scalar.add_bytes(1, tag).add_float(2, static_cast<float>(value)).bytes());
}

void EventSummary::add_histogram(std::string_view tag, std::span<const double> numbers) {
  double low = INFINITY, high = -INFINITY, count = 0, sum = 0, sum_of_squares = 0;
  for (const double x : numbers) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
    count += 1;
    sum += x;
    sum_of_squares += x * x;
  }
  if (count == 0) return;
  const double width = (high - low) / kBuckets;
  const bool is_divided = width > 0 && std::isfinite(width);
  std::vector<double> limits, counts(is_divided ? kBuckets : 1);
  for (size_t i = 1; i < counts.size(); ++i) limits.push_back(low + width * static_cast<double>(i));
  limits.push_back(high);
  for (const double x : numbers) {
    if (!std::isfinite(x)) continue;
    const auto bucket = is_divided ? static_cast<size_t>((x - low) / width) : 0;
    counts[std::min(bucket, counts.size() - 1)] += 1;
  }
  ProtocolBuffer histogram, value;
  // HistogramProto: min = 1, max = 2, num = 3, sum = 4, sum_squares = 5, bucket_limit = 6, bucket =
  // 7
  histogram.add_double(1, low).add_double(2, high).add_double(3, count).add_double(4, sum);
  histogram.add_double(5, sum_of_squares).add_doubles(6, limits).add_doubles(7, counts);
  add_value(value.add_bytes(1, tag).add_bytes(5, histogram.bytes()).bytes());  // histo = 5
}

void EventSummary::add_text(std::string_view tag, std::string_view markdown) {
  constexpr int64_t kString = 7;  // DT_STRING
  ProtocolBuffer plugin, metadata, tensor, value;
  plugin.add_bytes(1, "text");                              // PluginData: plugin_name = 1
  metadata.add_bytes(1, plugin.bytes()).add_integer(4, 2);  // data_class = 4: a tensor
  tensor.add_integer(1, kString).add_bytes(2, "");          // dtype = 1, tensor_shape = 2: scalar
  tensor.add_bytes(8, markdown);                            // string_val = 8
  value.add_bytes(1, tag).add_bytes(8, tensor.bytes()).add_bytes(9, metadata.bytes());
  add_value(value.bytes());
}

std::string version_event(double time) {  // file_version = 3
  return event(time, 0).add_bytes(3, "brain.Event:2").bytes();
}

std::string start_event(double time, int64_t step) {
  ProtocolBuffer log;  // SessionLog: status = 1: START
  return event(time, step).add_bytes(7, log.add_integer(1, 1).bytes()).bytes();
}

std::string summary_event(double time, int64_t step, const EventSummary& summary) {
  return event(time, step).add_bytes(5, summary.bytes()).bytes();
}

}  // namespace qkv
