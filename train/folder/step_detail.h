#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace qkv {

using NamedNumbers = std::vector<std::pair<std::string, double>>;

// What a line of metrics.jsonl has in addition after each train.detail_interval steps: norms of
// each parameter, by its name in checkpoints, and the entropy of each head of each attention layer,
// by the path of its weights in traces. All with 6 significant digits.
struct StepDetail {
  NamedNumbers gradient_norm;  // before clipping
  NamedNumbers weight_norm;    // after the step
  NamedNumbers
      update_ratio;  // the norm of what the step changed / weight_norm; 0 where it changed nothing
  std::vector<std::pair<std::string, std::vector<double>>> attention_entropy;  // in nats

  bool operator==(const StepDetail&) const = default;
};

// {"gradient_norm":{"token_embedding.weight":0.125,…},…,
//  "attention_entropy":{"blocks.0.attention.weights":[1.5,…],…}}
nlohmann::ordered_json detail_to_json(const StepDetail& detail);
absl::StatusOr<StepDetail> detail_from_json(const nlohmann::ordered_json& json);

// All its numbers in one list: "gradient_norm/NAME", …, "attention_entropy/PATH/HEAD".
NamedNumbers detail_numbers(const StepDetail& detail);

}  // namespace qkv
