#include "data/split.h"

#include "framework/core/random.h"

namespace qkv {

Split side_of(std::string_view text, double train_fraction) {
  const double uniform = static_cast<double>(stable_hash(text) >> 11) * 0x1.0p-53;  // in [0, 1)
  return uniform < train_fraction ? Split::kTraining : Split::kValidation;
}

}  // namespace qkv
