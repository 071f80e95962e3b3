#pragma once

#include <string>

#include "apps/cluster/ranks.h"
#include "data/dataset.h"
#include "framework/core/status.h"
#include "train/config/train_options.h"

namespace qkv {

// The sources of a run's bits, on one rank.
struct RankIdentity {
  std::string program;  // its version and what it was compiled with
  std::string config;   // as TOML
  std::string data;     // the fingerprint of a text
};
RankIdentity identity_of(const std::string& program, const Config& config, const Dataset& dataset);

// Before a run all ranks say whether they are ready, and compare the sources of the bits. Every
// rank calls this, once. On rank 0 the Status says which rank cannot continue, or differs, and in
// what; it is an error on the others, too. `mine`: whether this rank is ready; `identity` is read
// only then.
absl::Status start_together(Ranks& ranks, const absl::Status& mine, const RankIdentity& identity);

}  // namespace qkv
