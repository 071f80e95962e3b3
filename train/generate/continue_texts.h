#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/vocabulary.h"
#include "framework/core/status.h"
#include "framework/core/text/names.h"
#include "train/folder/loaded_run.h"
#include "train/generate/generate.h"
#include "train/generate/prompts.h"

namespace qkv {

enum class TextEnd { kLength, kStop, kLastToken, kInterrupted };
template <>
inline constexpr Named<TextEnd> kNames<TextEnd>[] = {{"length", TextEnd::kLength},
                                                     {"stop", TextEnd::kStop},
                                                     {"last token", TextEnd::kLastToken},
                                                     {"interrupted", TextEnd::kInterrupted}};

// The text of tokens that come one by one, until something ends it: one of the texts `stops`,
// across the borders of tokens, too, or the token `last_token`. Neither is a part of it.
class WrittenText {
 public:
  // The `vocabulary` must outlive it. `before` is the token in front of the first one.
  WrittenText(const Vocabulary& vocabulary, int64_t before, std::vector<std::string> stops,
              std::string last_token);

  // Takes the next token, and returns whether the text continues.
  bool add(int64_t token);

  // UTF-8: a byte that belongs to no character is U+FFFD.
  std::string text() const;
  TextEnd end() const { return end_; }  // kLength, as long as it continues

  // The next part of the text that no later token can change: it holds back what may be the
  // beginning of a stop, or of a UTF-8 character.
  std::string take_settled();
  // The rest, where no further token comes.
  std::string take_rest();

 private:
  std::string take_until(size_t end);
  void append(std::string_view bytes);

  const Vocabulary* vocabulary_;
  int64_t before_;
  std::vector<std::string> stops_;
  std::string last_token_;
  std::string text_;
  std::string unfinished_;  // the bytes after it, which begin a character
  size_t taken_ = 0;        // bytes
  TextEnd end_ = TextEnd::kLength;
};

// The texts that `qkv generate` writes.
struct TextsToContinue {
  std::vector<std::string> prompts;
  std::optional<PromptFile> file = {};
  std::optional<int64_t> max_new_tokens;  // none: 200 for a text, else the length of an answer
  SamplingOptions sampling = {};
  int64_t samples = 1;             // texts for each prompt; the k-th is a function of seed and k
  std::vector<std::string> stops;  // a text ends before these
  std::optional<BeamOptions> beam = {};  // instead of sampling
  bool prints_prompts = true;            // before their continuations
};

// The text written after a prompt.
struct Continuation {
  std::string prompt;
  int64_t sample = 1;
  std::string text;
  int64_t tokens = 0;
  TextEnd end = TextEnd::kLength;
  std::vector<std::pair<std::string, Hypothesis>> beam = {};  // all texts of it, the best first
};

struct Continuations {
  std::vector<Continuation> all;
  bool was_stopped = false;
};

// An error names the option of `qkv generate` whose number is out of range.
absl::Status check_options(const TextsToContinue& texts);

// The model of the run continues each prompt, until the task's last token: one token after the
// other, or where there are several prompts for one sample, these together. `print` gets the text,
// and returns whether to continue. `warn` gets a warning about prompts that are not questions of
// the run's task. After a stop, the text that is being written is the last.
absl::StatusOr<Continuations> continue_texts(const LoadedRun& run, const Model& model,
                                             const TextsToContinue& texts,
                                             const std::function<bool(const std::string&)>& print,
                                             const TellNote& warn, const std::stop_token& stop);

// As an object of JSON.
std::string continuations_json(const LoadedRun& run, const TextsToContinue& texts,
                               const Continuations& written);

}  // namespace qkv
