#pragma once

#include <cstdint>

#include "framework/core/random.h"

namespace qkv {

class KeyValueCache;

// The context of one forward pass, beside its inputs.
struct ForwardContext {
  bool training = false;   // dropout is active
  RandomStream random{0};  // of this pass: give every step its own
  uint64_t streams_taken = 0;
  int64_t first_position = 0;      // of these tokens in their sequence
  KeyValueCache* cache = nullptr;  // of the tokens before these (nn/mixers/key_value_cache.h)

  RandomStream next_stream() { return random.derive(streams_taken++); }
};

}  // namespace qkv
