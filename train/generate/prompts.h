#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/status.h"
#include "train/folder/loaded_run.h"

namespace qkv {

// A file with prompts: one that is its whole text, if the model writes running text, else one on
// each line.
struct PromptFile {
  std::string name;      // for messages: "questions.txt", "standard input"
  std::string text;      // without a byte order mark, every line end "\n"
  bool is_line = false;  // the text is one, whose place the name tells
};

// Reads a file or pipe of at most 16 MiB; standard input where `path` is "-".
absl::StatusOr<PromptFile> read_prompt_file(const std::string& path);

struct Prompt {
  std::string text;             // of the user; may be empty
  std::vector<int64_t> tokens;  // for the model: never empty
};

// A prompt as every verb reads it: with what follows a question, and what begins an example, in the
// files of the run's task. An error names it so.
absl::StatusOr<Prompt> read_prompt(const LoadedRun& run, const std::string& name,
                                   const std::string& text);

// The most likely tokens after a prompt, as far as the model reads and at most `longest`; they end
// with the task's last token.
absl::StatusOr<std::vector<int64_t>> most_likely_answer(const LoadedRun& run, const Model& model,
                                                        const std::vector<int64_t>& prompt,
                                                        int64_t longest);

// The prompts that the user gave with --prompt, and those of the file. An empty one stands for the
// beginning of a line, if the model knows lines. An error names the first that the model cannot
// read.
absl::StatusOr<std::vector<Prompt>> read_prompts(const LoadedRun& run,
                                                 const std::vector<std::string>& given,
                                                 const std::optional<PromptFile>& file);

// A warning about prompts that are not questions of the run's task, with the form of a question;
// "": none.
std::string warning_about(const LoadedRun& run, const std::vector<Prompt>& prompts);

}  // namespace qkv
