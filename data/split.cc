#include "data/split.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "framework/core/each_of.h"
#include "framework/core/random.h"

namespace qkv {
namespace {

Split side_of_hash(uint64_t hash, double train_fraction) {
  const double uniform = static_cast<double>(hash >> 11) * 0x1.0p-53;  // in [0, 1)
  return uniform < train_fraction ? Split::kTraining : Split::kValidation;
}

}  // namespace

Split side_of(std::string_view text, double train_fraction) {
  return side_of_hash(stable_hash(text), train_fraction);
}

std::vector<Split> sides_of(std::span<const std::string_view> texts,
                            std::span<const int64_t> classes, double train_fraction) {
  std::vector<uint64_t> hashes;
  absl::flat_hash_set<uint64_t> met, held;  // held: for validation
  std::map<int64_t, std::vector<uint64_t>> by_class;
  for (size_t i = 0; i < texts.size(); ++i) {
    hashes.push_back(stable_hash(texts[i]));
    if (met.insert(hashes.back()).second) by_class[classes[i]].push_back(hashes.back());
  }
  int64_t all = 0;
  for (const auto& [name, of_class] : by_class) {
    if (std::ssize(of_class) <= kSmallClass) all += std::ssize(of_class);
  }
  const int64_t wanted =
      train_fraction == 1
          ? 0
          : std::max<int64_t>(1, std::llround((1 - train_fraction) * static_cast<double>(all)));
  int64_t seen = 0, taken = 0;
  for (auto& [name, of_class] : by_class) {
    const int64_t size = std::ssize(of_class);
    if (size > kSmallClass) {
      for (const uint64_t hash : of_class) {
        if (side_of_hash(hash, train_fraction) == Split::kValidation) held.insert(hash);
      }
      continue;
    }
    seen += size;
    const int64_t now = std::min((2 * wanted * seen + all) / (2 * all) - taken, size - 1);
    taken += now;
    std::ranges::sort(of_class);
    held.insert(of_class.end() - now, of_class.end());
  }
  return each_of(hashes, [&held](uint64_t hash) {
    return held.contains(hash) ? Split::kValidation : Split::kTraining;
  });
}

}  // namespace qkv
