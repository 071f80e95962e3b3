#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/graph/tensor.h"

namespace qkv {

// The keys and values of the tokens that a causal model has read so far. They don't depend on the
// tokens after them, so that one more token costs one position, and not all of them again. Give it
// to every pass in ForwardContext, under NoGrad, with the tokens that are new. It belongs to one
// model and to one batch of sequences.
class KeyValueCache {
 public:
  int64_t length() const { return layers_.empty() ? 0 : layers_[0].key.dim(1); }  // tokens read

  // Takes the key and value [B, T, C] of new tokens in attention layer number `layer`, counted in
  // the order of the pass, and gives back those of all tokens, the first ones first.
  void extend(size_t layer, Tensor& key, Tensor& value);

 private:
  struct Layer {
    Tensor key, value;  // [B, tokens read, C]
  };

  std::vector<Layer> layers_;
};

}  // namespace qkv
