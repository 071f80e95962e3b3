#include "framework/nn/key_value_cache.h"

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

int64_t length_of(const KeysAndValues& x) { return x.keys.defined() ? x.keys.dim(1) : 0; }

}  // namespace

int64_t KeyValueCache::length() const {
  return read_.empty() ? 0 : length_of(read_.begin()->second);
}

KeysAndValues KeyValueCache::extend(const std::string& layer, int64_t first_position,
                                    const KeysAndValues& of_new) {
  KeysAndValues& read = read_[layer];
  const int64_t length = length_of(read);
  if (first_position != length) {
    fail(absl::StrCat("key_value_cache: \"", layer, "\" has read ", length,
                      " tokens, and is given those from position ", first_position, " on"));
  }
  if (length == 0) return read = of_new;
  return read = {concat({read.keys, of_new.keys}, 1), concat({read.values, of_new.values}, 1)};
}

KeysAndValues KeyValueCache::of_source(const std::string& layer,
                                       const std::function<KeysAndValues()>& make) {
  const auto found = sources_.find(layer);
  return found != sources_.end() ? found->second : sources_[layer] = make();
}

}  // namespace qkv
