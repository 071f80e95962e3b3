#include "train/experiment.h"

namespace qkv {

DType precision_dtype(const TrainOptions& options) {
  return options.precision == "f64" ? DType::f64 : DType::f32;
}

Transformer make_model(const Config& config, int64_t vocabulary_size, int64_t max_length) {
  const RandomStream random = RandomStream(config.seed).derive("initialization");
  return Transformer(config.model, vocabulary_size, max_length,
                     Initializer(random, precision_dtype(config.train)));
}

}  // namespace qkv
