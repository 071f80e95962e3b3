#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "framework/core/shape.h"

// How the reports write their numbers.
namespace qkv {

// JSON has no word for numbers that are not finite: "nan", "inf", "-inf".
inline nlohmann::ordered_json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

template <class T>
nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

inline nlohmann::ordered_json json_sizes(const Shape& shape) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const int64_t size : shape.dims()) array.push_back(size);
  return array;
}

}  // namespace qkv
