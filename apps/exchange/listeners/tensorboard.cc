// `train.tensorboard`: what a run tells of its steps, in a file of its folder that TensorBoard
// reads: every number of metrics.jsonl as a scalar; after an evaluation also a histogram of each
// parameter that was evaluated, and the samples as a text.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "apps/exchange/listeners/tensorboard/event_record.h"
#include "framework/core/status.h"
#include "framework/io/files.h"
#include "train/watch/run_listener.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "events.out.tfevents.", kSuffix[] = ".qkv";

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Readers take the files in the order of their names: the second it is now, or the one after that
// of the last file.
std::string name_of_next(const std::string& folder) {
  auto second = static_cast<int64_t>(now());
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename();
    absl::string_view number(name);
    int64_t taken = 0;
    if (absl::ConsumePrefix(&number, kPrefix) && absl::ConsumeSuffix(&number, kSuffix) &&
        absl::SimpleAtoi(number, &taken)) {
      second = std::max(second, taken + 1);
    }
  }
  return absl::StrFormat("%s%010d%s", kPrefix, second, kSuffix);
}

// Markdown that is shown as it is, line by line.
std::string as_code(const std::string& text) {
  return absl::StrCat("    ", absl::StrReplaceAll(text, {{"\n", "\n    "}}));
}

class EventFile final : public RunListener {
 public:
  // Readers take the new file after those that are in the folder; and of these they drop the steps
  // from the first one on.
  absl::Status begin(const std::string& folder, int64_t first_step) override {
    ASSIGN_OR_RETURN(AppendFile file, AppendFile::open(fs::path(folder) / name_of_next(folder)));
    file_.emplace(std::move(file));
    const double time = now();
    return file_->append_bytes(
        absl::StrCat(tf_record(version_event(time)), tf_record(start_event(time, first_step))));
  }

  absl::Status record(const StepReport& step, const Model& model) override {
    EventSummary summary;
    for (const auto& [name, number] : metrics_numbers(step.metrics)) {
      summary.add_scalar(name, number);
    }
    if (step.evaluated) {
      for (const auto& [name, tensor] : parameters(model)) {
        summary.add_histogram(absl::StrCat("weights/", name), tensor.to_vector());
      }
      summary.add_text("samples", as_code(step.samples));
    }
    return file_->append_bytes(tf_record(summary_event(now(), step.metrics.step, summary)));
  }

  absl::Status flush() override { return file_ ? file_->flush() : absl::OkStatus(); }

 private:
  std::optional<AppendFile> file_;
};

}  // namespace

std::unique_ptr<RunListener> tensorboard_listener(const Config& config) {
  return config.train.tensorboard ? std::make_unique<EventFile>() : nullptr;
}

}  // namespace qkv
