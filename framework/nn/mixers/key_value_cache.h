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

// The keys and values (or states) of the tokens that a model has read, and of its source, so that
// one more token costs one position, and not all of them again. Only results that do not depend on
// later tokens can be kept: those of the tokens under a causal mask, and always those of the
// source. Without a causal mask no tokens are kept: length() stays 0, and the model reads all of
// them in every pass. Give the cache to every pass in ForwardContext, under NoGrad, with the tokens
// from length() on. It belongs to one model and to one batch of sequences. A layer is identified by
// its path: "blocks.0.attention".
class KeyValueCache {
 public:
  int64_t length() const;   // number of tokens kept: the position of the next one
  bool has_source() const;  // whether source_keys_and_values() was called

  // For a layer that reads `count` new tokens from `first_position` on: the tensors that it stored
  // in the previous pass (empty in the first), to be read and replaced. Throws Error where tokens
  // were skipped.
  std::vector<Tensor>& read_on(const std::string& layer, int64_t first_position, int64_t count);

  // The same for self-attention: takes the keys and values of new tokens, and returns those of all
  // tokens from position 0 on.
  KeysAndValues extend(const std::string& layer, int64_t first_position,
                       const KeysAndValues& added);

  // For cross-attention: the keys and values of the source. Only the first pass calls `make`.
  KeysAndValues source_keys_and_values(const std::string& layer,
                                       const std::function<KeysAndValues()>& make);

  // Keeps these rows of the batch, in this order; one may be there several times.
  void select_rows(const std::vector<int64_t>& rows);

 private:
  struct Kept {
    int64_t tokens = 0;
    std::vector<Tensor> tensors;
  };

  std::map<std::string, Kept> read_;
  std::map<std::string, KeysAndValues> sources_;
};

}  // namespace qkv
