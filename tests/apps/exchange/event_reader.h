#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

// Reads event files by the definitions of TFRecord, protocol buffers, and TensorFlow's event.proto
// and summary.proto. It shares nothing with what writes them. Whatever does not fit fails the test.

struct HistogramRead {
  double min = 0, max = 0, count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits, counts;
};

struct EventRead {
  double time = 0;
  int64_t step = 0;
  std::string version;
  int64_t session_status = 0;
  std::map<std::string, float> scalars;
  std::map<std::string, HistogramRead> histograms;
  std::map<std::string, std::string> texts;
};

std::vector<EventRead> read_events(std::string_view file);

}  // namespace qkv
