#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

Tokens answer_reverse(std::span<const int64_t> question) {
  return Tokens(question.rbegin(), question.rend());
}

}  // namespace

// 31415=51413
TaskKind reverse_task() {
  return sequence_task(
      {.name = "reverse", .answer = answer_reverse, .answer_length = std::identity()});
}

}  // namespace qkv
