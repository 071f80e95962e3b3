#pragma once

#include <stop_token>
#include <string>

#include "data/file.h"
#include "framework/core/clock.h"
#include "framework/core/text/terminal.h"

namespace qkv {

std::string format_duration(double seconds);  // "0.4 s", "42 s", "3 min 05 s", "2 h 10 min"
std::string format_percent(double share);     // "99.9 %", never rounded up to 100 %

// Tells a person on standard error how far the reading of data is: on a terminal on one line that
// is written over, elsewhere on a line every few seconds. Reading that takes less than a second
// prints nothing.
class ReadingProgress {
 public:
  // Must not be called after the end of this object.
  Wait wait(const std::stop_token& stop = {});

 private:
  void tell(const std::string& what, double share);

  ProgressLine line_{stderr};
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace qkv
