#include "train/run/generate.h"

#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "data/tasks/tasks.h"

namespace qkv {
namespace {

void add_options(OptionList& options) {
  options.text("prompt", "TEXT", "The text to go on from");
  options.integer("max-new-tokens", "N",
                  "How many tokens to write; by default 200 of a text, or an answer");
  options.number("temperature", "T", "Below 1: safer; 0: always the most likely token", "1.0");
  options.integer("top-k", "K", "Only the K most likely tokens; 0: all", 0);
  options.number("top-p", "P", "Only the most likely tokens that together have probability P",
                 "1.0");
  options.unsigned_integer("seed", "S", "Another seed, another text", 1);
}

absl::Status check_sampling(const SamplingOptions& s) {
  if (!(s.temperature >= 0) || !std::isfinite(s.temperature)) {
    return absl::InvalidArgumentError("--temperature must be 0 or more");
  }
  if (s.top_k < 0) return absl::InvalidArgumentError("--top-k must be 0 (all tokens) or more");
  if (!(s.top_p > 0) || s.top_p > 1) {
    return absl::InvalidArgumentError("--top-p must be above 0 and at most 1");
  }
  return absl::OkStatus();
}

absl::Status run(const std::string& name, const GivenOptions& given) {
  const SamplingOptions sampling = {.temperature = given.number("temperature"),
                                    .top_k = given.integer("top-k"),
                                    .top_p = given.number("top-p"),
                                    .seed = given.unsigned_integer("seed")};
  if (absl::Status status = check_sampling(sampling); !status.ok()) return status;
  const std::optional<int64_t> max_new_tokens = given.integer_if_given("max-new-tokens");
  if (max_new_tokens.value_or(0) < 0) {
    return absl::InvalidArgumentError("--max-new-tokens must be 0 or more");
  }
  const std::string text = given.text("prompt");
  if (text.empty()) {
    return absl::InvalidArgumentError("--prompt TEXT is needed: what should the model go on from?");
  }
  absl::StatusOr<LoadedRun> loaded = load_run(name);
  if (!loaded.ok()) return loaded.status();
  if (loaded->checkpoint.data.is_image()) {
    return absl::FailedPreconditionError(
        absl::StrCat(loaded->path, ": the model tells what an image shows, and writes no text"));
  }
  const Vocabulary& vocabulary = loaded->checkpoint.vocabulary;
  absl::StatusOr<std::vector<int64_t>> prompt = vocabulary.encode(text);
  if (!prompt.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--prompt: ", prompt.status().message()));
  }
  if (prompt->empty()) return absl::InvalidArgumentError("--prompt holds no token");
  absl::StatusOr<Model> model = restore_model(loaded->path, loaded->checkpoint);
  if (!model.ok()) return model.status();

  print(vocabulary.decode(*prompt));
  const DataOptions& data = loaded->checkpoint.config.data;
  const TaskKind& task = *find_task(data.task);
  const int64_t count = max_new_tokens.value_or(task.answer_length(data, std::ssize(*prompt)));
  int64_t before = prompt->back();
  generate(*model, *prompt, count, sampling, [&](int64_t token) {
    // What the token adds after the one before it: there may be a space between them.
    const int64_t both[] = {before, token};
    const std::string added = vocabulary.decode(both).substr(vocabulary.decode({both, 1}).size());
    print(added);
    std::fflush(stdout);
    before = token;
    const bool ended = !task.last_token.empty() && added == task.last_token;
    return !ended && std::ferror(stdout) == 0;
  });
  print("\n");
  return absl::OkStatus();
}

}  // namespace

Verb generate_verb() {
  return {"generate", "RUN", "continues a text, or answers a question", add_options, run};
}

}  // namespace qkv
