#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

Tokens answer_sort(std::span<const int64_t> question) {
  Tokens sorted(question.begin(), question.end());
  std::ranges::sort(sorted);
  return sorted;
}

}  // namespace

// 31415=11345
TaskKind sort_task() {
  return sequence_task({.name = "sort", .answer = answer_sort, .answer_length = std::identity()});
}

}  // namespace qkv
