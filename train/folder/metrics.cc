#include "train/folder/metrics.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"

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

// As in the rest of a line, null is a number that is not finite.
bool is_number(const Json& json) { return json.is_number() || json.is_null(); }
double number_of(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

struct MetricsField {
  const char* name;
  std::optional<double> Metrics::*value;
};

constexpr MetricsField kFields[] = {
    {"loss", &Metrics::loss},
    {"learning_rate", &Metrics::learning_rate},
    {"grad_norm", &Metrics::grad_norm},
    {"tokens_per_second", &Metrics::tokens_per_second},
    {"elapsed_seconds", &Metrics::elapsed_seconds},
    {"val_loss", &Metrics::val_loss},
    {"val_token_accuracy", &Metrics::val_token_accuracy},
    {"val_sequence_accuracy", &Metrics::val_sequence_accuracy},
    {"train_sequence_accuracy", &Metrics::train_sequence_accuracy},
    {"val_end_accuracy", &Metrics::val_end_accuracy},
};

// {"gradient_norm":{"token_embedding.weight":0.125,…},…,
//  "attention_entropy":{"blocks.0.attention.weights":[1.5,…],…}}
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

}  // namespace

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

std::string metrics_to_json(const Metrics& metrics) {
  Json object;
  object["step"] = metrics.step;
  for (const MetricsField& field : kFields) {
    if (const std::optional<double>& value = metrics.*field.value) object[field.name] = *value;
  }
  if (metrics.detail) object["detail"] = detail_to_json(*metrics.detail);
  return object.dump();
}

absl::StatusOr<Metrics> metrics_from_json(std::string_view line) {
  Json object;  // ordered: a line that is read is written as it was
  try {
    object = Json::parse(line);
  } catch (const Json::out_of_range&) {  // 1e999
    return absl::InvalidArgumentError("a number is out of the range of f64");
  } catch (const Json::parse_error&) {
    return absl::InvalidArgumentError("not a JSON object");
  }
  if (!object.is_object()) return absl::InvalidArgumentError("not a JSON object");
  Metrics metrics;
  const auto step = object.find("step");
  if (step == object.end() || !step->is_number_unsigned() || step->get<uint64_t>() > INT64_MAX) {
    return absl::InvalidArgumentError("\"step\" is missing or not an integer of 0 or more");
  }
  metrics.step = step->get<int64_t>();
  for (const MetricsField& field : kFields) {
    const auto value = object.find(field.name);
    if (value == object.end()) continue;
    if (!is_number(*value)) {
      return invalid_argument("\"", field.name, "\" is not a number");
    }
    metrics.*field.value = number_of(*value);
  }
  if (const auto detail = object.find("detail"); detail != object.end()) {
    ASSIGN_OR_RETURN(metrics.detail, detail_from_json(*detail));
  }
  return metrics;
}

NamedNumbers metrics_numbers(const Metrics& metrics) {
  NamedNumbers numbers;
  for (const MetricsField& field : kFields) {
    if (metrics.*field.value) numbers.emplace_back(field.name, *(metrics.*field.value));
  }
  if (!metrics.detail) return numbers;
  for (auto& number : detail_numbers(*metrics.detail)) numbers.push_back(std::move(number));
  return numbers;
}

absl::StatusOr<std::vector<Metrics>> read_metrics(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_regular_file(path));
  std::vector<Metrics> lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    absl::StatusOr<Metrics> line =
        metrics_from_json(std::string_view(text).substr(begin, end - begin));
    if (!line.ok()) {
      return absl::Status(line.status().code(),
                          absl::StrCat(path, ":", lines.size() + 1, ": ", line.status().message()));
    }
    lines.push_back(*line);
  }
  return lines;
}

absl::Status cut_metrics(const std::string& path, int64_t last_step) {
  return cut_lines(path, [last_step](std::string_view line) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const Metrics metrics, metrics_from_json(line));
    return metrics.step <= last_step;
  });
}

}  // namespace qkv
