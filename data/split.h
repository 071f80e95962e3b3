#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace qkv {

enum class Split { kTraining, kValidation };

// The side on which an example falls: decided by a hash of its text alone, so that the two sides
// share no example whatever the seed, the machine or the order. A share of `train_fraction` of all
// texts falls on the training side.
Split side_of(std::string_view text, double train_fraction);

// The sides of the examples of files, by the hashes of their texts; equal texts are on one side.
// Where a class has at most kSmallClass different texts, these are shared out to the number: of all
// such classes together the rounded share validates, at least one text unless the fraction is 1,
// each class by its part, and each keeps one for training. A text of two classes counts for the
// first.
inline constexpr int64_t kSmallClass = 1000;
std::vector<Split> sides_of(std::span<const std::string_view> texts,
                            std::span<const int64_t> classes, double train_fraction);

}  // namespace qkv
