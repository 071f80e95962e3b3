#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace qkv {

enum class Numbers {
  kWhole,
  kOdd,
  kMultiples,  // of the least
  kDivisors,   // of the most; 1 is among them where there are several
  kReal
};

// Numbers that a lab takes. Within its limits nothing takes all the memory, or lacks what the lab
// measures: one token has no order.
struct LabOption {
  std::string name;        // of `--name`
  std::string if_missing;  // "16,64,256"
  std::string help;
  double least = 1, most = 999999;
  Numbers numbers = Numbers::kWhole;
  size_t fewest = 1, longest = 1;  // more than one: with commas between, the smaller first
};

inline constexpr size_t kLongestList = 12;  // of those that may have several

// What several labs take.
LabOption seed_option(const std::string& help);
LabOption seeds_option(const std::string& if_missing, const std::string& help);
LabOption steps_option(const std::string& if_missing, const std::string& help = "of training");

// "one whole number from 2 to 64"
std::string wanted_by(const LabOption& option);

// The error says what the option takes, and what it was given.
absl::StatusOr<std::vector<double>> read_option(const LabOption& option, const std::string& text);

}  // namespace qkv
