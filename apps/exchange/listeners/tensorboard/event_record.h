#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qkv {

// The bytes of the event files that TensorBoard reads, from the public definitions:
//   a file    TFRecords, each the length of its data (u64), the masked CRC-32C of these bytes, the
//             data, and its masked CRC-32C (u32 each, little-endian)
//   data      an Event of tensorflow/core/util/event.proto, as a protocol buffer
//   a summary Summary.Value of tensorflow/core/framework/summary.proto, with the tag that is shown
std::string tf_record(std::string_view data);

// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
uint32_t crc32c(std::string_view bytes);

// The summary of one step.
class EventSummary {
 public:
  void add_scalar(std::string_view tag, double value);
  // 30 buckets of one width from the smallest number to the largest. Numbers that are not finite
  // are left out.
  void add_histogram(std::string_view tag, std::span<const double> numbers);
  void add_text(std::string_view tag, std::string_view markdown);

  const std::string& bytes() const { return values_; }

 private:
  void add_value(std::string_view value);

  std::string values_;
};

// `time` in seconds since 1970. The first event of a file; the one after which readers drop what
// they have of `step` and later ones; a summary.
std::string version_event(double time);
std::string start_event(double time, int64_t step);
std::string summary_event(double time, int64_t step, const EventSummary& summary);

}  // namespace qkv
