#include "data/vocabulary.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "framework/core/error.h"
#include "framework/core/utf8.h"

namespace qkv {
namespace {

bool is_space(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

std::string in_quotes(std::string_view text) { return absl::StrCat("\"", escape(text), "\""); }

}  // namespace

absl::StatusOr<Vocabulary> Vocabulary::create(std::vector<std::string> texts) {
  Vocabulary vocabulary;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    if (text.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("vocabulary: token ", i, " has no text"));
    }
    size_t characters = 0;
    for (std::string_view rest = text; !rest.empty(); ++characters) {
      const size_t length = code_point_length(rest);
      if (length == 0) {
        return absl::InvalidArgumentError(absl::StrCat("vocabulary: token ", i, " is not UTF-8"));
      }
      rest.remove_prefix(length);
    }
    if (characters > 1) vocabulary.spaced_ = true;

    const auto [place, is_new] = vocabulary.ids_.emplace(text, static_cast<int64_t>(i));
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat("vocabulary: tokens ", place->second, " and ",
                                                     i, " have the same text, ", in_quotes(text)));
    }
  }
  if (vocabulary.spaced_) {
    for (const std::string& text : texts) {
      if (std::any_of(text.begin(), text.end(), is_space)) {
        return absl::InvalidArgumentError(
            absl::StrCat("vocabulary: ", in_quotes(text),
                         " contains white space, which stands between tokens of several letters"));
      }
    }
  }
  vocabulary.texts_ = std::move(texts);
  return vocabulary;
}

absl::StatusOr<Vocabulary> Vocabulary::of_characters(std::string_view text) {
  std::set<std::string_view> characters;  // the order of UTF-8 bytes is that of code points
  while (!text.empty()) {
    const size_t length = code_point_length(text);
    if (length == 0) return absl::InvalidArgumentError("vocabulary: the text is not UTF-8");
    characters.insert(text.substr(0, length));
    text.remove_prefix(length);
  }
  return create({characters.begin(), characters.end()});
}

absl::StatusOr<std::vector<int64_t>> Vocabulary::encode(std::string_view text) const {
  std::vector<int64_t> tokens;
  int64_t place = 0;  // counts tokens or characters from 1
  while (true) {
    while (spaced_ && !text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (text.empty()) return tokens;
    ++place;

    size_t length = 0;
    if (spaced_) {
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
    const auto found = ids_.find(part);
    if (found == ids_.end()) {
      return unknown(part, absl::StrCat(spaced_ ? "token " : "character ", place));
    }
    tokens.push_back(found->second);
    text.remove_prefix(length);
  }
}

std::string Vocabulary::decode(std::span<const int64_t> tokens) const {
  std::string text;
  for (const int64_t token : tokens) {
    if (token < 0 || token >= size()) {
      fail(absl::StrCat("decode: token ", token, " is not in a vocabulary of ", size()));
    }
    if (spaced_ && !text.empty()) text += ' ';
    text += texts_[static_cast<size_t>(token)];
  }
  return text;
}

absl::Status Vocabulary::unknown(std::string_view what, std::string_view where) const {
  constexpr size_t kShown = 120;
  std::string known;
  for (size_t i = 0; i < texts_.size() && i < kShown; ++i) {
    if (spaced_ && i > 0) known += ' ';
    known += escape(texts_[i]);
  }
  if (texts_.size() > kShown) absl::StrAppend(&known, " … (", texts_.size(), " in all)");
  return absl::InvalidArgumentError(absl::StrCat("unknown ", std::string(where), ": ",
                                                 in_quotes(what), "; the vocabulary is: ", known));
}

}  // namespace qkv
