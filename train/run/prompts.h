#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "train/run/loaded_run.h"

namespace qkv {

// A file with prompts: one that is its whole text, if the model writes running text, else one on
// each line.
struct PromptFile {
  std::string name;  // for messages: "questions.txt", "standard input"
  std::string text;  // without a byte order mark, every line end "\n"
};

// Reads a file or pipe of at most 16 MiB; standard input where `path` is "-".
absl::StatusOr<PromptFile> read_prompt_file(const std::string& path);

struct Prompt {
  std::string text;             // what the user gave; may be empty
  std::vector<int64_t> tokens;  // what the model reads: never empty
};

// The prompts that the user gave with --prompt, and those of the file. An empty one stands for the
// beginning of a line, if the model knows lines. An error names the first that the model cannot
// read.
absl::StatusOr<std::vector<Prompt>> read_prompts(const LoadedRun& run,
                                                 const std::vector<std::string>& given,
                                                 const std::optional<PromptFile>& file);

// What is wrong with prompts that are no question of the run's task, and what a question looks
// like; "": nothing is.
std::string warning_about(const LoadedRun& run, const std::vector<Prompt>& prompts);

}  // namespace qkv
