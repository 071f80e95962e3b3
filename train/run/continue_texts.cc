#include "train/run/continue_texts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/find_question.h"
#include "data/tasks/tasks.h"

namespace qkv {
namespace {

using Print = std::function<bool(const std::string&)>;

absl::StatusOr<std::vector<Tokens>> read_prompts(const LoadedRun& run,
                                                 const TextsToContinue& texts) {
  const DataForm form = form_of(run.checkpoint.config.model.kind);
  // A sequence is read through a moving window; a question is read whole.
  const bool is_question = form != DataForm::kSequence;
  const int64_t longest_answer = form == DataForm::kClass ? 1 : run.longest_sequence();
  if (is_question && texts.max_new_tokens.value_or(0) > longest_answer) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-new-tokens: this model answers with at most ", longest_answer,
                     longest_answer == 1 ? " token" : " tokens"));
  }
  std::vector<Tokens> prompts;
  for (const std::string& text : texts.prompts) {
    absl::StatusOr<Tokens> prompt = run.encode("prompt", text);
    if (!prompt.ok()) return prompt.status();
    if (is_question) {
      absl::Status status = check_length("--prompt", std::ssize(*prompt), run.longest_prompt());
      if (!status.ok()) return status;
    }
    prompts.push_back(*std::move(prompt));
  }
  return prompts;
}

// Prints the tokens as they come.
absl::Status write_one(const Model& model, const Tokens& prompt, int64_t count,
                       const SamplingOptions& sampling, const Vocabulary& vocabulary,
                       const TaskKind& task, const Print& print) {
  print(vocabulary.decode(prompt));
  int64_t before = prompt.back();
  const auto print_token = [&](int64_t token) {
    // What the token adds after the one before it: there may be a space between them.
    const int64_t both[] = {before, token};
    const std::string added = vocabulary.decode(both).substr(vocabulary.decode({both, 1}).size());
    before = token;
    const bool goes_on = print(added);
    return goes_on && (task.last_token.empty() || added != task.last_token);
  };
  absl::Status status = generate(model, prompt, count, sampling, print_token).status();
  print("\n");
  return status;
}

// Prints a line for each prompt.
absl::Status write_all(const Model& model, const std::vector<Tokens>& prompts,
                       const std::vector<int64_t>& counts, const SamplingOptions& sampling,
                       const Vocabulary& vocabulary, const TaskKind& task, const Print& print) {
  const int64_t longest = *std::ranges::max_element(counts);
  absl::StatusOr<std::vector<Tokens>> all = generate_all(model, prompts, longest, sampling);
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
    print(absl::StrCat(vocabulary.decode(both), "\n"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status continue_texts(const LoadedRun& run, const TextsToContinue& texts, const Print& print,
                            const TellNote& tell) {
  const absl::StatusOr<std::vector<Tokens>> prompts = read_prompts(run, texts);
  if (!prompts.ok()) return prompts.status();
  const absl::StatusOr<Model> model = run.model();
  if (!model.ok()) return model.status();

  const DataOptions& data = run.checkpoint.config.data;
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  const TaskKind& task = *find_task(data.task);
  std::vector<int64_t> counts;
  for (const Tokens& prompt : *prompts) {
    counts.push_back(texts.max_new_tokens.value_or(task.answer_length(data, std::ssize(prompt))));
  }
  const absl::Status written =
      prompts->size() == 1
          ? write_one(*model, prompts->front(), counts.front(), texts.sampling, vocabulary, task,
                      print)
          : write_all(*model, *prompts, counts, texts.sampling, vocabulary, task, print);
  if (!written.ok()) {
    return absl::Status(written.code(), absl::StrCat(run.path, ": ", written.message()));
  }
  if (!task.questions) return absl::OkStatus();
  const Task questions = task.questions(data);
  for (const Tokens& prompt : *prompts) {
    if (find_question(questions, prompt)) continue;
    tell(absl::StrCat("\"", vocabulary.decode(prompt), "\" is not a question of the task ",
                      task.name, "; there is no right answer"));
  }
  return absl::OkStatus();
}

}  // namespace qkv
