#include "train/run/reading_progress.h"

#include "absl/strings/str_cat.h"
#include "train/run/progress.h"

namespace qkv {
namespace {

constexpr std::chrono::milliseconds kQuiet(1000), kOnTerminal(100);
constexpr std::chrono::seconds kElsewhere(5);

}  // namespace

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
