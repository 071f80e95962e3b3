#include "data/option_checker.h"

#include "absl/strings/str_cat.h"

namespace qkv {

void OptionChecker::range(const char* key, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high) {
    add(key, absl::StrCat("must be ", low, " … ", high, ", not ", value));
  }
}

void OptionChecker::range(const char* key, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    add(key, absl::StrCat("must be ", low, " … ", high, ", not ", value));
  }
}

}  // namespace qkv
