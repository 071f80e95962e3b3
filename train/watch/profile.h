#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "framework/core/clock.h"
#include "framework/core/status.h"
#include "framework/graph/middleware.h"
#include "framework/kernels/product/product_log.h"
#include "train/folder/run_folder.h"
#include "train/watch/run_listener.h"

namespace qkv {

// The cost of one kind of work, over all its calls.
struct ProfileRow {
  std::string part;  // "forward", "backward", or "rest": outside of ops
  // The op, or the section of the rest. In the backward, "linear: matmul" is the matmul within the
  // derivative of linear.
  std::string name;
  int64_t calls = 0;
  double ms = 0;  // its own, without what it calls: the rows add up to the whole
  // Bytes read and written, as far as the graph shows: inputs and output, each once; 0 for ops that
  // only change the shape.
  double bytes = 0;
  double flops = 0;  // of matrix products (kernels/product_log.h)
};

// One call, for a timeline of a step.
struct TraceEvent {
  std::string name, category;  // "linear", "forward"
  std::string scope;           // the place in the model
  double start_us = 0, duration_us = 0;
};

// Measures, while it exists, the time of every section of its thread and of every op within a
// section, such as a training step, so that evaluations in between do not count. Reading the clock
// slows a step down a little (some tens of nanoseconds per call): steps that are timed as a whole
// run without it.
class Profiler final : public Middleware {
 public:
  explicit Profiler(bool keep_trace = false);

  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override;
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override;
  void before_section(std::string_view name) override;
  void after_section(std::string_view name) override;

  std::vector<ProfileRow> rows() const;                            // the costliest first
  const std::vector<TraceEvent>& trace() const { return trace_; }  // in the order they ended

 private:
  struct Frame {
    std::string_view part, name;
    std::string_view within;  // the op whose derivative this is a part of, or ""
    bool called_ops = false;
    Clock::time_point start;
    Clock::duration inner{};  // in what it called
    double flops_before = 0, inner_flops = 0;
  };

  void open(std::string_view part, std::string_view name);
  void close(double bytes);

  bool keep_trace_;
  Clock::time_point start_ = Clock::now();
  kernels::ProductLog products_;
  std::vector<Frame> frames_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, ProfileRow> rows_;
  std::vector<TraceEvent> trace_;
};

// A table, each row divided by `steps`: the profile of one step.
std::string profile_table(const std::vector<ProfileRow>& rows, int64_t steps);

// For chrome://tracing and Perfetto: an object with "traceEvents".
std::string chrome_trace(const std::vector<TraceEvent>& events);

// `train --profile`: looks at some steps of a run, and writes where their time went to profile.txt
// and trace.json in the run's folder. The first steps, which ask the system for memory, are left
// out where there are enough.
class RunProfile final : public RunListener {
 public:
  // `steps` are still to be made.
  RunProfile(const RunFolder& folder, int64_t steps);

  void before_step() override;
  absl::Status after_step() override;  // writes the files after the last step it looks at

  bool complete() const { return made_ == last_; }
  std::string describe() const;  // for a person, when it is complete

 private:
  absl::Status write() const;

  std::string profile_path_, trace_path_;
  int64_t first_,
      last_;  // it looks at steps first_ … last_ - 1, counted from the start of this run
  int64_t made_ = 0;
  std::optional<Profiler> profiler_;
};

}  // namespace qkv
