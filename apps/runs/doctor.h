#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "framework/core/terminal.h"
#include "train/config/options.h"

namespace qkv {

// What is looked at before a long run: whether the memory suffices, the loss at the start is that
// of guessing, every parameter gets a gradient, a causal model sees nothing that comes later, and a
// few examples can be learned by heart.
struct Diagnosis {
  std::string check;  // "loss at the start"
  bool is_good = true;
  std::string finding;  // a sentence with the numbers
};

// `tell` hears what goes on. It trains models of its own, and writes no file.
absl::StatusOr<std::vector<Diagnosis>> examine(const Config& config, const TellProgress& tell);

std::string diagnoses_text(const std::vector<Diagnosis>& diagnoses);
std::string diagnoses_json(const std::vector<Diagnosis>& diagnoses);

}  // namespace qkv
