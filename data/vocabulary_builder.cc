#include "data/vocabulary_builder.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "data/tokenizer_json.h"
#include "data/tokens/pieces.h"
#include "framework/core/utf8.h"

namespace qkv {
namespace {

// With the space that most words begin with. No piece has this text.
constexpr char kUnknownWord[] = " <unk>";
constexpr char kLineEnd[] = "\n";

}  // namespace

void VocabularyBuilder::add(std::string_view part) {
  if (kind_ == TokenKind::kCharacters) return add_characters(part);
  if (!counts_pieces()) return;
  if (rest_.empty()) {
    const size_t length = length_of_sure_pieces(part);
    count_pieces(part.substr(0, length));
    rest_ = part.substr(length);
    return;
  }
  rest_ += part;
  const size_t length = length_of_sure_pieces(rest_);
  count_pieces(std::string_view(rest_).substr(0, length));
  rest_.erase(0, length);
}

void VocabularyBuilder::add_validation(std::string_view part) {
  if (kind_ == TokenKind::kCharacters) add_characters(part);
}

void VocabularyBuilder::end_text() {
  if (kind_ == TokenKind::kCharacters) {
    is_utf8_ = is_utf8_ && rest_.empty();
  } else {
    count_pieces(rest_);
  }
  rest_.clear();
}

absl::StatusOr<Vocabulary> VocabularyBuilder::build() {
  end_text();
  switch (kind_) {
    case TokenKind::kBytes:
      return Vocabulary::of_bytes();
    case TokenKind::kWords:
      return words();
    case TokenKind::kBpe:
      return byte_pairs();
    case TokenKind::kTokenizer:
      return read_tokenizer(tokenizer_);
    default:
      return characters();
  }
}

void VocabularyBuilder::add_characters(std::string_view part) {
  const std::string joined = rest_.empty() ? "" : absl::StrCat(rest_, std::string(part));
  std::string_view text = rest_.empty() ? part : std::string_view(joined);
  rest_ = text.substr(text.size() - unfinished_length(text));
  text.remove_suffix(rest_.size());
  while (!text.empty() && is_utf8_) {
    const auto byte = static_cast<unsigned char>(text.front());
    const size_t length = code_point_length(text);
    if (byte < 0x80) {
      ascii_[byte] = true;
    } else if (length > 0) {
      ++counts_[absl::string_view(text.data(), length)];
    } else {
      is_utf8_ = false;
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
}

void VocabularyBuilder::count_pieces(std::string_view text) {
  while (!text.empty()) {
    const size_t length = piece_length(text);
    ++counts_[absl::string_view(text.data(), length)];
    text.remove_prefix(length);
  }
}

absl::StatusOr<Vocabulary> VocabularyBuilder::characters() const {
  if (!is_utf8_) return absl::InvalidArgumentError("vocabulary: the text is not UTF-8");
  std::vector<std::string> texts;
  for (size_t c = 0; c < ascii_.size(); ++c) {
    if (ascii_[c]) texts.emplace_back(1, static_cast<char>(c));
  }
  for (const auto& [text, count] : counts_) texts.push_back(text);
  std::ranges::sort(texts);  // the order of UTF-8 bytes is that of code points
  return Vocabulary::create(std::move(texts));
}

// Those that are as frequent in the order of their bytes: a table's own order means nothing.
std::vector<CountedPiece> VocabularyBuilder::most_frequent_first() const {
  std::vector<CountedPiece> pieces;
  pieces.reserve(counts_.size());
  for (const auto& [piece, count] : counts_) pieces.push_back({piece, count});
  std::ranges::sort(pieces, [](const CountedPiece& a, const CountedPiece& b) {
    return std::tie(b.count, a.piece) < std::tie(a.count, b.piece);
  });
  return pieces;
}

absl::StatusOr<Vocabulary> VocabularyBuilder::words() const {
  std::vector<std::string> texts = {kUnknownWord, kLineEnd};
  for (const CountedPiece& word : most_frequent_first()) {
    if (std::ssize(texts) >= size_) break;
    if (word.piece != kLineEnd) texts.emplace_back(word.piece);
  }
  return Vocabulary::of_words(std::move(texts), 0);
}

absl::StatusOr<Vocabulary> VocabularyBuilder::byte_pairs() const {
  std::vector<std::string> texts = texts_of_bytes();
  std::vector<TokenMerge> merges = learn_byte_pairs(most_frequent_first(), size_, texts);
  if (std::ssize(texts) < size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.vocabulary_size is ", size_, ", but the text for training makes only ",
                     texts.size(), " tokens: 256 bytes and ", texts.size() - 256,
                     " byte pairs; use a longer text or a smaller vocabulary"));
  }
  return Vocabulary::of_byte_pairs(std::move(texts), std::move(merges));
}

}  // namespace qkv
