#include "data/text/vocabulary_builder.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "data/text/pieces.h"
#include "data/text/tokenizer_json.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

// With the space that most words begin with. No piece has this text.
constexpr char kUnknownWord[] = " <unk>";
constexpr char kUnknownCharacter[] = "\uFFFD";
constexpr char kLineEnd[] = "\n";

}  // namespace

void VocabularyBuilder::add(std::string_view part) {
  if (kind_ == TokenKind::kCharacters) return add_characters(part, 1);
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
  if (kind_ == TokenKind::kCharacters) add_characters(part, min_count_ > 0 ? 0 : 1);
}

void VocabularyBuilder::add_answer(std::string_view text) {
  const int64_t times = std::max<int64_t>(min_count_, 1);
  if (kind_ == TokenKind::kCharacters) return add_characters(text, times);
  end_text();
  times_ = kind_ == TokenKind::kWords ? times : 1;
  add(text);
  end_text();
  times_ = 1;
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

void VocabularyBuilder::add_characters(std::string_view part, int64_t times) {
  const std::string joined = rest_.empty() ? "" : absl::StrCat(rest_, std::string(part));
  std::string_view text = rest_.empty() ? part : std::string_view(joined);
  rest_ = text.substr(text.size() - unfinished_length(text));
  text.remove_suffix(rest_.size());
  while (!text.empty() && is_utf8_) {
    const auto byte = static_cast<unsigned char>(text.front());
    const size_t length = code_point_length(text);
    if (byte < 0x80) {
      ascii_[byte] += times;
    } else if (length > 0) {
      counts_[absl::string_view(text.data(), length)] += times;
    } else {
      is_utf8_ = false;
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
}

void VocabularyBuilder::count_pieces(std::string_view text) {
  while (!text.empty()) {
    const size_t length = piece_length(text);
    counts_[absl::string_view(text.data(), length)] += times_;
    text.remove_prefix(length);
  }
}

absl::StatusOr<Vocabulary> VocabularyBuilder::characters() const {
  if (!is_utf8_) return absl::InvalidArgumentError("vocabulary: the text is not UTF-8");
  const int64_t least = std::max<int64_t>(min_count_, 1);
  std::set<std::string> known(tokens_.begin(), tokens_.end());  // in the order of code points
  for (size_t c = 0; c < ascii_.size(); ++c) {
    if (ascii_[c] >= least) known.emplace(1, static_cast<char>(c));
  }
  for (const auto& [text, count] : counts_) {
    if (count >= least) known.insert(text);
  }
  if (min_count_ > 0) known.erase(kUnknownCharacter);
  std::vector<std::string> texts(known.begin(), known.end());
  if (min_count_ == 0) return Vocabulary::create(std::move(texts));
  texts.emplace_back(kUnknownCharacter);
  const int64_t unknown = std::ssize(texts) - 1;
  return Vocabulary::create(std::move(texts), unknown);
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
  for (const std::string& token : tokens_) {
    if (token != kLineEnd) texts.push_back(token);
  }
  const std::set<std::string, std::less<>> known(texts.begin(), texts.end());
  for (const CountedPiece& word : most_frequent_first()) {
    if (std::ssize(texts) >= size_ || word.count < min_count_) break;
    if (!known.contains(word.piece)) texts.emplace_back(word.piece);
  }
  return Vocabulary::of_words(std::move(texts), 0);
}

absl::StatusOr<Vocabulary> VocabularyBuilder::byte_pairs() const {
  std::vector<std::string> texts = texts_of_bytes();
  std::vector<TokenMerge> merges = learn_byte_pairs(most_frequent_first(), size_, texts);
  if (std::ssize(texts) < size_) {
    return invalid_argument("data.vocabulary_size is ", size_,
                            ", but the text for training makes only ", texts.size(),
                            " tokens: 256 bytes and ", texts.size() - 256,
                            " byte pairs; use a longer text or a smaller vocabulary");
  }
  return Vocabulary::of_byte_pairs(std::move(texts), std::move(merges));
}

}  // namespace qkv
