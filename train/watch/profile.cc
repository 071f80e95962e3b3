#include "train/watch/profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/core/text/columns.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

constexpr std::string_view kForward = "forward", kBackward = "backward", kRest = "rest";

// The least that an op reads and writes.
double bytes_moved(const Inputs& x, const Array& y) {
  auto bytes = static_cast<double>(y.bytes());
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].raw() == y.raw()) return 0;  // the same storage under another shape
    bytes += static_cast<double>(x[i].bytes());
  }
  return bytes;
}

std::string label(std::string_view within, std::string_view name) {
  return within.empty() ? std::string(name) : std::string(within) + ": " + std::string(name);
}

constexpr int64_t kWarmUp = 5, kSteps = 10;

}  // namespace

Profiler::Profiler(bool keep_trace) : keep_trace_(keep_trace) {}

Tensor Profiler::forward(const std::shared_ptr<Op>& op, TensorSpan x) {
  const bool derivative = std::ranges::any_of(frames_, [](const Frame& frame) {
    return frame.part == kBackward || frame.name == "backward";
  });
  open(derivative ? kBackward : kForward, op->name());
  Tensor y = next(op, x);
  close(bytes_moved(Inputs(x), y.array()));
  return y;
}

std::vector<Tensor> Profiler::backward(const Op& op, const Saved& saved, const Tensor& dy) {
  open(kBackward, op.name());
  std::vector<Tensor> dx = next(op, saved, dy);
  double bytes = 0;
  if (!frames_.back().called_ops) {  // a derivative that one kernel computes
    bytes += static_cast<double>(dy.array().bytes());
    for (const Tensor& x : dx) {
      if (x.array().raw() != dy.array().raw()) bytes += static_cast<double>(x.array().bytes());
    }
  }
  close(bytes);
  return dx;
}

void Profiler::before_section(std::string_view name) { open(kRest, name); }

void Profiler::after_section(std::string_view) { close(0); }

void Profiler::open(std::string_view part, std::string_view name) {
  Frame frame;
  frame.part = part;
  frame.name = name;
  if (!frames_.empty() && frames_.back().part == kBackward) {
    Frame& outer = frames_.back();
    outer.called_ops = true;
    frame.within = outer.within.empty() ? outer.name : outer.within;
  }
  frame.flops_before = products_.flops();
  frame.start = Clock::now();
  frames_.push_back(frame);
}

void Profiler::close(double bytes) {
  const Clock::time_point now = Clock::now();
  const Frame frame = frames_.back();
  const bool counts = frames_.front().part == kRest;
  frames_.pop_back();
  if (!counts) return;
  const Clock::duration whole = now - frame.start;
  const double flops = products_.flops() - frame.flops_before;
  if (!frames_.empty()) {
    frames_.back().inner += whole;
    frames_.back().inner_flops += flops;
  }
  ProfileRow& row = rows_[{frame.part, frame.within, frame.name}];
  if (row.calls++ == 0) {
    row.part = frame.part;
    row.name = label(frame.within, frame.name);
  }
  row.ms += std::chrono::duration<double, std::milli>(whole - frame.inner).count();
  row.bytes += bytes;
  row.flops += flops - frame.inner_flops;
  if (!keep_trace_) return;
  using Microseconds = std::chrono::duration<double, std::micro>;
  trace_.push_back({.name = std::string(frame.name),
                    .category = std::string(frame.part),
                    .scope = Scope::current(),
                    .start_us = Microseconds(frame.start - start_).count(),
                    .duration_us = Microseconds(whole).count()});
}

std::vector<ProfileRow> Profiler::rows() const {
  std::vector<ProfileRow> rows;
  for (const auto& [key, row] : rows_) rows.push_back(row);
  std::ranges::stable_sort(rows, std::greater(), &ProfileRow::ms);
  return rows;
}

std::string profile_table(const std::vector<ProfileRow>& rows, int64_t steps) {
  double total = 0;
  for (const ProfileRow& row : rows) total += row.ms;
  std::vector<std::vector<std::string>> lines = {
      {"part", "op", "ms", "share", "calls", "GB/s", "GFLOP/s"}};
  const auto per_second = [](double count, double ms) { return ms > 0 ? count / ms * 1e-6 : 0; };
  const auto each = [steps](double value) { return value / static_cast<double>(steps); };
  for (const ProfileRow& row : rows) {
    const auto decimal = [](double x) { return absl::StrFormat("%.1f", x); };
    lines.push_back({row.part, row.name, absl::StrFormat("%.3f", each(row.ms)),
                     absl::StrFormat("%.1f %%", total > 0 ? 100 * row.ms / total : 0.0),
                     decimal(each(static_cast<double>(row.calls))),
                     decimal(per_second(row.bytes, row.ms)),
                     decimal(per_second(row.flops, row.ms))});
  }
  return absl::StrFormat("%s%.3f ms per step, with the profiler on\n", aligned(lines, {.left = 2}),
                         each(total));
}

std::string chrome_trace(const std::vector<TraceEvent>& events) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TraceEvent& event : events) {
    list.push_back({{"name", event.name},
                    {"cat", event.category},
                    {"ph", "X"},  // a complete event: it has a start and a duration
                    {"ts", event.start_us},
                    {"dur", event.duration_us},
                    {"pid", 1},
                    {"tid", 1},
                    {"args", {{"scope", event.scope}}}});
  }
  return nlohmann::ordered_json{{"traceEvents", std::move(list)}, {"displayTimeUnit", "ms"}}.dump();
}

RunProfile::RunProfile(const RunFolder& folder, int64_t steps)
    : profile_path_(folder.profile()),
      trace_path_(folder.trace()),
      first_(std::clamp<int64_t>(steps - kSteps, 0, kWarmUp)),
      last_(first_ + std::min(steps - first_, kSteps)) {}

void RunProfile::before_step() {
  if (made_ == first_) profiler_.emplace(/*keep_trace=*/true);
}

absl::Status RunProfile::after_step() {
  if (complete()) return absl::OkStatus();
  ++made_;
  if (!complete()) return absl::OkStatus();
  absl::Status status = write();
  profiler_.reset();
  return status;
}

absl::Status RunProfile::write() const {
  RETURN_IF_ERROR(
      write_file_atomically(profile_path_, profile_table(profiler_->rows(), last_ - first_)));
  return write_file_atomically(trace_path_, chrome_trace(profiler_->trace()));
}

std::string RunProfile::describe() const {
  return absl::StrCat("wrote the time of each op in ", last_ - first_, " steps to ", profile_path_,
                      ", and a trace for chrome://tracing or ui.perfetto.dev to ", trace_path_);
}

}  // namespace qkv
