#include <numeric>

#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

Tokens answer_parity(std::span<const int64_t> question) {
  return {std::accumulate(question.begin(), question.end(), int64_t{0}) % 2};
}

}  // namespace

// 10110=1: whether the number of ones is odd.
TaskKind parity_task() {
  return sequence_task({.name = "parity", .answer = answer_parity, .alphabet = 2});
}

}  // namespace qkv
