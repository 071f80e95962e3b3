#include <dlfcn.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <optional>

#include "cli/kit.h"
#include "data/tasks/tasks.h"
#include "train/generate/continue_texts.h"
#include "train/watch/interrupt.h"

namespace qkv {
namespace {

// A pipe or a file gets every byte as it is. Returns false when nobody reads any more.
bool print_text(const std::string& text) {
  print(is_terminal(stdout) ? printable_lines(text) : text);
  std::fflush(stdout);
  return std::ferror(stdout) == 0;
}

// Asks a person for lines. Where the system has a library for it, they can be edited, and ↑ brings
// back those before; the two have the same functions.
class Person {
 public:
  Person() {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // a character is edited, not its bytes
    for (const char* name : {"libreadline.so.8", "libedit.so.2"}) {
      void* const library = ::dlopen(name, RTLD_NOW);
      if (!library) continue;
      readline_ = reinterpret_cast<char* (*)(const char*)>(::dlsym(library, "readline"));
      add_history_ = reinterpret_cast<int (*)(const char*)>(::dlsym(library, "add_history"));
      return;
    }
  }

  std::optional<std::string> next_line() const {
    std::string line;
    if (!readline_) {
      print(kAsks);
      std::fflush(stdout);
      if (!std::getline(std::cin, line)) return std::nullopt;
      return line;
    }
    char* const text = readline_(kAsks);
    if (!text) return std::nullopt;
    line = text;
    std::free(text);
    if (!line.empty()) add_history_(line.c_str());
    return line;
  }

 private:
  static constexpr char kAsks[] = "> ";
  char* (*readline_)(const char*) = nullptr;
  int (*add_history_)(const char*) = nullptr;
};

// Asks a model, prints what it writes, and keeps it. Ctrl-C ends the text that is being written.
class Answerer {
 public:
  // `quiet`: prints nothing.
  Answerer(const LoadedRun& run, const Model& model, bool quiet)
      : run_(run), model_(model), quiet_(quiet) {}

  absl::Status answer(const TextsToContinue& texts) {
    const InterruptGuard interrupt;
    std::signal(SIGPIPE, SIG_DFL);  // whose reader has gone ends without a word
    const auto print = [&](const std::string& text) { return quiet_ || print_text(text); };
    ASSIGN_OR_RETURN(Continuations more,
                     continue_texts(run_, model_, texts, print, say_warning, interrupt.token()));
    written_.was_stopped = more.was_stopped;
    std::ranges::move(more.all, std::back_inserter(written_.all));
    return absl::OkStatus();
  }

  // Answers the lines of standard input, each as soon as it is there.
  absl::Status answer_lines(TextsToContinue texts) {
    std::string line;
    int64_t number = 1;
    for (; std::getline(std::cin, line); ++number) {
      if (line.ends_with('\r')) line.pop_back();
      texts.file = {absl::StrCat("standard input:", number), line, /*is_line=*/true};
      absl::Status status = answer(texts);
      if (!status.ok() || written_.was_stopped) return status;
    }
    if (number > 1) return absl::OkStatus();
    texts.file = {"standard input", ""};
    return answer(texts);
  }

  // Asks a person, whatever was wrong, until Ctrl-D.
  absl::Status talk(TextsToContinue texts) {
    if (absl::Status s = answer(texts); !s.ok()) return s;  // whatever is asked
    const Person person;
    texts.prints_prompts = writes_running_text();
    say_note("each line is a prompt; Ctrl-D ends");
    while (const std::optional<std::string> line = person.next_line()) {
      texts.file = {"the prompt", *line, /*is_line=*/true};
      const absl::Status status = answer(texts);
      if (!status.ok()) say_error(printable(std::string(status.message())));
    }
    print("\n");
    written_.was_stopped = false;  // a text that Ctrl-C ended was followed by another prompt
    return absl::OkStatus();
  }

  bool writes_running_text() const {
    return find_task(run_.checkpoint.config.data.task)->is_running_text;
  }

  const Continuations& written() const { return written_; }

 private:
  const LoadedRun& run_;
  const Model& model_;
  const bool quiet_;
  Continuations written_;
};

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
  RETURN_IF_ERROR(check_options(texts));
  RETURN_IF_ERROR(check_json(given, "{\n  \"generate\": "));
  const bool reads_lines = texts.prompts.empty() && !given.has("prompt-file");
  RETURN_IF_ERROR(reject({{reads_lines && prints_json(given) && is_terminal(stdin),
                           "--prompt TEXT is needed: --json - has no place for a talk"}}));
  std::optional<InterruptGuard> loading(std::in_place);  // before there are other threads
  ASSIGN_OR_RETURN(const LoadedRun run, load_run(name));
  ASSIGN_OR_RETURN(const Model model, run.model());
  if (loading->token().stop_requested()) return absl::CancelledError("interrupted");
  loading.reset();
  Answerer answerer(run, model, prints_json(given));
  if (reads_lines && is_terminal(stdin)) {
    RETURN_IF_ERROR(answerer.talk(texts));
  } else if (reads_lines && !answerer.writes_running_text()) {
    RETURN_IF_ERROR(answerer.answer_lines(texts));
  } else {
    if (reads_lines || given.has("prompt-file")) {
      ASSIGN_OR_RETURN(texts.file, read_prompt_file(reads_lines ? "-" : given.text("prompt-file")));
    }
    RETURN_IF_ERROR(answerer.answer(texts));
  }
  RETURN_IF_ERROR(write_json(given, continuations_json(run, texts, answerer.written())));
  return answerer.written().was_stopped ? absl::CancelledError("interrupted") : absl::OkStatus();
}

}  // namespace

Verb generate_verb() {
  return {{"generate", "RUN", "continues a text, or answers a question"},
          add_generate_options,
          run_generate};
}

}  // namespace qkv
