#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "models/model.h"

namespace qkv {

// The tokens of the longest input of a batch; 0 for images.
int64_t longest_input(const Batch& batch);

// An op or a value of a tape, without its numbers: measured, with 50 and with 200 layers.
inline constexpr int64_t kBytesOfEntry = 400;

// An upper bound of the bytes of record(model, batch, form) for a model of these options, told
// without making either. The size of a value is a polynomial in the length, of degree 2 (scores are
// T x T), and every layer after the first has as many; so three short recordings, each with one
// layer and with two, tell the size of a long and deep one.
double expected_bytes(const ModelOptions& options, const DataShape& data, const Batch& batch,
                      DataForm form);

// An error that says how much memory the recording would take where there is not so much. What
// becomes text needs more: a page is made of the recording, of a variant of it, and of their
// numbers as text.
absl::Status check_memory(const ModelOptions& options, const DataShape& data, const Batch& batch,
                          DataForm form, bool as_text);

}  // namespace qkv
