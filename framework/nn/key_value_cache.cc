#include "framework/nn/key_value_cache.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/ops/ops.h"

namespace qkv {

void KeyValueCache::extend(size_t layer, Tensor& key, Tensor& value) {
  if (layer == layers_.size()) {
    layers_.push_back({key, value});
    return;
  }
  if (layer > layers_.size()) {
    fail(absl::StrCat("key_value_cache: layer ", layer, " comes after ", layers_.size(),
                      " layers; the layers of a pass are counted from 0"));
  }
  Layer& read = layers_[layer];
  key = read.key = concat({read.key, key}, 1);
  value = read.value = concat({read.value, value}, 1);
}

}  // namespace qkv
