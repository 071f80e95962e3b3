#include "framework/nn/mixers/key_value_cache.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/ops/ops.h"

namespace qkv {

int64_t KeyValueCache::length() const { return read_.empty() ? 0 : read_.begin()->second.tokens; }

bool KeyValueCache::has_source() const { return !sources_.empty(); }

std::vector<Tensor>& KeyValueCache::read_on(const std::string& layer, int64_t first_position,
                                            int64_t count) {
  Kept& kept = read_[layer];
  if (first_position != kept.tokens) {
    fail(absl::StrCat("key_value_cache: \"", layer, "\" has read ", kept.tokens,
                      " tokens, but the next tokens begin at position ", first_position));
  }
  kept.tokens += count;
  return kept.tensors;
}

KeysAndValues KeyValueCache::extend(const std::string& layer, int64_t first_position,
                                    const KeysAndValues& added) {
  std::vector<Tensor>& read = read_on(layer, first_position, added.keys.dim(1));
  if (read.empty()) {
    read = {added.keys, added.values};
  } else {
    read = {concat({read[0], added.keys}, 1), concat({read[1], added.values}, 1)};
  }
  return {read[0], read[1]};
}

KeysAndValues KeyValueCache::source_keys_and_values(const std::string& layer,
                                                    const std::function<KeysAndValues()>& make) {
  const auto found = sources_.find(layer);
  return found != sources_.end() ? found->second : sources_[layer] = make();
}

void KeyValueCache::select_rows(const std::vector<int64_t>& rows) {
  const auto select = [&rows](Tensor& kept) {
    std::vector<Tensor> selected;
    for (const int64_t row : rows) selected.push_back(slice(kept, 0, row, 1));
    kept = selected.empty() ? slice(kept, 0, 0, 0) : concat(selected, 0);
  };
  for (auto& [layer, kept] : read_) std::ranges::for_each(kept.tensors, select);
  for (auto& [layer, source] : sources_) {
    select(source.keys);
    select(source.values);
  }
}

}  // namespace qkv
