#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/config/train_options.h"

namespace qkv {

// A model and a batch that everybody can measure: the step is one of AdamW with clipping, on random
// data: tokens of a vocabulary of 65, or images of 10 classes.
struct BenchShape {
  std::string name;
  std::string kind = "decoder";  // of model
  int64_t num_layers, d_model, num_heads, d_ff;
  int64_t length = 0;         // T; where there is a source, of the target
  int64_t source_length = 0;  // Ts; 0: no source
  int64_t image_size = 0;     // height and width in pixels; 0: tokens are read
  int64_t batch_size;         // B

  std::string describe() const;  // "2 layers, d_model 64, 4 heads, d_ff 256, T 32, B 64"
};

// toy, small (nanoGPT's setting for a CPU), mini; seq2seq, an encoder-decoder; vit, a Vision
// Transformer.
const std::vector<BenchShape>& bench_shapes();

Config config_of(const BenchShape& shape);

// Batches of random tokens with random targets, or of random images with random classes. It has no
// validation part.
std::unique_ptr<Dataset> random_data(const BenchShape& shape, uint64_t seed);

}  // namespace qkv
