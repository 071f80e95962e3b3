// token_bench FILE [SIZE]: learns byte pairs from a text until there are SIZE tokens (4,096),
// encodes the text with them, and prints the processor time of both.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "data/vocabulary_builder.h"
#include "framework/io/files.h"

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: token_bench FILE [SIZE]\n"), 2;
  const absl::StatusOr<std::string> text = qkv::read_regular_file(argv[1]);
  if (!text.ok()) {
    return std::fprintf(stderr, "error: %s\n", std::string(text.status().message()).c_str()), 2;
  }
  const int64_t size = argc > 2 ? std::atoll(argv[2]) : 4096;
  constexpr size_t kPart = 1 << 20;
  const double begin = processor_seconds();
  qkv::VocabularyBuilder builder(qkv::TokenKind::kBpe, size);
  for (size_t i = 0; i < text->size(); i += kPart)
    builder.add({text->data() + i, std::min(kPart, text->size() - i)});
  builder.end_text();
  const double counted = processor_seconds();
  const absl::StatusOr<qkv::Vocabulary> vocabulary = builder.build();
  if (!vocabulary.ok()) {
    return std::fprintf(stderr, "error: %s\n", std::string(vocabulary.status().message()).c_str()),
           2;
  }
  const double learned = processor_seconds();
  std::string_view rest = *text;
  std::vector<int64_t> tokens;
  int64_t count = 0;
  while (!rest.empty()) {
    const size_t safe = vocabulary->safe_length(rest.substr(0, kPart));
    const size_t length = safe == 0 || rest.size() <= kPart ? rest.size() : safe;
    tokens.clear();
    if (!vocabulary->encode(rest.substr(0, length), tokens).ok()) return 1;
    count += std::ssize(tokens);
    rest.remove_prefix(length);
  }
  const double encoded = processor_seconds();
  const double megabytes = static_cast<double>(text->size()) * 1e-6;
  std::printf(
      "%.0f MB: %ld tokens learned in %.1f s (%.1f s of them count the pieces of the text)\n",
      megabytes, static_cast<long>(vocabulary->size()), learned - begin, counted - begin);
  std::printf("encoded in %.1f s, %.1f MB/s: %ld tokens, %.2f bytes each\n", encoded - learned,
              megabytes / (encoded - learned), static_cast<long>(count),
              megabytes * 1e6 / static_cast<double>(count));
  return 0;
}
