#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "models/model.h"

namespace qkv {

// The tokens of the longest input of a batch; 0 for images.
int64_t longest_input(const Batch& batch);

// An upper bound of the bytes of all values of record(model, batch, form), told without making it:
// the size of each value is a polynomial in the length, of degree 2 (scores are T x T), so three
// short recordings tell the size of a long one. Of a short batch, and of an image, it is the size
// of the parameters and their gradients.
int64_t expected_bytes(const Model& model, const Batch& batch, DataForm form);

// An error that says how much memory the recording would take where there is not so much. What
// becomes text needs more: a page is made of the recording, of a variant of it, and of their
// numbers as text.
absl::Status check_memory(const Model& model, const Batch& batch, DataForm form, bool as_text);

}  // namespace qkv
