#pragma once

#include "absl/status/status.h"
#include "train/generate/continue_texts.h"

namespace qkv {

// Asks a model, prints what it writes, and keeps it. Ctrl-C ends the text that is being written.
class Answerer {
 public:
  // `quiet`: prints nothing.
  Answerer(const LoadedRun& run, const Model& model, bool quiet)
      : run_(run), model_(model), quiet_(quiet) {}

  absl::Status answer(const TextsToContinue& texts);
  absl::Status answer_lines(TextsToContinue texts);  // of standard input, as soon as each is there
  absl::Status talk(TextsToContinue texts);  // asks a person, whatever was wrong, until Ctrl-D

  bool writes_running_text() const;
  const Continuations& written() const { return written_; }

 private:
  const LoadedRun& run_;
  const Model& model_;
  const bool quiet_;
  Continuations written_;
};

}  // namespace qkv
