#include "train/generate/prompts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "data/file.h"
#include "data/task.h"
#include "data/tasks/tasks.h"
#include "framework/core/text/utf8.h"
#include "framework/io/files.h"
#include "train/generate/generate.h"

namespace qkv {
namespace {

constexpr uint64_t kLongestFile = uint64_t{16} << 20;
constexpr char kLineStart[] = "\n";  // a line begins after the end of another

struct NamedText {
  std::string name;  // "--prompt", "questions.txt:3"
  std::string text;
};

std::vector<NamedText> texts_of(const PromptFile& file, bool is_running_text) {
  absl::string_view text = file.text;
  if (absl::EndsWith(text, "\n")) text.remove_suffix(1);
  if (is_running_text || text.empty() || file.is_line) return {{file.name, std::string(text)}};
  std::vector<NamedText> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    lines.push_back({absl::StrCat(file.name, ":", lines.size() + 1), std::string(line)});
  }
  return lines;
}

// "a question of the task reverse, such as "314159=""
std::string question_of(const TaskKind& task, const DataOptions& data,
                        const Vocabulary& vocabulary) {
  const std::vector<int64_t> question = example_question(task.questions(data)).prompt;
  return absl::StrCat("a question of the task ", task.name, ", such as \"",
                      vocabulary.decode(question), "\"");
}

}  // namespace

absl::StatusOr<Prompt> read_prompt(const LoadedRun& run, const std::string& name,
                                   const std::string& given) {
  const DataOptions& data = run.checkpoint.config.data;
  const Vocabulary& vocabulary = run.checkpoint.vocabulary;
  const TaskKind& task = *find_task(data.task);
  std::string text = given;
  if (task.records && !text.empty() && !absl::StrContains(text, task.records->after_question)) {
    text += task.records->after_question;
  }
  if (vocabulary.kind() != TokenKind::kCharacters && !is_utf8(text)) {
    return invalid_argument(name, ": is not UTF-8");
  }
  absl::StatusOr<std::vector<int64_t>> tokens =
      vocabulary.encode_apart(text, task.records ? task.records->after_question : "");
  if (!tokens.ok()) {
    return invalid_argument(name, ": ", tokens.status().message());
  }
  Prompt prompt = {vocabulary.decode(*tokens), *std::move(tokens)};
  const bool begins_line = task.is_running_text
                               ? prompt.text.empty()
                               : task.first_token == kLineStart && !prompt.text.starts_with('\n');
  if (begins_line) {
    const absl::StatusOr<std::vector<int64_t>> start = vocabulary.encode(kLineStart);
    if (start.ok()) prompt.tokens.insert(prompt.tokens.begin(), start->begin(), start->end());
  }
  if (prompt.tokens.empty()) {
    const std::string why =
        task.is_running_text ? "the text that this model learned has no line end to begin after"
                             : absl::StrCat("this model needs ",
                                            task.questions ? question_of(task, data, vocabulary)
                                                           : "a question of the task " + task.name);
    return invalid_argument(name, " is empty, but ", why);
  }
  // A sequence is read through a moving window; a question is read whole.
  if (form_of(run.checkpoint.config.model.kind) == DataForm::kSequence) return prompt;
  RETURN_IF_ERROR(check_length(name, std::ssize(prompt.tokens), run.longest_prompt()));
  return prompt;
}

absl::StatusOr<std::vector<int64_t>> most_likely_answer(const LoadedRun& run, const Model& model,
                                                        const std::vector<int64_t>& prompt,
                                                        int64_t longest) {
  const Checkpoint& checkpoint = run.checkpoint;
  longest = std::min(longest, run.longest_sequence());
  if (form_of(checkpoint.config.model.kind) == DataForm::kSequence) {
    longest = std::min(longest, run.longest_sequence() + 1 - std::ssize(prompt));
  }
  const std::string& last = find_task(checkpoint.config.data.task)->last_token;
  return generate(model, prompt, std::max<int64_t>(longest, 1), {.temperature = 0},
                  [&](int64_t token) { return checkpoint.vocabulary.texts()[token] != last; });
}

absl::StatusOr<PromptFile> read_prompt_file(const std::string& path) {
  PromptFile file = {path == "-" ? "standard input" : path, ""};
  ASSIGN_OR_RETURN(std::string text,
                   path == "-" ? read_standard_input(kLongestFile) : read_file(path, kLongestFile));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  file.text = absl::StrReplaceAll(text, {{"\r\n", "\n"}});
  return file;
}

absl::StatusOr<std::vector<Prompt>> read_prompts(const LoadedRun& run,
                                                 const std::vector<std::string>& given,
                                                 const std::optional<PromptFile>& file) {
  std::vector<NamedText> texts;
  for (const std::string& text : given) texts.push_back({"--prompt", text});
  if (file) {
    const TaskKind& task = *find_task(run.checkpoint.config.data.task);
    for (NamedText& text : texts_of(*file, task.is_running_text)) texts.push_back(std::move(text));
  }
  std::vector<Prompt> prompts;
  for (const NamedText& text : texts) {
    ASSIGN_OR_RETURN(Prompt prompt, read_prompt(run, text.name, text.text));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

std::string warning_about(const LoadedRun& run, const std::vector<Prompt>& prompts) {
  const DataOptions& data = run.checkpoint.config.data;
  const TaskKind& task = *find_task(data.task);
  if (!task.questions) return "";
  const Task questions = task.questions(data);
  std::vector<std::string> none;  // of the task
  for (const Prompt& prompt : prompts) {
    if (!find_question(questions, prompt.tokens)) none.push_back(prompt.text);
  }
  if (none.empty()) return "";
  const size_t others = none.size() - 1;
  const std::string also =
      others == 0 ? "" : absl::StrCat(" (nor ", others == 1 ? "is " : "are ", others, " more)");
  return absl::StrCat("\"", none.front(), "\" is not ",
                      question_of(task, data, run.checkpoint.vocabulary), also,
                      "; there is no right answer");
}

}  // namespace qkv
