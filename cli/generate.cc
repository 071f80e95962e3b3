#include "train/run/generate.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "data/find_question.h"
#include "data/tasks/tasks.h"
#include "framework/core/utf8.h"

namespace qkv {
namespace {

void add_options(OptionList& options) {
  options.texts("prompt", "TEXT", "The text to continue; may be repeated");
  options.integer("max-new-tokens", "N",
                  "Number of tokens to write; by default 200 for a text, else one answer");
  options.number("temperature", "T", "Below 1: less random; 0: always the most likely token",
                 "1.0");
  options.integer("top-k", "K", "Samples from the K most likely tokens; 0: from all", 0);
  options.number("top-p", "P", "Samples from the most likely tokens whose probabilities sum to P",
                 "1.0");
  options.unsigned_integer("seed", "S", "Seed of the sampling", 1);
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

// The tokens of each prompt, all of which the model can read, and write `max_new_tokens` after.
absl::StatusOr<std::vector<Tokens>> read_prompts(const std::vector<std::string>& texts,
                                                 std::optional<int64_t> max_new_tokens,
                                                 const Checkpoint& checkpoint) {
  const ModelOptions& model = checkpoint.config.model;
  const DataForm form = form_of(model.kind);
  // A sequence is read through a moving window; a question is read whole.
  const bool ends = form != DataForm::kSequence && !reads_any_length(model);
  const DataShape& data = checkpoint.data;
  const int64_t longest = form == DataForm::kSourceTarget ? data.source_length : data.max_length;
  const int64_t most_written = form == DataForm::kClass ? 1 : data.max_length;
  if ((ends || form == DataForm::kClass) && max_new_tokens.value_or(0) > most_written) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-new-tokens: this model answers with at most ", most_written,
                     most_written == 1 ? " token" : " tokens"));
  }
  std::vector<Tokens> prompts;
  for (const std::string& text : texts) {
    absl::StatusOr<Tokens> prompt = checkpoint.vocabulary.encode(text);
    if (!prompt.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--prompt: ", prompt.status().message()));
    }
    if (prompt->empty()) return absl::InvalidArgumentError("--prompt holds no token");
    if (ends && std::ssize(*prompt) > longest) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--prompt holds ", prompt->size(), " tokens, and this model reads at most ", longest));
    }
    prompts.push_back(*std::move(prompt));
  }
  return prompts;
}

// As a terminal may be given it: lines and tabs stay, what else it would obey is escaped.
std::string printable_lines(std::string_view text) {
  std::string shown;
  while (true) {
    const size_t end = text.find_first_of("\n\t");
    shown += printable(text.substr(0, end));
    if (end == std::string_view::npos) return shown;
    shown += text[end];
    text.remove_prefix(end + 1);
  }
}

// A pipe or a file gets every byte as it is.
void print_text(const std::string& text) {
  print(isatty(STDOUT_FILENO) == 1 ? printable_lines(text) : text);
}

// Prints the tokens as they come.
absl::Status write_one(const Model& model, const Tokens& prompt, int64_t count,
                       const SamplingOptions& sampling, const Vocabulary& vocabulary,
                       const TaskKind& task) {
  print_text(vocabulary.decode(prompt));
  int64_t before = prompt.back();
  const auto print_token = [&](int64_t token) {
    // What the token adds after the one before it: there may be a space between them.
    const int64_t both[] = {before, token};
    const std::string added = vocabulary.decode(both).substr(vocabulary.decode({both, 1}).size());
    print_text(added);
    std::fflush(stdout);
    before = token;
    const bool ended = !task.last_token.empty() && added == task.last_token;
    return !ended && std::ferror(stdout) == 0;
  };
  absl::Status status = generate(model, prompt, count, sampling, print_token).status();
  print("\n");
  return status;
}

// Prints a line for each prompt.
absl::Status write_all(const Model& model, const std::vector<Tokens>& prompts,
                       const std::vector<int64_t>& counts, const SamplingOptions& sampling,
                       const Vocabulary& vocabulary, const TaskKind& task) {
  const int64_t most = *std::ranges::max_element(counts);
  absl::StatusOr<std::vector<Tokens>> all = generate_all(model, prompts, most, sampling);
  if (!all.ok()) return all.status();
  for (size_t i = 0; i < prompts.size(); ++i) {
    Tokens& written = (*all)[i];
    written.resize(static_cast<size_t>(counts[i]));
    const auto ends = [&](int64_t token) {
      return vocabulary.texts()[static_cast<size_t>(token)] == task.last_token;
    };
    const auto last = std::ranges::find_if(written, ends);
    Tokens both = prompts[i];
    both.insert(both.end(), written.begin(), last == written.end() ? last : std::next(last));
    print_text(absl::StrCat(vocabulary.decode(both), "\n"));
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
  const std::vector<std::string> texts = given.texts("prompt");
  if (texts.empty() || std::ranges::count(texts, "") != 0) {
    return absl::InvalidArgumentError("--prompt TEXT is needed: what should the model continue?");
  }
  absl::StatusOr<LoadedRun> loaded = load_run(name);
  if (!loaded.ok()) return loaded.status();
  const Checkpoint& checkpoint = loaded->checkpoint;
  if (checkpoint.data.is_image()) {
    return absl::FailedPreconditionError(
        absl::StrCat(loaded->path, ": the model classifies images; it writes no text"));
  }
  const absl::StatusOr<std::vector<Tokens>> prompts =
      read_prompts(texts, max_new_tokens, checkpoint);
  if (!prompts.ok()) return prompts.status();
  absl::StatusOr<Model> model = restore_model(loaded->path, checkpoint);
  if (!model.ok()) return model.status();

  const DataOptions& data = checkpoint.config.data;
  const TaskKind& task = *find_task(data.task);
  std::vector<int64_t> counts;
  for (const Tokens& prompt : *prompts) {
    counts.push_back(max_new_tokens.value_or(task.answer_length(data, std::ssize(prompt))));
  }
  const absl::Status written =
      prompts->size() == 1
          ? write_one(*model, prompts->front(), counts.front(), sampling, checkpoint.vocabulary,
                      task)
          : write_all(*model, *prompts, counts, sampling, checkpoint.vocabulary, task);
  if (!written.ok()) {
    return absl::Status(written.code(), absl::StrCat(loaded->path, ": ", written.message()));
  }
  std::fflush(stdout);
  if (!task.questions) return absl::OkStatus();
  const Task questions = task.questions(data);
  for (const Tokens& prompt : *prompts) {
    if (find_question(questions, prompt)) continue;
    say_note(absl::StrCat("\"", checkpoint.vocabulary.decode(prompt),
                          "\" is no question of the task ", task.name,
                          "; there is no right answer"));
  }
  return absl::OkStatus();
}

}  // namespace

Verb generate_verb() {
  return {{"generate", "RUN", "continues a text, or answers a question"}, add_options, run};
}

}  // namespace qkv
