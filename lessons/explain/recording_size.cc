#include "lessons/explain/recording_size.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/available_memory.h"
#include "framework/core/out_of_memory.h"
#include "framework/ops/ops.h"
#include "lessons/explain/recording.h"

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

int64_t bytes_of(const Tape& tape) {
  int64_t bytes = 0;
  for (const TapeValue& value : tape.values) {
    bytes += static_cast<int64_t>(value.tensor.array().bytes());
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

int64_t expected_bytes(const Model& model, const Batch& batch, DataForm form) {
  const int64_t length = longest_input(batch);
  const int64_t of_parameters = 2 * 8 * parameter_count(parameters(model));  // in f64
  if (length <= kShort) return of_parameters;
  const auto at = [&](int64_t n) {
    return bytes_of(record(model, shortened(batch, n), form).tape);
  };
  // Newton's interpolation at n, n - 1 and n - 2.
  const int64_t last = at(kShort), before = at(kShort - 1), first = at(kShort - 2);
  const int64_t slope = last - before, bend = last - 2 * before + first, more = length - kShort;
  return last + more * slope + more * (more + 1) / 2 * bend;
}

absl::Status check_memory(const Model& model, const Batch& batch, DataForm form, bool as_text) {
  const auto bytes = static_cast<uint64_t>(expected_bytes(model, batch, form));
  const uint64_t needed = as_text ? 3 * bytes : bytes;
  const uint64_t available = available_memory();
  if (needed <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("all numbers of this model and ", longest_input(batch), " tokens take about ",
                   describe_bytes(needed), " of memory, and ", describe_bytes(available),
                   " are available; a shorter --prompt needs less"));
}

}  // namespace qkv
