#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "train/run/generate.h"
#include "train/run/loaded_run.h"

namespace qkv {

// What `qkv generate` writes.
struct TextsToContinue {
  std::vector<std::string> prompts;
  std::optional<int64_t> max_new_tokens;  // none: 200 for a text, else the length of an answer
  SamplingOptions sampling = {};
};

// The model of the run continues each prompt until the task's last token: a single one token by
// token, several ones together, a line each. `print` gets what is written, and returns whether to
// go on. Prompts that are no question of the run's task are told in the end.
absl::Status continue_texts(const LoadedRun& run, const TextsToContinue& texts,
                            const std::function<bool(const std::string&)>& print,
                            const TellNote& tell);

}  // namespace qkv
