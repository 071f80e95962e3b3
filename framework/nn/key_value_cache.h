#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "framework/graph/tensor.h"

namespace qkv {

struct KeysAndValues {
  Tensor keys, values;  // [B, T, C]
};

// The keys and values of the tokens that a causal model has read so far, and of the source that it
// attends to. They don't depend on the tokens to come, so that one more token costs one position,
// and not all of them again. Give it to every pass in ForwardContext, under NoGrad, with the tokens
// that are new and the position of the first. It belongs to one model and to one batch of
// sequences. A layer is known by its path: "blocks.0.attention".
class KeyValueCache {
 public:
  int64_t length() const;  // tokens read: the position of the next

  // Of self-attention: takes those of new tokens, which stand at `first_position` and after it, and
  // gives back those of all tokens from position 0 on. Throws Error where tokens are left out.
  KeysAndValues extend(const std::string& layer, int64_t first_position,
                       const KeysAndValues& of_new);

  // Of cross-attention: those of the source, which `make` makes in the first pass, and no other.
  KeysAndValues of_source(const std::string& layer, const std::function<KeysAndValues()>& make);

 private:
  std::map<std::string, KeysAndValues> read_, sources_;
};

}  // namespace qkv
