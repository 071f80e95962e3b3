#include "cli/answerer.h"

#include <dlfcn.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/show.h"
#include "data/tasks/tasks.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"
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

}  // namespace

absl::Status Answerer::answer(const TextsToContinue& texts) {
  const InterruptGuard interrupt;
  std::signal(SIGPIPE, SIG_DFL);  // whose reader has gone ends without a word
  const auto print = [&](const std::string& text) { return quiet_ || print_text(text); };
  absl::StatusOr<Continuations> more =
      continue_texts(run_, model_, texts, print, say_warning, interrupt.token());
  if (!more.ok()) return more.status();
  written_.was_stopped = more->was_stopped;
  std::ranges::move(more->all, std::back_inserter(written_.all));
  return absl::OkStatus();
}

absl::Status Answerer::answer_lines(TextsToContinue texts) {
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

absl::Status Answerer::talk(TextsToContinue texts) {
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

bool Answerer::writes_running_text() const {
  return find_task(run_.checkpoint.config.data.task)->is_running_text;
}

}  // namespace qkv
