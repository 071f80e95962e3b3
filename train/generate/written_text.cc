#include "train/generate/written_text.h"

#include <algorithm>
#include <utility>

#include "framework/core/utf8.h"

namespace qkv {
namespace {

constexpr std::string_view kNoCharacter = "\uFFFD";

// The number of bytes at the end of `text` that begin `stop`.
size_t beginning_of_stop(std::string_view text, std::string_view stop) {
  size_t length = std::min(text.size(), stop.size() - 1);
  while (!text.ends_with(stop.substr(0, length))) --length;
  return length;
}

}  // namespace

WrittenText::WrittenText(const Vocabulary& vocabulary, int64_t before,
                         std::vector<std::string> stops, std::string last_token)
    : vocabulary_(&vocabulary),
      before_(before),
      stops_(std::move(stops)),
      last_token_(std::move(last_token)) {}

bool WrittenText::add(int64_t token) {
  if (!last_token_.empty() && vocabulary_->decode({{token}}) == last_token_) {
    end_ = TextEnd::kLastToken;
    return false;
  }
  // What the token adds after the one before it: there may be a space between them.
  const size_t length = text_.size();
  append(vocabulary_->decode({{before_, token}}).substr(vocabulary_->decode({{before_}}).size()));
  before_ = token;

  size_t first = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t searched = length < stop.size() ? 0 : length - stop.size() + 1;
    first = std::min(first, text_.find(stop, searched));
  }
  if (first == std::string::npos) return true;
  text_.resize(first);
  unfinished_.clear();
  end_ = TextEnd::kStop;
  return false;
}

std::string WrittenText::take_settled() {
  size_t held_back = 0;
  for (const std::string& stop : stops_) {
    held_back = std::max(held_back, beginning_of_stop(text_, stop));
  }
  return take_until(text_.size() - held_back);
}

std::string WrittenText::take_rest() {
  text_ = text();
  unfinished_.clear();
  return take_until(text_.size());
}

std::string WrittenText::text() const {
  return unfinished_.empty() ? text_ : text_ + std::string(kNoCharacter);
}

void WrittenText::append(std::string_view bytes) {
  unfinished_ += bytes;
  std::string_view left = unfinished_;
  const size_t rest = unfinished_length(left);
  while (left.size() > rest) {
    const size_t length = code_point_length(left);
    text_ += length == 0 ? kNoCharacter : left.substr(0, length);
    left.remove_prefix(std::max<size_t>(length, 1));
  }
  unfinished_ = std::string(left);
}

std::string WrittenText::take_until(size_t end) {
  const size_t begin = std::exchange(taken_, std::max(taken_, end));
  return text_.substr(begin, taken_ - begin);
}

}  // namespace qkv
