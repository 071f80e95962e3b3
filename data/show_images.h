#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/draw_image.h"
#include "data/split.h"

namespace qkv {

// The first `count` images of a split side by side, each over the name of its class. At most 80
// characters wide. Images in colour are drawn in grey.
std::string describe_images(const Dataset& dataset, Split split, int64_t count, Colours colours);

// The same as a PNG, in colour where they have some: a grid of about as many rows as columns, the
// images enlarged where they are small. Returns the names of the classes, a line for each row. The
// data set has images.
absl::StatusOr<std::string> write_contact_sheet(const Dataset& dataset, Split split, int64_t count,
                                                const std::string& path);

}  // namespace qkv
