// The task `hold`, whose sequences ask many times.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/data/rows.h"

namespace qkv {
namespace {

// A row of `hold`: each symbol is asked for at the next =. Returns how far before that it stands.
std::set<int64_t> distances_of(const Dataset& dataset, const Row& row) {
  const std::vector<std::string> inputs = words_of(dataset, row.inputs);
  EXPECT_EQ(inputs.back(), "=");
  std::set<int64_t> distances;
  std::string symbol;
  int64_t distance = 0;
  for (size_t t = 0; t < inputs.size(); ++t) {
    ++distance;
    EXPECT_EQ(row.wanted[t], inputs[t] == "=" ? symbol : "") << row.inputs << " at " << t;
    if (inputs[t] == "=") distances.insert(distance);
    if (inputs[t] == "." || inputs[t] == "=") continue;
    symbol = inputs[t];
    distance = 0;
  }
  return distances;
}

TEST(HoldTest, EverySymbolIsAskedForAtTheNextSign) {
  DataOptions options;
  options.task = "hold";
  options.length = 40;
  options.distance = 12;
  options.alphabet = 26;
  options.validation_examples = 20;
  const auto dataset = dataset_of(options);
  for (const Row& row : rows_of(*dataset, dataset->validation_batch(0, 20))) {
    EXPECT_EQ(distances_of(*dataset, row), std::set<int64_t>{12});
  }
  std::set<int64_t> in_training;
  for (const Row& row : rows_of(*dataset, dataset->training_batch(0, 50))) {
    in_training.merge(distances_of(*dataset, row));
  }
  EXPECT_EQ(in_training.size(), 12u);
  EXPECT_EQ(*in_training.begin(), 1);
  EXPECT_EQ(*in_training.rbegin(), 12);
}

}  // namespace
}  // namespace qkv
