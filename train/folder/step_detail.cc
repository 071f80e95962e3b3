#include "train/folder/step_detail.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

struct NormsField {
  const char* name;
  NamedNumbers StepDetail::*numbers;
};
constexpr NormsField kNorms[] = {{"gradient_norm", &StepDetail::gradient_norm},
                                 {"weight_norm", &StepDetail::weight_norm},
                                 {"update_ratio", &StepDetail::update_ratio}};
constexpr char kEntropy[] = "attention_entropy";

absl::Status not_a_detail() { return absl::InvalidArgumentError("\"detail\" holds no numbers"); }

// As in the rest of a line, null is what is not finite.
bool is_number(const Json& json) { return json.is_number() || json.is_null(); }
double number_of(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

}  // namespace

Json detail_to_json(const StepDetail& detail) {
  Json json = Json::object();
  for (const NormsField& field : kNorms) {
    Json& object = json[field.name] = Json::object();
    for (const auto& [name, number] : detail.*field.numbers) object.push_back({name, number});
  }
  Json& entropies = json[kEntropy] = Json::object();
  for (const auto& [path, heads] : detail.attention_entropy) entropies.push_back({path, heads});
  return json;
}

absl::StatusOr<StepDetail> detail_from_json(const Json& json) {
  if (!json.is_object()) return not_a_detail();
  StepDetail detail;
  for (const NormsField& field : kNorms) {
    if (!json.contains(field.name)) continue;
    if (!json[field.name].is_object()) return not_a_detail();
    for (const auto& [name, number] : json[field.name].items()) {
      if (!is_number(number)) return not_a_detail();
      (detail.*field.numbers).emplace_back(name, number_of(number));
    }
  }
  if (!json.contains(kEntropy)) return detail;
  if (!json[kEntropy].is_object()) return not_a_detail();
  for (const auto& [path, heads] : json[kEntropy].items()) {
    if (!heads.is_array()) return not_a_detail();
    std::vector<double>& numbers = detail.attention_entropy.emplace_back(path, 0).second;
    for (const Json& head : heads) {
      if (!is_number(head)) return not_a_detail();
      numbers.push_back(number_of(head));
    }
  }
  return detail;
}

NamedNumbers detail_numbers(const StepDetail& detail) {
  NamedNumbers all;
  for (const NormsField& field : kNorms) {
    for (const auto& [name, number] : detail.*field.numbers) {
      all.emplace_back(absl::StrCat(field.name, "/", name), number);
    }
  }
  for (const auto& [path, heads] : detail.attention_entropy) {
    for (size_t head = 0; head < heads.size(); ++head) {
      all.emplace_back(absl::StrCat(kEntropy, "/", path, "/", head), heads[head]);
    }
  }
  return all;
}

}  // namespace qkv
