#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "framework/graph/tensor.h"

namespace qkv {

struct KeysAndValues {
  Tensor keys, values;  // [B, T, C]
};

// What the layers of a model keep of the tokens that it has read so far, and of the source that it
// attends to, so that one more token costs one position, and not all of them again. Only what does
// not depend on the tokens to come can be kept: under a causal mask the tokens, and in any case the
// source. Without a causal mask layers keep no tokens: length() stays 0, and the model reads all of
// them in every pass. Give the cache to every pass in ForwardContext, under NoGrad, with the tokens
// from length() on. It belongs to one model and to one batch of sequences. A layer is known by its
// path: "blocks.0.attention".
class KeyValueCache {
 public:
  int64_t length() const;   // tokens kept: the position of the next
  bool has_source() const;  // whether of_source() was called

  // For a layer that reads `count` new tokens, which stand at `first_position` and after it: what
  // it put there the last time, nothing the first time, to be read and replaced. Throws Error where
  // tokens are left out.
  std::vector<Tensor>& read_on(const std::string& layer, int64_t first_position, int64_t count);

  // The same for self-attention: takes the keys and values of new tokens, and gives back those of
  // all tokens from position 0 on.
  KeysAndValues extend(const std::string& layer, int64_t first_position,
                       const KeysAndValues& of_new);

  // Of cross-attention: those of the source, which `make` makes in the first pass, and no other.
  KeysAndValues of_source(const std::string& layer, const std::function<KeysAndValues()>& make);

 private:
  struct Kept {
    int64_t tokens = 0;
    std::vector<Tensor> tensors;
  };

  std::map<std::string, Kept> read_;
  std::map<std::string, KeysAndValues> sources_;
};

}  // namespace qkv
