#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/options.h"

namespace qkv {

// Larger than anybody needs, small enough that nothing overflows or eats the machine.
constexpr int64_t kMaxLength = 65536;
constexpr int64_t kMaxValidationExamples = 100000;

// Collects what is wrong with options, in the words of OptionMistake.
class OptionChecker {
 public:
  void range(const char* key, int64_t value, int64_t low, int64_t high);
  void range(const char* key, double value, double low, double high);  // a NaN is outside
  void add(const char* key, std::string message) { mistakes_.push_back({key, std::move(message)}); }

  const std::vector<OptionMistake>& mistakes() const { return mistakes_; }

 private:
  std::vector<OptionMistake> mistakes_;
};

}  // namespace qkv
