#include "train/config/readers.h"

#include "data/tasks/tasks.h"
#include "framework/core/names.h"
#include "models/model.h"

namespace qkv {
namespace {

std::vector<Reader> tasks() {
  std::vector<Reader> readers;
  for (const TaskKind& task : task_kinds()) readers.push_back({task.name, task.keys});
  return readers;
}

std::vector<Reader> models() {
  std::vector<Reader> readers;
  for (const ModelKind& kind : model_kinds()) readers.push_back({kind.name, kind.keys});
  return readers;
}

template <class E>
Choice choice(std::string table, std::string field, E taken) {
  Choice choice{std::move(table), std::move(field), name_of(taken), {}};
  for (const Named<E>& value : kNames<E>) {
    choice.readers.push_back({value.name, {value.reads.begin(), value.reads.end()}});
  }
  return choice;
}

}  // namespace

std::vector<Choice> choices(const Config& config) {
  return {{"data", "task", config.data.task, tasks()},
          {"model", "kind", config.model.kind, models()},
          choice("model", "mixer", config.model.mixer),
          choice("optimizer", "kind", config.optimizer.kind),
          choice("optimizer", "schedule", config.optimizer.schedule)};
}

}  // namespace qkv
