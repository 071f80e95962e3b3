#include "data/tokens/byte_pairs.h"

#include <queue>
#include <tuple>

namespace qkv {
namespace {

uint64_t key_of(int64_t left, int64_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
}

// A token in a piece, in a list.
struct Symbol {
  int64_t token;
  int64_t previous, next;  // -1: there is none
  bool is_there = true;
};

// A merge that may be made at a place of a piece.
struct Possible {
  int64_t rank, place, merged;
  bool operator>(const Possible& other) const {
    return std::tie(rank, place) > std::tie(other.rank, other.place);
  }
};

}  // namespace

BytePairs::BytePairs(std::array<int64_t, 256> token_of_byte, std::vector<TokenMerge> merges)
    : token_of_byte_(token_of_byte), merges_(std::move(merges)) {
  places_.reserve(merges_.size());
  for (size_t i = 0; i < merges_.size(); ++i) {
    places_[key_of(merges_[i].left, merges_[i].right)] = {static_cast<int64_t>(i),
                                                          merges_[i].merged};
  }
}

const BytePairs::Place* BytePairs::find(int64_t left, int64_t right) const {
  const auto found = places_.find(key_of(left, right));
  return found == places_.end() ? nullptr : &found->second;
}

void BytePairs::encode(std::string_view piece, std::vector<int64_t>& tokens) const {
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (const char c : piece) {
    const int64_t place = std::ssize(symbols);
    const bool is_last = place + 1 == std::ssize(piece);
    symbols.push_back(
        {token_of_byte_[static_cast<unsigned char>(c)], place - 1, is_last ? -1 : place + 1});
  }
  std::priority_queue<Possible, std::vector<Possible>, std::greater<>> queue;
  const auto consider = [&](int64_t place) {
    if (place < 0 || symbols[static_cast<size_t>(place)].next < 0) return;
    const Symbol& left = symbols[static_cast<size_t>(place)];
    const Place* found = find(left.token, symbols[static_cast<size_t>(left.next)].token);
    if (found != nullptr) queue.push({found->rank, place, found->merged});
  };
  for (int64_t place = 0; place < std::ssize(symbols); ++place) consider(place);
  while (!queue.empty()) {
    const Possible next = queue.top();
    queue.pop();
    Symbol& left = symbols[static_cast<size_t>(next.place)];
    if (!left.is_there || left.next < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    const Place* now = find(left.token, right.token);
    if (now == nullptr || now->merged != next.merged) continue;  // it was another pair
    left.token = next.merged;
    left.next = right.next;
    right.is_there = false;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = next.place;
    consider(left.previous);
    consider(next.place);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.is_there) tokens.push_back(symbol.token);
  }
}

std::vector<std::string> texts_of_bytes() {
  const auto is_printed = [](int byte) {
    return (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
  };
  std::vector<std::string> texts;
  for (const bool printed : {true, false}) {
    for (int byte = 0; byte < 256; ++byte) {
      if (is_printed(byte) == printed) texts.emplace_back(1, static_cast<char>(byte));
    }
  }
  return texts;
}

}  // namespace qkv
