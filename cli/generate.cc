#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/verbs.h"
#include "framework/core/utf8.h"
#include "train/run/continue_texts.h"

namespace qkv {
namespace {

void add_generate_options(OptionList& options) {
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

// A pipe or a file gets every byte as it is. Returns false when nobody reads any more.
bool print_text(const std::string& text) {
  print(isatty(STDOUT_FILENO) == 1 ? printable_lines(text) : text);
  std::fflush(stdout);
  return std::ferror(stdout) == 0;
}

absl::Status run_generate(const std::string& name, const GivenOptions& given) {
  const TextsToContinue texts = {.prompts = given.texts("prompt"),
                                 .max_new_tokens = given.integer_if_given("max-new-tokens"),
                                 .sampling = {.temperature = given.number("temperature"),
                                              .top_k = given.integer("top-k"),
                                              .top_p = given.number("top-p"),
                                              .seed = given.unsigned_integer("seed")}};
  const SamplingOptions& s = texts.sampling;
  absl::Status options = reject(
      {{!(s.temperature >= 0) || !std::isfinite(s.temperature), "--temperature must be 0 or more"},
       {s.top_k < 0, "--top-k must be 0 (all tokens) or more"},
       {!(s.top_p > 0) || s.top_p > 1, "--top-p must be above 0 and at most 1"},
       {texts.max_new_tokens.value_or(0) < 0, "--max-new-tokens must be 0 or more"},
       {texts.prompts.empty() || std::ranges::count(texts.prompts, "") != 0,
        "--prompt TEXT is needed: what should the model continue?"}});
  if (!options.ok()) return options;
  const absl::StatusOr<LoadedRun> loaded = load_run(name);
  if (!loaded.ok()) return loaded.status();
  if (loaded->checkpoint.data.is_image()) {
    return absl::FailedPreconditionError(loaded->path +
                                         ": the model classifies images; it writes no text");
  }
  return continue_texts(*loaded, texts, print_text, say_note);
}

}  // namespace

Verb generate_verb() {
  return {{"generate", "RUN", "continues a text, or answers a question"},
          add_generate_options,
          run_generate};
}

}  // namespace qkv
