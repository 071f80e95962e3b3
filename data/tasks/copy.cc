#include "data/tasks/task_kit.h"

namespace qkv {
namespace {

Tokens answer_copy(std::span<const int64_t> question) {
  return Tokens(question.begin(), question.end());
}

}  // namespace

// 31415=31415
TaskKind copy_task() {
  return sequence_task({.name = "copy", .answer = answer_copy, .answer_length = std::identity()});
}

}  // namespace qkv
