#include "data/choices.h"

namespace qkv {

int64_t EveryChoice::below(int64_t bound) {
  if (position_ == path_.size()) path_.push_back({0, bound});
  return path_[position_++].value;
}

bool EveryChoice::next() {
  position_ = 0;
  while (!path_.empty() && path_.back().value + 1 == path_.back().bound) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().value;
  return true;
}

int64_t EveryChoice::least_left() const {
  int64_t left = 0;
  for (const Decision& decision : path_) left += decision.bound - 1 - decision.value;
  return left;
}

}  // namespace qkv
