#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qkv {

// What the fuzzers check: each target takes any bytes as the input that its name says, and throws
// std::logic_error when what comes out breaks a promise. A crash, a report of a sanitizer and any
// other exception are findings, too. Every finding that was mended stays as a file of
// corpus/TARGET.

// A config file. Where it is understood it reads back the same from its own TOML; otherwise every
// mistake is one line with a place in the file.
void fuzz_config(std::string_view input);

// Up to three overrides as after --set, with a NUL between them.
void fuzz_set(std::string_view input);

// The JSON of a safetensors file: what is understood reads back the same once it is written.
void fuzz_safetensors_header(std::string_view input);

// A whole safetensors file, as tensors and as a checkpoint. An input that begins with { is JSON up
// to its first NUL, then data: the header's length is put before it.
void fuzz_safetensors_body(std::string_view input);

// A metrics.jsonl, read, and cut for a resume after one of its steps.
void fuzz_metrics(std::string_view input);

// Files of the tasks "text" and "lines": both parts of the data set are what the file says.
void fuzz_text(std::string_view input);
void fuzz_lines(std::string_view input);

// A file of the cache of tokens: JSON up to the first NUL, then tokens, around which all checksums
// are put right. What is no file of the cache is none.
void fuzz_cached_text(std::string_view input);

// A CSV file: what is read reads back from the same fields in quotes. Records of the other formats.
void fuzz_csv(std::string_view input);
void fuzz_records(std::string_view input);

// Files of the tasks "pairs" and "classes": a question is on one side of the two.
void fuzz_pairs(std::string_view input);
void fuzz_classes(std::string_view input);

// Images and labels in MNIST's format, gzipped or not: what is understood is what the file says.
void fuzz_idx(std::string_view input);

// Images as PNG and JPEG files; what begins the file and, in a PNG, the sums of its chunks are put
// right before.
void fuzz_png(std::string_view input);
void fuzz_jpeg(std::string_view input);

// A vocabulary and a prompt, with a NUL between them. What stands before the first of several NULs
// is a token each; of one, the characters that are known.
void fuzz_prompt(std::string_view input);

// A text: parts of it make the same vocabulary and the same tokens as the whole, which says what
// the text says. The first two bytes say where it is cut, and which tokens are learned.
void fuzz_tokens(std::string_view input);

// A tokenizer.json: what is understood is written the same, and encodes every text unless its
// tokens are a list.
void fuzz_tokenizer(std::string_view input);

struct FuzzTarget {
  std::string name;
  void (*run)(std::string_view input);
};

// All of the above, by the names of their folders in the corpus, and what apps have added.
std::vector<FuzzTarget>& fuzz_targets();
inline bool add_fuzz_target(const FuzzTarget& target) {
  fuzz_targets().push_back(target);
  return true;
}

}  // namespace qkv
