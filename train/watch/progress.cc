#include "train/watch/progress.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "framework/core/text/columns.h"
#include "train/folder/reading_progress.h"

namespace qkv {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval(100);
constexpr std::chrono::seconds kPlainInterval(5);

// The parts that fit into a line, in their order; the most important of them are kept.
struct StatusPart {
  std::string text;
  int importance;  // 0: the most
};
std::string fitted(std::vector<StatusPart> parts, int64_t columns) {
  while (true) {
    std::string line;
    for (const StatusPart& part : parts) line += part.text;
    if (text_width(line) <= columns || parts.size() == 1) return line;
    parts.erase(std::ranges::max_element(parts, {}, &StatusPart::importance));
  }
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

Progress::Progress(int64_t first_step, int64_t total_steps, std::string unit, std::FILE* output)
    : line_(output),
      first_step_(first_step),
      total_steps_(total_steps),
      unit_(std::move(unit)),
      start_(Clock::now()),
      last_print_(start_) {}

std::string Progress::step_text(const Metrics& m) const {
  std::string text = absl::StrFormat("step %d/%d", m.step, total_steps_);
  if (m.loss) absl::StrAppendFormat(&text, "  loss %.4f", *m.loss);
  return text;
}

std::string Progress::status_line(const Metrics& m) const {
  std::vector<StatusPart> parts = {{step_text(m), 0}};
  if (m.learning_rate) parts.push_back({absl::StrFormat("  lr %.2e", *m.learning_rate), 3});
  if (m.grad_norm) parts.push_back({absl::StrFormat("  grad norm %.2f", *m.grad_norm), 4});
  if (m.tokens_per_second) {
    parts.push_back({absl::StrFormat("  %.0f %s/s", *m.tokens_per_second, unit_), 2});
  }
  const int64_t made = m.step - first_step_;
  if (m.step < total_steps_) {
    const std::chrono::duration<double> spent = Clock::now() - start_;
    const double left =
        spent.count() / static_cast<double>(made) * static_cast<double>(total_steps_ - m.step);
    parts.push_back({absl::StrCat("  ", format_duration(left), " left"), 1});
  }
  return fitted(std::move(parts), line_.columns() - 1);
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
  const bool on_terminal = line_.on_terminal();
  if (now - last_print_ < (on_terminal ? Clock::duration(kTerminalInterval) : kPlainInterval))
    return;
  last_print_ = now;
  if (on_terminal) {
    line_.show(status_line(metrics));
  } else {
    line_.say(status_line(metrics));
  }
}

void Progress::evaluating(const std::string& what) {
  const Clock::time_point now = Clock::now();
  if (now - last_print_ < kTerminalInterval) return;
  last_print_ = now;
  line_.show(what);
}

void Progress::show_evaluation(const Metrics& m) {
  const std::string validation =
      m.val_loss ? absl::StrFormat("  val loss %.4f", *m.val_loss) : std::string();
  say(absl::StrCat(step_text(m), validation, accuracy_text(m)));
  last_print_ = Clock::now();
}

void Progress::say(const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    line_.say({line.data(), line.size()});
  }
}

}  // namespace qkv
