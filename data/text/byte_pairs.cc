#include "data/text/byte_pairs.h"

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

using Pair = std::pair<int32_t, int32_t>;

// A pair that may be merged next: how often it occurs, as far as is known, and in which pieces.
struct Candidate {
  int64_t count;
  Pair pair;
  int64_t step;  // when it was found
  std::vector<int32_t> pieces;

  // Whether the other one comes first, in a heap.
  bool operator<(const Candidate& other) const {
    return std::tie(count, other.pair, other.step) < std::tie(other.count, pair, step);
  }
};

// As BpeTrainer of Hugging Face's tokenizers does it, whose merges these are, too: where two pairs
// make the same text, they make the same token.
class PairLearner {
 public:
  PairLearner(std::span<const CountedPiece> pieces, std::vector<std::string>& texts)
      : texts_(texts) {
    std::array<int32_t, 256> token_of_byte{};
    for (size_t i = 0; i < texts.size(); ++i) {
      token_of_byte[static_cast<unsigned char>(texts[i].front())] = static_cast<int32_t>(i);
      ids_[texts[i]] = static_cast<int32_t>(i);
    }
    for (const auto& [piece, count] : pieces) {
      Piece& added = pieces_.emplace_back(Piece{symbols_.size(), piece.size(), count});
      for (const char c : piece) {
        symbols_.push_back(token_of_byte[static_cast<unsigned char>(c)]);
      }
      for (size_t i = 0; i + 1 < added.length; ++i) {
        change({symbols_[added.begin + i], symbols_[added.begin + i + 1]}, 1,
               static_cast<int32_t>(pieces_.size() - 1));
      }
    }
    queue_what_was_found();
  }

  std::vector<TokenMerge> learn(int64_t size) {
    std::vector<TokenMerge> merges;
    while (std::ssize(texts_) < size && !queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end());
      Candidate& top = queue_.back();
      if (const int64_t now = counts_[top.pair]; now != top.count) {
        top.count = now;
        std::push_heap(queue_.begin(), queue_.end());
        continue;
      }
      if (top.count < 1) break;
      const Candidate next = std::move(top);
      queue_.pop_back();
      merges.push_back({next.pair.first, next.pair.second, token_of(next.pair)});
      ++step_;
      for (const int32_t piece : next.pieces) {
        merge(piece, next.pair, static_cast<int32_t>(merges.back().merged));
      }
      queue_what_was_found();
    }
    return merges;
  }

 private:
  struct Piece {
    size_t begin, length;  // in symbols_
    int64_t count;
  };

  int32_t token_of(const Pair& pair) {
    const std::string text = texts_[pair.first] + texts_[pair.second];
    const auto [place, is_new] = ids_.emplace(text, static_cast<int32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return place->second;
  }

  void change(const Pair& pair, int64_t by, int32_t piece) {
    counts_[pair] += by * pieces_[piece].count;
    if (by < 0) return;
    std::vector<int32_t>& found = found_[pair];
    if (found.empty() || found.back() != piece) found.push_back(piece);
  }

  void queue_what_was_found() {
    for (auto& [pair, pieces] : found_) {
      const int64_t count = counts_[pair];
      if (count < 1) continue;
      queue_.push_back({count, pair, step_, std::move(pieces)});
      std::push_heap(queue_.begin(), queue_.end());
    }
    found_.clear();
  }

  void merge(int32_t number, const Pair& pair, int32_t merged) {
    Piece& piece = pieces_[number];
    int32_t* const symbols = symbols_.data() + piece.begin;
    size_t written = 0;
    for (size_t read = 0; read < piece.length; ++read) {
      const bool is_pair = read + 1 < piece.length && symbols[read] == pair.first &&
                           symbols[read + 1] == pair.second;
      if (!is_pair) {
        symbols[written++] = symbols[read];
        continue;
      }
      if (written > 0) {
        change({symbols[written - 1], pair.first}, -1, number);
        change({symbols[written - 1], merged}, 1, number);
      }
      if (read + 2 < piece.length) {
        change({pair.second, symbols[read + 2]}, -1, number);
        change({merged, symbols[read + 2]}, 1, number);
      }
      symbols[written++] = merged;
      ++read;
    }
    piece.length = written;
  }

  std::vector<std::string>& texts_;
  absl::flat_hash_map<std::string, int32_t> ids_;
  std::vector<int32_t> symbols_;
  std::vector<Piece> pieces_;
  absl::flat_hash_map<Pair, int64_t> counts_;
  absl::flat_hash_map<Pair, std::vector<int32_t>> found_;  // since the last step
  std::vector<Candidate> queue_;
  int64_t step_ = 0;
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
    if (place < 0 || symbols[place].next < 0) return;
    const Symbol& left = symbols[place];
    const Place* found = find(left.token, symbols[left.next].token);
    if (found != nullptr) queue.push({found->rank, place, found->merged});
  };
  for (int64_t place = 0; place < std::ssize(symbols); ++place) consider(place);
  while (!queue.empty()) {
    const Possible next = queue.top();
    queue.pop();
    Symbol& left = symbols[next.place];
    if (!left.is_there || left.next < 0) continue;
    Symbol& right = symbols[left.next];
    const Place* now = find(left.token, right.token);
    if (now == nullptr || now->merged != next.merged) continue;  // it was another pair
    left.token = next.merged;
    left.next = right.next;
    right.is_there = false;
    if (left.next >= 0) symbols[left.next].previous = next.place;
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

std::vector<TokenMerge> learn_byte_pairs(std::span<const CountedPiece> pieces, int64_t size,
                                         std::vector<std::string>& texts) {
  const std::vector<TokenMerge> made = PairLearner(pieces, texts).learn(size);
  // A pair that was merged twice has the later place.
  std::vector<TokenMerge> merges;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, size_t> last;
  for (size_t i = 0; i < made.size(); ++i) last[{made[i].left, made[i].right}] = i;
  for (size_t i = 0; i < made.size(); ++i) {
    if (last[{made[i].left, made[i].right}] == i) merges.push_back(made[i]);
  }
  return merges;
}

}  // namespace qkv
