#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "train/config/config.h"

namespace qkv {

using Overrides = std::vector<std::string>;

inline Config parsed(const std::string& text, const Overrides& overrides = {}) {
  const absl::StatusOr<LoadedConfig> loaded = parse_config(text, "c.toml", overrides);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return loaded.ok() ? loaded->config : Config();
}

// All mistakes, a line each.
inline std::string mistakes(const std::string& text, const Overrides& overrides = {}) {
  const absl::StatusOr<LoadedConfig> loaded = parse_config(text, "c.toml", overrides);
  return loaded.ok() ? "" : std::string(loaded.status().message());
}

}  // namespace qkv
