#include "train/folder/reading_progress.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace qkv {
namespace {

constexpr std::chrono::milliseconds kQuiet(1000), kOnTerminal(100);
constexpr std::chrono::seconds kElsewhere(5);

}  // namespace

std::string format_duration(double seconds) {
  const auto total = static_cast<int64_t>(std::ceil(seconds));
  const auto tenths = total == 1 ? static_cast<int64_t>(std::ceil(seconds * 10)) : 10;
  if (tenths < 10) return absl::StrCat("0.", tenths, " s");
  if (total < 60) return absl::StrCat(total, " s");
  if (total < 3600) return absl::StrFormat("%d min %02d s", total / 60, total % 60);
  return absl::StrFormat("%d h %02d min", total / 3600, total % 3600 / 60);
}

std::string format_percent(double share) {
  return absl::StrFormat("%.1f %%", std::floor(share * 1000.0 + 1e-9) / 10.0);
}

Wait ReadingProgress::wait(const std::stop_token& stop) {
  return {.tell = [this](const std::string& what, double share) { tell(what, share); },
          .stop = stop};
}

void ReadingProgress::tell(const std::string& what, double share) {
  const Clock::time_point now = Clock::now();
  const Clock::duration interval =
      line_.on_terminal() ? Clock::duration(kOnTerminal) : Clock::duration(kElsewhere);
  if (now - start_ < kQuiet || now - last_ < interval || share <= 0) return;
  last_ = now;
  const double spent = std::chrono::duration<double>(now - start_).count();
  const std::string text = absl::StrCat(what, ": ", format_percent(share), ", ",
                                        format_duration(spent / share - spent), " left");
  line_.on_terminal() ? line_.show(text) : line_.say(text);
}

}  // namespace qkv
