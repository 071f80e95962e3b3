#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/io/safetensors.h"

namespace qkv {

// The lines of a run's metrics.jsonl.
inline std::vector<nlohmann::json> metrics_in(const std::string& run) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(run + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// The numbers of a safetensors file.
inline std::map<std::string, std::vector<double>> numbers_in(const std::string& path) {
  std::map<std::string, std::vector<double>> numbers;
  const absl::StatusOr<TensorFile> file = read_safetensors(path);
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return numbers;
  for (const auto& [name, array] : file->tensors) numbers[name] = array.to_vector();
  return numbers;
}

}  // namespace qkv
