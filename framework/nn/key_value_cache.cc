#include "framework/nn/key_value_cache.h"

#include "framework/ops/ops.h"

namespace qkv {

void KeyValueCache::extend(size_t layer, Tensor& key, Tensor& value) {
  if (layer == layers_.size()) {
    layers_.push_back({key, value});
    return;
  }
  Layer& read = layers_[layer];
  key = read.key = concat({read.key, key}, 1);
  value = read.value = concat({read.value, value}, 1);
}

}  // namespace qkv
