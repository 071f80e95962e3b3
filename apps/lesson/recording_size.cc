#include "apps/lesson/recording_size.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "apps/lesson/recording.h"
#include "framework/core/out_of_memory.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

constexpr int64_t kShort = 8;  // tokens: so few are recorded as they are

Array first_columns(const Array& rows, int64_t count) {
  return slice(Tensor(rows), 1, 0, std::min(count, rows.shape()[1])).array();
}

Batch shortened(const Batch& batch, int64_t length) {
  Batch result = batch;
  for (Array& input : result.inputs) input = first_columns(input, length);
  if (batch.targets.shape().rank() == 2) result.targets = first_columns(batch.targets, length);
  return result;
}

double bytes_of(const Tape& tape) {
  auto bytes = static_cast<double>(kBytesOfEntry * std::ssize(tape.ops));
  for (const TapeValue& value : tape.values) {
    bytes += static_cast<double>(kBytesOfEntry) + static_cast<double>(value.tensor.array().bytes());
  }
  return bytes;
}

}  // namespace

int64_t longest_input(const Batch& batch) {
  int64_t longest = 0;
  for (const Array& input : batch.inputs) {
    if (input.shape().rank() == 2) longest = std::max(longest, input.shape()[1]);
  }
  return longest;
}

double expected_bytes(const ModelOptions& options, const DataShape& data, const Batch& batch,
                      DataForm form) {
  const int64_t length = longest_input(batch);
  const auto with_layers = [&](int64_t layers) {
    ModelOptions small = options;
    small.num_layers = layers;
    const Model model(small, data, Initializer(RandomStream(0), DType::f64));
    const auto at = [&](int64_t n) {
      return bytes_of(record(model, n < length ? shortened(batch, n) : batch, form).tape);
    };
    if (length <= kShort) return at(length);
    // Newton's interpolation at n, n - 1 and n - 2.
    const double last = at(kShort), before = at(kShort - 1), first = at(kShort - 2);
    const double slope = last - before, bend = last - 2 * before + first;
    const auto more = static_cast<double>(length - kShort);
    return last + more * slope + more * (more + 1) / 2 * bend;
  };
  const double one = with_layers(1);
  if (options.num_layers == 1) return one;
  return one + static_cast<double>(options.num_layers - 1) * (with_layers(2) - one);
}

absl::Status check_memory(const ModelOptions& options, const DataShape& data, const Batch& batch,
                          DataForm form, bool as_text) {
  const double bytes = expected_bytes(options, data, batch, form);
  const auto needed = static_cast<uint64_t>(as_text ? 3 * bytes : bytes);
  const uint64_t available = available_memory();
  if (needed <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "all numbers of this model with ", options.num_layers,
      options.num_layers == 1 ? " layer" : " layers", " and ", longest_input(batch),
      " tokens take about ", describe_bytes(needed), " of memory, and ", describe_bytes(available),
      " are available; fewer layers or a shorter --prompt need less"));
}

}  // namespace qkv
