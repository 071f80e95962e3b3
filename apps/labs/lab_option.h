#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/report/texts/text.h"
#include "framework/core/names.h"

namespace qkv {

enum class Numbers {
  kWhole,
  kOdd,
  kMultiples,  // of the least
  kDivisors,   // of the most; 1 is among them where there are several
  kReal
};
template <>
inline constexpr Named<Numbers> kNames<Numbers>[] = {{"whole", Numbers::kWhole},
                                                     {"odd", Numbers::kOdd},
                                                     {"multiples", Numbers::kMultiples},
                                                     {"divisors", Numbers::kDivisors},
                                                     {"real", Numbers::kReal}};

// Numbers that a lab takes. Within its limits nothing takes all the memory, or lacks what the lab
// measures: one token has no order.
struct LabOption {
  std::string name;        // of `--name`
  std::string if_missing;  // "16,64,256"
  Text help;
  double least = 1, most = 999999;
  Numbers numbers = Numbers::kWhole;
  size_t fewest = 1, longest = 1;  // more than one: with commas between, the smaller first
};

// "one whole number from 2 to 64"
Text wanted_by(const LabOption& option);

// The error says what the option takes, and what it was given.
absl::StatusOr<std::vector<double>> read_option(const LabOption& option, const std::string& text);

}  // namespace qkv
