#include <algorithm>

#include "framework/io/files.h"
#include "framework/io/safetensors.h"
#include "framework/io/safetensors_header.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"
#include "train/folder/checkpoint.h"
#include "train/folder/metrics.h"

namespace qkv {
namespace {

bool same(const TensorEntry& a, const TensorEntry& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.begin == b.begin &&
         a.end == b.end;
}

bool same(const std::vector<TensorEntry>& a, const std::vector<TensorEntry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TensorEntry& x, const TensorEntry& y) { return same(x, y); });
}

// The second writing is compared with the first: writing sorts by the width of the types.
void require_same_when_written(const TensorFile& file) {
  static const ScratchFile first("written"), second("written-again");
  const absl::Status written = write_safetensors(first.path(), file);
  require(written.ok(), "what was read can be written", written.ToString());
  const absl::StatusOr<TensorFile> again = read_safetensors(first.path());
  require(again.ok(), "what was written can be read", again.status().ToString());
  require(again->metadata == file.metadata, "the metadata is the same when read again");
  require(write_safetensors(second.path(), *again).ok() &&
              *read_regular_file(first.path()) == *read_regular_file(second.path()),
          "a file that is read and written is the same");
}

std::string file_of(std::string_view input) {
  if (!input.starts_with('{')) return std::string(input);
  const std::string_view json = input.substr(0, input.find('\0'));
  const uint64_t length = json.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += json;
  if (json.size() < input.size()) bytes += input.substr(json.size() + 1);
  return bytes;
}

// The JSON of a safetensors file: what is understood reads back the same once it is written.
void fuzz_safetensors_header(std::string_view input) {
  const absl::StatusOr<TensorFileHeader> header = parse_safetensors_header(input);
  if (!header.ok()) return require_good_message(header.status());
  const absl::StatusOr<std::string> json = safetensors_header_json(*header);
  require(json.ok(), "a header that was read can be written", json.status().ToString());
  const absl::StatusOr<TensorFileHeader> again = parse_safetensors_header(*json);
  require(again.ok(), "a header that was written can be read", again.status().ToString());
  require(again->metadata == header->metadata && same(again->tensors, header->tensors),
          "a header is the same when read again", *json);
}
const bool kSafetensorsHeaderIsAdded =
    add_fuzz_target({"safetensors_header", fuzz_safetensors_header});

// A whole safetensors file, as tensors and as a checkpoint. An input that begins with { is JSON up
// to its first NUL, then data: the header's length is put before it.
void fuzz_safetensors_body(std::string_view input) {
  static const ScratchFile file("safetensors");
  file.write(file_of(input));
  const std::string start = file.path() + ": ", config = file.path() + " (config):";

  const absl::StatusOr<TensorFileHeader> header = read_safetensors_header(file.path());
  const absl::StatusOr<TensorFile> tensors = read_safetensors(file.path());
  const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(file.path());
  if (!header.ok()) require_good_message(header.status(), {start});
  if (!tensors.ok()) require_good_message(tensors.status(), {start});
  if (!checkpoint.ok()) require_good_message(checkpoint.status(), {start, config});
  require(header.ok() || !tensors.ok(), "tensors are read behind a good header only");
  require(tensors.ok() || !checkpoint.ok(), "a checkpoint is a safetensors file");
  if (tensors.ok()) require_same_when_written(*tensors);
  if (!checkpoint.ok()) return;
  const absl::StatusOr<Model> model = restore_model(file.path(), *checkpoint);
  if (!model.ok()) require_good_message(model.status(), {start});
}
const bool kSafetensorsBodyIsAdded = add_fuzz_target({"safetensors_body", fuzz_safetensors_body});

void require_same_from_its_own_json(const Metrics& metrics) {
  const std::string json = metrics_to_json(metrics);
  const absl::StatusOr<Metrics> again = metrics_from_json(json);
  require(again.ok(), "metrics that were written can be read", json);
  require(metrics_to_json(*again) == json, "metrics are the same when read again", json);
}

// Cutting after `last_step` leaves a beginning of the file: whole lines of no later step.
void require_good_cut(const ScratchFile& file, std::string_view input, int64_t last_step) {
  const absl::Status cut = cut_metrics(file.path(), last_step);
  const std::string left = *read_regular_file(file.path());
  if (!cut.ok()) {
    require_good_message(cut, {file.path() + ":"});
    require(left == input, "a cut that fails leaves the file alone");
    return;
  }
  require(input.starts_with(left) && (left.empty() || left.back() == '\n'),
          "a cut leaves whole lines", left);
  if (left == input) return;
  const absl::StatusOr<std::vector<Metrics>> kept = read_metrics(file.path());
  require(kept.ok(), "what a cut leaves can be read", kept.status().ToString());
  require(std::ranges::all_of(*kept, [&](const Metrics& m) { return m.step <= last_step; }),
          "a cut leaves no later step");
}

// A metrics.jsonl, read, and cut for a resume after one of its steps.
void fuzz_metrics(std::string_view input) {
  static const ScratchFile file("metrics.jsonl");
  file.write(input);
  const absl::StatusOr<std::vector<Metrics>> lines = read_metrics(file.path());
  if (!lines.ok()) require_good_message(lines.status(), {file.path() + ":"});
  int64_t last_step = 100;
  if (lines.ok() && !lines->empty()) {
    require(std::ranges::all_of(*lines, [](const Metrics& m) { return m.step >= 0; }),
            "a step is a number of steps");
    require_same_from_its_own_json(lines->back());
    last_step = (*lines)[lines->size() / 2].step;
  }
  require_good_cut(file, input, last_step);
}
const bool kMetricsIsAdded = add_fuzz_target({"metrics", fuzz_metrics});

}  // namespace
}  // namespace qkv
