#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "data/split.h"
#include "framework/core/status.h"

namespace qkv {

// How images are drawn in a terminal: with characters that are darker or brighter, or with 256 or
// all colours, as the terminal can.
enum class Colours { kNone, k256, kAll };

// The first `count` images of a split as a PNG, in colour where they have some: a grid of about as
// many rows as columns, the images enlarged where they are small. Returns the names of the classes,
// a line for each row. The data set has images.
absl::StatusOr<std::string> write_contact_sheet(const Dataset& dataset, Split split, int64_t count,
                                                const std::string& path);

// Facts on a data set, one a line: its vocabulary, its lengths, its sizes. Not `all`: the first
// tokens and classes.
std::string describe_dataset(const Dataset& dataset, bool all = true);

// `count` examples of a split, one a line, as a model sees them in a batch, and where the loss is:
//   3141592653=3562951413   loss on: 3562951413
// Fewer when the split has fewer. Images are drawn, over the names of their classes.
std::string describe_examples(const Dataset& dataset, Split split, int64_t count,
                              Colours colours = Colours::kNone);

}  // namespace qkv
