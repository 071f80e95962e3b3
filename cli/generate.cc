#include <csignal>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/output_files.h"
#include "cli/verbs.h"
#include "framework/core/terminal.h"
#include "framework/core/utf8.h"
#include "train/run/continue_texts.h"
#include "train/run/interrupt.h"

namespace qkv {
namespace {

void add_generate_options(OptionList& options) {
  options.texts("prompt", "TEXT", "The text to continue; may be repeated, and empty for a text");
  options.may_be_empty("prompt");
  options.text("prompt-file", "FILE",
               "File with a text to continue, or with a question on each line; -: standard input, "
               "which is also read where it is no terminal and there is no prompt");
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
}

// A pipe or a file gets every byte as it is. Returns false when nobody reads any more.
bool print_text(const std::string& text) {
  print(is_terminal(stdout) ? printable_lines(text) : text);
  std::fflush(stdout);
  return std::ferror(stdout) == 0;
}

absl::Status check_generate_options(const GivenOptions& given, const TextsToContinue& texts) {
  for (const char* option : {"samples", "temperature", "top-k", "top-p", "seed"}) {
    if (!texts.beam || !given.has(option)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--beam searches the most likely text and samples nothing; leave out --", option));
  }
  if (absl::Status s = check_options(texts); !s.ok()) return s;
  return reject({{!texts.beam && given.has("length-penalty"), "--length-penalty goes with --beam"},
                 {!given.has("prompt") && !given.has("prompt-file") && is_terminal(stdin),
                  "--prompt TEXT is needed: what should the model continue?"}});
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
  if (absl::Status s = check_generate_options(given, texts); !s.ok()) return s;
  if (absl::Status s = check_json(given, kBeginningOfGenerated); !s.ok()) return s;
  if (texts.prompts.empty() || given.has("prompt-file")) {
    const std::string path = given.has("prompt-file") ? given.text("prompt-file") : "-";
    absl::StatusOr<PromptFile> file = read_prompt_file(path);
    if (!file.ok()) return file.status();
    texts.file = *std::move(file);
  }
  const InterruptGuard interrupt;  // after the prompt, which one may wait for
  std::signal(SIGPIPE, SIG_DFL);   // whose reader has gone ends without a word
  const absl::StatusOr<LoadedRun> loaded = load_run(name);
  if (!loaded.ok()) return loaded.status();
  const auto print_if_asked = [&](const auto& text) {
    return prints_json(given) || print_text(text);
  };
  const absl::StatusOr<Continuations> written =
      continue_texts(*loaded, texts, print_if_asked, say_warning, interrupt.token());
  if (!written.ok()) return written.status();
  absl::Status s = write_json(given, continuations_json(*loaded, texts, *written));
  if (!s.ok()) return s;
  return written->was_stopped ? absl::CancelledError("interrupted") : absl::OkStatus();
}

}  // namespace

Verb generate_verb() {
  return {{"generate", "RUN", "continues a text, or answers a question"},
          add_generate_options,
          run_generate};
}

}  // namespace qkv
