#include "train/folder/metrics.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

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

}  // namespace

std::string metrics_to_json(const Metrics& metrics) {
  nlohmann::ordered_json object;
  object["step"] = metrics.step;
  for (const MetricsField& field : kFields) {
    if (const std::optional<double>& value = metrics.*field.value) object[field.name] = *value;
  }
  if (metrics.detail) object["detail"] = detail_to_json(*metrics.detail);
  return object.dump();
}

absl::StatusOr<Metrics> metrics_from_json(std::string_view line) {
  nlohmann::ordered_json object;  // ordered: a line that is read is written as it was
  try {
    object = nlohmann::ordered_json::parse(line);
  } catch (const nlohmann::ordered_json::out_of_range&) {  // 1e999
    return absl::InvalidArgumentError("a number is out of the range of f64");
  } catch (const nlohmann::ordered_json::parse_error&) {
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
    if (value->is_null()) {
      metrics.*field.value = std::numeric_limits<double>::quiet_NaN();
    } else if (value->is_number()) {
      metrics.*field.value = value->get<double>();
    } else {
      return absl::InvalidArgumentError(absl::StrCat("\"", field.name, "\" is not a number"));
    }
  }
  if (const auto detail = object.find("detail"); detail != object.end()) {
    absl::StatusOr<StepDetail> read = detail_from_json(*detail);
    if (!read.ok()) return read.status();
    metrics.detail = *std::move(read);
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
  const absl::StatusOr<std::string> text = read_regular_file(path);
  if (!text.ok()) return text.status();
  std::vector<Metrics> lines;
  size_t begin = 0;
  for (size_t end; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    absl::StatusOr<Metrics> line =
        metrics_from_json(std::string_view(*text).substr(begin, end - begin));
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
    const absl::StatusOr<Metrics> metrics = metrics_from_json(line);
    if (!metrics.ok()) return metrics.status();
    return metrics->step <= last_step;
  });
}

}  // namespace qkv
