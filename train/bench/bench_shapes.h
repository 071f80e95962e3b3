#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/config/options.h"

namespace qkv {

// A model and a batch that everybody can measure: the step is one of AdamW with clipping, on random
// tokens of a vocabulary of 65.
struct BenchShape {
  std::string name;
  int64_t num_layers, d_model, num_heads, d_ff;
  int64_t length, batch_size;  // T, B

  std::string describe() const;  // "2 layers, d_model 64, 4 heads, d_ff 256, T 32, B 64"
};

// toy, small (nanoGPT's setting for a CPU), mini.
const std::vector<BenchShape>& bench_shapes();

Config config_of(const BenchShape& shape);

// Batches of `length` random tokens with random targets. It has no validation part.
std::unique_ptr<Dataset> random_tokens(int64_t length, uint64_t seed);

}  // namespace qkv
