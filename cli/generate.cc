#include <cstdio>
#include <optional>

#include "cli/answerer.h"
#include "cli/kit.h"
#include "train/generate/continue_texts.h"
#include "train/watch/interrupt.h"

namespace qkv {
namespace {

void add_generate_options(OptionList& options) {
  options.texts("prompt", "TEXT", "The text to continue; may be repeated, and empty for a text");
  options.may_be_empty("prompt");
  options.text("prompt-file", "FILE",
               "File with a text to continue, or with a question on each line; -: standard input. "
               "Without a prompt a person at the terminal is asked for one after the other, and "
               "questions out of a pipe are answered as they come");
  options.integer("max-new-tokens", "N",
                  "Number of tokens to write; by default 200 for a text, else one answer");
  options.integer("samples", "N", "Texts for each prompt; the k-th is a function of seed and k", 1);
  options.texts("stop", "TEXT", "Ends before this text; may be repeated");
  options.number("temperature", "T", "Below 1: less random; 0: always the most likely token",
                 "1.0");
  options.integer("top-k", "K", "Samples from the K most likely tokens; 0: from all", 0);
  options.number("top-p", "P", "Samples from the most likely tokens whose probabilities sum to P",
                 "1.0");
  options.unsigned_integer("seed", "S", "Seed of the sampling", 1);
  options.integer("beam", "N", "Searches the most likely text with a beam of N; samples nothing");
  options.number("length-penalty", "A", "Beam: divides log P by ((5 + length) / 6)^A", "0.6");
  options.json("the texts");
  options.rules().exclude({"beam"}, {"samples", "temperature", "top-k", "top-p", "seed"},
                          "a beam searches the most likely text and samples nothing");
  options.rules().need({"length-penalty"}, "beam");
  options.rules().exclude({"temperature=0", "top-k=1"}, {"top-p", "seed"},
                          "the most likely token is always taken");
  options.rules().exclude({"temperature=0"}, {"top-k"}, "the most likely token is always taken");
}

absl::Status run_generate(const std::string& name, const GivenOptions& given) {
  TextsToContinue texts = {.prompts = given.texts("prompt"),
                           .max_new_tokens = given.integer_if_given("max-new-tokens"),
                           .sampling = {.temperature = given.number("temperature"),
                                        .top_k = given.integer("top-k"),
                                        .top_p = given.number("top-p"),
                                        .seed = given.unsigned_integer("seed")},
                           .samples = given.integer("samples"),
                           .stops = given.texts("stop")};
  if (const auto width = given.integer_if_given("beam")) {
    texts.beam = {.width = *width, .length_penalty = given.number("length-penalty")};
  }
  if (absl::Status s = check_options(texts); !s.ok()) return s;
  if (absl::Status s = check_json(given, "{\n  \"generate\": "); !s.ok()) return s;
  const bool reads_lines = texts.prompts.empty() && !given.has("prompt-file");
  absl::Status s = reject({{reads_lines && prints_json(given) && is_terminal(stdin),
                            "--prompt TEXT is needed: --json - has no place for a talk"}});
  if (!s.ok()) return s;
  std::optional<InterruptGuard> loading(std::in_place);  // before there are other threads
  const absl::StatusOr<LoadedRun> run = load_run(name);
  if (!run.ok()) return run.status();
  const absl::StatusOr<Model> model = run->model();
  if (!model.ok()) return model.status();
  if (loading->token().stop_requested()) return absl::CancelledError("interrupted");
  loading.reset();
  Answerer answerer(*run, *model, prints_json(given));
  if (reads_lines && is_terminal(stdin)) {
    s = answerer.talk(texts);
  } else if (reads_lines && !answerer.writes_running_text()) {
    s = answerer.answer_lines(texts);
  } else {
    if (reads_lines || given.has("prompt-file")) {
      absl::StatusOr<PromptFile> file =
          read_prompt_file(reads_lines ? "-" : given.text("prompt-file"));
      if (!file.ok()) return file.status();
      texts.file = *std::move(file);
    }
    s = answerer.answer(texts);
  }
  if (!s.ok()) return s;
  s = write_json(given, continuations_json(*run, texts, answerer.written()));
  if (!s.ok()) return s;
  return answerer.written().was_stopped ? absl::CancelledError("interrupted") : absl::OkStatus();
}

}  // namespace

Verb generate_verb() {
  return {{"generate", "RUN", "continues a text, or answers a question"},
          add_generate_options,
          run_generate};
}

}  // namespace qkv
