#pragma once

#include <cstdint>
#include <vector>

#include "framework/core/random.h"

namespace qkv {

// A source of decisions for a task, one number at a time. With one function on Choices a task can
// draw a random question, and enumerate all questions.
class Choices {
 public:
  virtual ~Choices() = default;

  // One of 0 … bound - 1; bound > 0.
  virtual int64_t below(int64_t bound) = 0;

  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
};

class RandomChoices final : public Choices {
 public:
  explicit RandomChoices(RandomStream stream) : stream_(stream) {}

  int64_t below(int64_t bound) override {
    return static_cast<int64_t>(stream_.below(static_cast<uint64_t>(bound)));
  }

 private:
  RandomStream stream_;
};

// Every possible sequence of decisions once, in lexicographic order:
//   EveryChoice every;
//   do { use(task(every)); } while (every.next());
// What is asked for may depend on what was answered before.
class EveryChoice final : public Choices {
 public:
  int64_t below(int64_t bound) override {
    if (position_ == path_.size()) path_.push_back({0, bound});
    return path_[position_++].value;
  }

  // Goes on to the next sequence; false when that was the last.
  bool next() {
    position_ = 0;
    while (!path_.empty() && path_.back().value + 1 == path_.back().bound) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().value;
    return true;
  }

  // At least so many sequences follow that of before: each other answer to one of its decisions
  // begins one.
  int64_t least_left() const {
    int64_t left = 0;
    for (const Decision& decision : path_) left += decision.bound - 1 - decision.value;
    return left;
  }

 private:
  struct Decision {
    int64_t value;
    int64_t bound;
  };
  std::vector<Decision> path_;
  size_t position_ = 0;
};

}  // namespace qkv
