#include "train/run/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "framework/core/utf8.h"

namespace qkv {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval(100);
constexpr std::chrono::seconds kPlainInterval(5);

size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

std::string accuracy_text(const Metrics& m) {
  if (!m.val_sequence_accuracy) return "";
  std::string text = absl::StrCat("  right: val ", format_percent(*m.val_sequence_accuracy));
  if (m.train_sequence_accuracy) {
    absl::StrAppend(&text, ", train ", format_percent(*m.train_sequence_accuracy));
  }
  return text;
}

}  // namespace

std::string format_duration(double seconds) {
  const auto total = static_cast<int64_t>(std::ceil(seconds));
  if (total < 60) return absl::StrCat(total, " s");
  if (total < 3600) return absl::StrFormat("%d min %02d s", total / 60, total % 60);
  return absl::StrFormat("%d h %02d min", total / 3600, total % 3600 / 60);
}

std::string format_percent(double share) {
  return absl::StrFormat("%.1f %%", std::floor(share * 1000.0 + 1e-9) / 10.0);
}

Progress::Progress(int64_t first_step, int64_t total_steps, std::string unit)
    : terminal_(isatty(STDOUT_FILENO) == 1),
      first_step_(first_step),
      total_steps_(total_steps),
      unit_(std::move(unit)),
      start_(Clock::now()),
      last_print_(start_) {}

Progress::~Progress() { clear_line(); }

std::string Progress::status_line(const Metrics& m) const {
  std::string line = absl::StrFormat("step %d/%d", m.step, total_steps_);
  if (m.loss) absl::StrAppendFormat(&line, "  loss %.4f", *m.loss);
  if (m.learning_rate) absl::StrAppendFormat(&line, "  lr %.2e", *m.learning_rate);
  if (m.grad_norm) absl::StrAppendFormat(&line, "  grad norm %.2f", *m.grad_norm);
  if (m.tokens_per_second) {
    absl::StrAppendFormat(&line, "  %.0f %s/s", *m.tokens_per_second, unit_);
  }
  const int64_t made = m.step - first_step_;
  if (made > 0 && m.step < total_steps_) {
    const std::chrono::duration<double> spent = Clock::now() - start_;
    const double left =
        spent.count() / static_cast<double>(made) * static_cast<double>(total_steps_ - m.step);
    absl::StrAppend(&line, "  ", format_duration(left), " left");
  }
  return line;
}

void Progress::clear_line() {
  if (line_shown_) std::fputs("\r\x1b[K", stdout);
  line_shown_ = false;
}

void Progress::report(const StepReport& step) {
  if (step.evaluated) {
    show_evaluation(step.metrics);
    say(step.samples);
  } else {
    show_step(step.metrics);
  }
}

void Progress::show_step(const Metrics& metrics) {
  const Clock::time_point now = Clock::now();
  if (now - last_print_ < (terminal_ ? Clock::duration(kTerminalInterval) : kPlainInterval)) return;
  last_print_ = now;
  const std::string line = status_line(metrics);
  if (terminal_) {
    std::printf("\r\x1b[K%s", line.substr(0, terminal_width() - 1).c_str());
    line_shown_ = true;
  } else {
    std::printf("%s\n", line.c_str());
  }
  std::fflush(stdout);
}

void Progress::show_evaluation(const Metrics& m) {
  const std::string validation =
      m.val_loss ? absl::StrFormat("  val loss %.4f", *m.val_loss) : std::string();
  say(absl::StrCat(status_line(m), validation, accuracy_text(m)));
  last_print_ = Clock::now();
}

void Progress::say(const std::string& text) {
  clear_line();
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) std::printf("%s\n", printable(line).c_str());
  std::fflush(stdout);
}

}  // namespace qkv
