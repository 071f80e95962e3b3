#include "train/config/readers.h"

#include "data/tasks/tasks.h"
#include "framework/core/each_of.h"
#include "framework/core/names.h"
#include "models/mixer.h"
#include "models/model.h"

namespace qkv {
namespace {

std::vector<Reader> tasks() {
  return each_of(task_kinds(), [](const TaskKind& task) { return Reader{task.name, task.keys}; });
}

std::vector<Reader> models() {
  return each_of(model_kinds(), [](const ModelKind& kind) { return Reader{kind.name, kind.keys}; });
}

template <class E>
Choice choice(std::string table, std::string field, E taken) {
  Choice choice{std::move(table), std::move(field), name_of(taken), {}};
  for (const Named<E>& value : kNames<E>) {
    choice.readers.push_back({value.name, {value.reads.begin(), value.reads.end()}});
  }
  return choice;
}

// Attention to a source is attention, whatever mixes the tokens of one sequence.
std::vector<Reader> mixers(const ModelOptions& model) {
  std::vector<Reader> readers;
  for (const MixerKind& mixer : mixer_kinds()) {
    Reader& reader = readers.emplace_back(Reader{std::string(mixer.name), {}});
    reader.keys.assign(mixer.keys.begin(), mixer.keys.end());
    if (!attends_to_source(model.kind)) continue;
    const auto& attention_keys = find_mixer("attention").keys;
    reader.keys.insert(reader.keys.end(), attention_keys.begin(), attention_keys.end());
  }
  return readers;
}

}  // namespace

std::vector<Choice> choices(const Config& config) {
  return {{"data", "task", config.data.task, tasks()},
          choice("data", "tokens", config.data.tokens),
          {"model", "kind", config.model.kind, models()},
          {"model", "mixer", config.model.mixer, mixers(config.model)},
          choice("model", "position", config.model.position),
          choice("model", "norm", config.model.norm),
          choice("optimizer", "kind", config.optimizer.kind),
          choice("optimizer", "schedule", config.optimizer.schedule)};
}

}  // namespace qkv
