#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "data/draw_image.h"
#include "data/split.h"

namespace qkv {

// What a data set is, a fact a line: its vocabulary, its lengths, its sizes. Not `all`: the first
// tokens and classes.
std::string describe_dataset(const Dataset& dataset, bool all = true);

// `count` examples of a split, one a line, as a model sees them in a batch, and where the loss is:
//   3141592653=3562951413   loss on: 3562951413
// Fewer when the split has fewer. Images are drawn, over the names of their classes.
std::string describe_examples(const Dataset& dataset, Split split, int64_t count,
                              Colours colours = Colours::kNone);

}  // namespace qkv
