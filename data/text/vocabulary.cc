#include "data/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "data/text/pieces.h"
#include "data/text/vocabulary_builder.h"
#include "framework/core/each_of.h"
#include "framework/core/error.h"
#include "framework/core/sure.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

bool is_space(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

std::string in_quotes(std::string_view text) { return absl::StrCat("\"", escape(text), "\""); }

}  // namespace

struct Vocabulary::Parts {
  TokenKind kind = TokenKind::kCharacters;
  std::vector<std::string> texts = {};
  absl::flat_hash_map<std::string, int64_t> ids = {};
  bool spaced = false;  // tokens are written with spaces between them
  std::optional<int64_t> unknown = std::nullopt;
  std::optional<BytePairs> pairs = std::nullopt;
  std::vector<int64_t> added = {};
  std::array<int64_t, 128> ascii = {};  // the same ids, of texts of one byte, and -1

  int64_t find(std::string_view text) const {  // -1: there is none
    const auto first = static_cast<unsigned char>(text.front());
    if (text.size() == 1 && first < ascii.size()) return ascii[first];
    const auto found = ids.find(absl::string_view(text.data(), text.size()));
    return found == ids.end() ? -1 : found->second;
  }
};

Vocabulary::Vocabulary() : parts_(std::make_shared<const Parts>()) {}

absl::StatusOr<Vocabulary> Vocabulary::of(Parts parts) {
  parts.ascii.fill(-1);
  std::ranges::sort(parts.added, std::greater<>(),
                    [&](int64_t token) { return std::pair(parts.texts[token].size(), -token); });
  for (size_t i = 0; i < parts.texts.size(); ++i) {
    const std::string& text = parts.texts[i];
    if (text.empty()) {
      return invalid_argument("vocabulary: token ", i, " has no text");
    }
    const auto [place, is_new] = parts.ids.emplace(text, static_cast<int64_t>(i));
    // An added token may have the text of another one, which is put together.
    if (!is_new && std::ranges::count(parts.added, static_cast<int64_t>(i)) == 0) {
      return invalid_argument("vocabulary: tokens ", place->second, " and ", i,
                              " have the same text, ", in_quotes(text));
    }
    const auto first = static_cast<unsigned char>(text.front());
    if (text.size() == 1 && first < parts.ascii.size()) parts.ascii[first] = place->second;
  }
  Vocabulary vocabulary;
  vocabulary.parts_ = std::make_shared<const Parts>(std::move(parts));
  return vocabulary;
}

absl::StatusOr<Vocabulary> Vocabulary::create(std::vector<std::string> texts,
                                              std::optional<int64_t> unknown) {
  Parts parts{.texts = std::move(texts), .unknown = unknown};
  for (size_t i = 0; i < parts.texts.size(); ++i) {
    const std::string& text = parts.texts[i];
    if (!is_utf8(text)) {
      return invalid_argument("vocabulary: token ", i, " is not UTF-8");
    }
    if (code_point_length(text) < text.size()) parts.spaced = true;
  }
  for (const std::string& text : parts.texts) {
    if (parts.spaced && std::ranges::any_of(text, is_space)) {
      return invalid_argument(
          "vocabulary: ", in_quotes(text),
          " contains white space, which stands between tokens of several letters");
    }
  }
  return of(std::move(parts));
}

absl::StatusOr<Vocabulary> Vocabulary::of_characters(std::string_view text) {
  VocabularyBuilder builder(TokenKind::kCharacters, 0);
  builder.add(text);
  return builder.build();
}

Vocabulary Vocabulary::of_bytes() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  return sure(of_byte_pairs(std::move(texts), {}));
}

absl::StatusOr<Vocabulary> Vocabulary::of_byte_pairs(std::vector<std::string> texts,
                                                     std::vector<TokenMerge> merges,
                                                     std::vector<int64_t> added) {
  const int64_t size = std::ssize(texts);
  const auto text_of = [&](int64_t token) -> const std::string& { return texts[token]; };
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right, merged] = merges[i];
    const bool is_good = std::ranges::all_of(std::array{left, right, merged},
                                             [&](int64_t t) { return t >= 0 && t < size; });
    if (!is_good || text_of(left) + text_of(right) != text_of(merged)) {
      return invalid_argument("vocabulary: merge ", i,
                              " is not of two tokens to their texts' token");
    }
  }
  ASSIGN_OR_RETURN(Vocabulary vocabulary,
                   of({.kind = merges.empty() ? TokenKind::kBytes : TokenKind::kBpe,
                       .texts = std::move(texts),
                       .added = std::move(added)}));
  std::array<int64_t, 256> token_of_byte{};
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    token_of_byte[byte] = vocabulary.parts_->find({&text, 1});
    if (token_of_byte[byte] < 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("vocabulary: no token is the byte 0x%02X", byte));
    }
  }
  Parts parts = *vocabulary.parts_;
  parts.pairs.emplace(token_of_byte, std::move(merges));
  vocabulary.parts_ = std::make_shared<const Parts>(std::move(parts));
  return vocabulary;
}

absl::StatusOr<Vocabulary> Vocabulary::of_words(std::vector<std::string> texts, int64_t unknown,
                                                std::vector<int64_t> added) {
  if (unknown < 0 || unknown >= std::ssize(texts)) {
    return absl::InvalidArgumentError("vocabulary: no token stands for unknown words");
  }
  return of({.kind = TokenKind::kWords,
             .texts = std::move(texts),
             .unknown = unknown,
             .added = std::move(added)});
}

TokenKind Vocabulary::kind() const { return parts_->kind; }

const std::vector<std::string>& Vocabulary::texts() const { return parts_->texts; }

std::vector<std::string> Vocabulary::names() const {
  return each_of(texts(),
                 [](const std::string& text) { return is_utf8(text) ? text : printable(text); });
}

std::optional<int64_t> Vocabulary::unknown() const { return parts_->unknown; }

const std::vector<TokenMerge>& Vocabulary::merges() const {
  static const auto& none = *new std::vector<TokenMerge>;
  return parts_->pairs ? parts_->pairs->merges() : none;
}

const std::vector<int64_t>& Vocabulary::added() const { return parts_->added; }

bool Vocabulary::is_spaced() const { return parts_->spaced; }

bool Vocabulary::operator==(const Vocabulary& other) const {
  return kind() == other.kind() && texts() == other.texts() && unknown() == other.unknown() &&
         merges() == other.merges() && added() == other.added();
}

absl::StatusOr<std::vector<int64_t>> Vocabulary::encode(std::string_view text) const {
  std::vector<int64_t> tokens;
  RETURN_IF_ERROR(encode(text, tokens));
  return tokens;
}

absl::Status Vocabulary::encode(std::string_view text, std::vector<int64_t>& tokens) const {
  if (kind() == TokenKind::kCharacters) return encode_listed(text, tokens);
  encode_pieces(split(text, &tokens), tokens);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> Vocabulary::encode_apart(std::string_view text,
                                                              std::string_view mark) const {
  std::vector<int64_t> tokens;
  while (!text.empty()) {
    const size_t place = mark.empty() ? std::string_view::npos : text.find(mark);
    const std::string_view part = place == 0 ? mark : text.substr(0, place);
    RETURN_IF_ERROR(encode(part, tokens));
    text.remove_prefix(part.size());
  }
  return tokens;
}

absl::Status Vocabulary::encode_listed(std::string_view text, std::vector<int64_t>& tokens) const {
  const bool spaced = parts_->spaced;
  int64_t place = 0;  // counts tokens or characters from 1
  while (true) {
    while (spaced && !text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (text.empty()) return absl::OkStatus();
    ++place;

    size_t length = 0;
    if (spaced) {
      while (length < text.size() && !is_space(text[length])) ++length;
    } else {
      length = code_point_length(text);
      if (length == 0) {
        return absl::InvalidArgumentError(
            absl::StrFormat("the text is not UTF-8: byte 0x%02X at character %d",
                            static_cast<unsigned char>(text.front()), place));
      }
    }
    const std::string_view part = text.substr(0, length);
    int64_t token = parts_->find(part);
    if (token < 0) token = unknown().value_or(-1);
    if (token < 0) return unknown_part(part, absl::StrCat(spaced ? "token " : "character ", place));
    tokens.push_back(token);
    text.remove_prefix(length);
  }
}

// Appends the tokens up to the last added one, and returns the rest.
std::string_view Vocabulary::split(std::string_view text, std::vector<int64_t>* tokens) const {
  for (size_t place = 0; !added().empty() && place < text.size(); ++place) {
    const auto found = std::ranges::find_if(
        added(), [&](int64_t token) { return text.substr(place).starts_with(texts()[token]); });
    if (found == added().end()) continue;
    if (tokens != nullptr) {
      encode_pieces(text.substr(0, place), *tokens);
      tokens->push_back(*found);
    }
    text.remove_prefix(place + texts()[*found].size());
    place = static_cast<size_t>(-1);
  }
  return text;
}

void Vocabulary::encode_pieces(std::string_view text, std::vector<int64_t>& tokens) const {
  if (kind() == TokenKind::kBytes) return parts_->pairs->encode(text, tokens);
  // Where the tokens of a piece begin that was met before, and how many they are.
  absl::flat_hash_map<std::string_view, std::pair<size_t, size_t>> met;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, piece_length(text));
    text.remove_prefix(piece.size());
    if (kind() == TokenKind::kWords) {
      const int64_t token = parts_->find(piece);
      tokens.push_back(token < 0 ? *unknown() : token);
      continue;
    }
    const size_t begin = tokens.size();
    const auto [place, is_new] = met.try_emplace(piece, begin, 0);
    if (is_new) {
      parts_->pairs->encode(piece, tokens);
      place->second.second = tokens.size() - begin;
    } else {
      const auto [before, count] = place->second;
      for (size_t i = 0; i < count; ++i) tokens.push_back(tokens[before + i]);
    }
  }
}

size_t Vocabulary::safe_length(std::string_view text) const {
  if (kind() != TokenKind::kCharacters) {
    // Not into a token that the text after it may turn into an added one, or a part of one.
    size_t sure = text.size();
    const size_t longest = added().empty() ? 0 : texts()[added().front()].size();
    for (size_t place = sure; place-- > 0 && place + longest > sure;) {
      const std::string_view rest = text.substr(place);
      for (const int64_t token : added()) {
        const std::string_view known = texts()[token];
        if (place + known.size() > sure && known.starts_with(rest.substr(0, known.size()))) {
          sure = place;
        }
      }
    }
    const std::string_view rest = split(text.substr(0, sure), nullptr);
    const bool any_cut = kind() == TokenKind::kBytes;
    return sure - rest.size() + (any_cut ? rest.size() : length_of_sure_pieces(rest));
  }
  if (!parts_->spaced) return text.size() - unfinished_length(text);
  size_t length = text.size();
  while (length > 0 && !is_space(text[length - 1])) --length;
  return length;
}

std::string Vocabulary::decode(std::span<const int64_t> tokens) const {
  std::string text;
  for (const int64_t token : tokens) {
    if (token < 0 || token >= size()) {
      fail(absl::StrCat("decode: token ", token, " is not in a vocabulary of ", size()));
    }
    if (parts_->spaced && !text.empty()) text += ' ';
    text += texts()[token];
  }
  return text;
}

absl::Status Vocabulary::unknown_part(std::string_view what, std::string_view where) const {
  constexpr size_t kShown = 120;
  std::string known;
  for (size_t i = 0; i < texts().size() && i < kShown; ++i) {
    if (parts_->spaced && i > 0) known += ' ';
    known += escape(texts()[i]);
  }
  if (texts().size() > kShown) absl::StrAppend(&known, " … (", texts().size(), " in all)");
  return invalid_argument("unknown ", std::string(where), ": ", in_quotes(what),
                          "; the vocabulary is: ", known);
}

}  // namespace qkv
