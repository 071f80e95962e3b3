#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "framework/core/text/utf8.h"
#include "models/mixer_kind.h"
#include "models/model.h"
#include "train/config/config_fields.h"

// Settings that do not go together: no field alone can say it.

namespace qkv {
namespace {

// Why `name` cannot be a folder of its own in runs/; "" if it can.
std::string folder_name_mistake(const std::string& name) {
  constexpr size_t kLongest = 100;
  if (name.empty()) return "is empty";
  if (name.size() > kLongest) return absl::StrCat("is longer than ", kLongest, " bytes");
  if (name[0] == '.' || name[0] == '-') return absl::StrCat("begins with a ", name.substr(0, 1));
  if (name.find('/') != std::string::npos) return "contains a /";
  return printable(name) == name ? "" : "contains a control character";
}

// The value of `number` in f32 where the field does not allow it: 0 for a number that is not 0, an
// excluded bound, infinity. "" when f32 holds it.
std::string rounded_mistake(const Field& field, double number) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::abs(number) > kLargest) return "infinity; use a smaller one";
  const double rounded = static_cast<float>(number);
  if (rounded == 0 && number != 0) return "0; use a larger one";
  if (field.limits.has(rounded)) return "";
  return absl::StrCat(rounded, "; use a ", rounded < number ? "larger" : "smaller", " one");
}

std::vector<double> floats_of(const Field& field) {
  if (double* const* number = std::get_if<double*>(&field.value)) return {**number};
  if (const auto* pair = std::get_if<std::array<double, 2>*>(&field.value)) {
    return {(*pair)->begin(), (*pair)->end()};
  }
  return {};
}

// Models and optimizers must compute with the numbers given, also once they are f32, which bf16
// computes with, too.
void find_rounded_numbers(const Config& config, std::vector<Clash>& clashes) {
  if (config.train.precision == Precision::kF64) return;
  Config copy = config;
  for (const Field& field : config_fields(copy)) {
    if (field.table == "data") continue;
    for (const double number : floats_of(field)) {
      const std::string mistake = rounded_mistake(field, number);
      if (mistake.empty()) continue;
      clashes.push_back(
          {{field.key(), "train.precision"},
           absl::StrCat("\"", field.key(), "\" is ", float_to_toml(number),
                        ", which f32 rounds to ", mistake, ", or train.precision = \"f64\"")});
    }
  }
}

// Whether the mixer is attention, with heads.
bool attends(const ModelOptions& model) { return find_mixer(model.mixer).reads("num_heads"); }

bool position_is_in_attention(Position position) {
  return position == Position::kRotary || position == Position::kAlibi ||
         position == Position::kRelative;
}

void find_attention_clashes(const ModelOptions& model, std::vector<Clash>& clashes) {
  const AttentionChoices& attention = model.attention;
  const auto add = [&clashes](std::vector<std::string> keys, const auto&... message) {
    clashes.push_back({std::move(keys), absl::StrCat(message...)});
  };
  if (!attends(model) && !attends_to_source(model.kind)) return;
  if (model.d_model % model.num_heads != 0) {
    add({"model.num_heads", "model.d_model"},
        "\"model.num_heads\" must divide \"model.d_model\": ", model.d_model,
        " is not a multiple of ", model.num_heads);
  }
  const std::string heads = name_of(attention.heads), maps = name_of(attention.projections);
  if (attention.projections == Projections::kNone && attention.heads != Heads::kSplit) {
    add({"attention.heads", "attention.projections"}, "\"attention.heads\" is \"", heads,
        "\", which needs the maps of each head; \"attention.projections\" = \"", maps,
        "\" has none");
  }
  const int64_t key_heads = attention.num_key_value_heads;
  if (key_heads > 0 && model.num_heads % key_heads != 0) {
    add({"attention.num_key_value_heads", "model.num_heads"},
        "\"attention.num_key_value_heads\" must divide \"model.num_heads\": ", model.num_heads,
        " is not a multiple of ", key_heads);
  } else if (key_heads > 0 && key_heads < model.num_heads) {
    if (attention.projections >= Projections::kShared) {
      add({"attention.num_key_value_heads", "attention.projections"},
          "\"attention.num_key_value_heads\" is ", key_heads,
          ", but with \"attention.projections\" = \"", maps,
          "\" the keys are the queries, which have ", model.num_heads, " heads");
    } else if (attention.heads == Heads::kNarrow) {
      add({"attention.num_key_value_heads", "attention.heads"},
          "\"attention.num_key_value_heads\" is ", key_heads,
          ", but with \"attention.heads\" = \"narrow\" each of the ", model.num_heads,
          " heads makes keys from its own part of the input");
    }
  }
  if (attention.window > 0 && !find_mixer(model.mixer).reads("attention.window")) {
    add({"attention.window", "model.mixer"}, "\"attention.window\" is ", attention.window,
        ", but \"model.mixer\" = \"", model.mixer, "\" has no window");
  }
  if (attention.full_every > 0 && attention.window == 0) {
    add({"attention.full_every", "attention.window"}, "\"attention.full_every\" is ",
        attention.full_every, ", but \"attention.window\" is 0: every layer has no window");
  }
  const int64_t d_k =
      attention.heads == Heads::kWide ? model.d_model : model.d_model / model.num_heads;
  if (model.position == Position::kRotary && d_k % 2 != 0) {
    add({"model.position", "model.num_heads", "model.d_model"},
        "\"model.position\" is \"rotary\", which rotates pairs of features, but a head has ", d_k);
  }
}

// The kinds of models that take a task's data: "model.kind = \"classifier\"".
std::string kinds_for(const TaskKind& task) {
  std::string kinds;
  for (const ModelKind& kind : model_kinds()) {
    if (std::ranges::count(task.forms, kind.form) == 0) continue;
    absl::StrAppend(&kinds, kinds.empty() ? "model.kind = " : " or ", "\"", kind.name, "\"");
  }
  return kinds;
}

}  // namespace

std::vector<Clash> find_clashes(const Config& config) {
  std::vector<Clash> clashes;
  const auto add = [&clashes](std::vector<std::string> keys, const auto&... message) {
    clashes.push_back({std::move(keys), absl::StrCat(message...)});
  };
  find_rounded_numbers(config, clashes);

  const std::string mistake = folder_name_mistake(config.name);
  if (!mistake.empty()) add({"name"}, "\"name\" cannot be the name of a folder: it ", mistake);

  const DataOptions& data = config.data;
  for (const OptionMistake& option : find_mistakes(data)) {
    const std::string key = "data." + option.key;
    add({key, "data.task"}, "\"", key, "\" ", option.message);
  }

  const ModelOptions& model = config.model;
  const TaskKind* task = find_task(data.task);
  const DataForm form = form_of(model.kind);
  if (task && std::ranges::count(task->forms, form) == 0) {
    add({"model.kind", "data.task"}, "\"model.kind\" is \"", model.kind, "\", which needs ",
        name_of(form), "; \"data.task\" = \"", data.task, "\" has none: use ", kinds_for(*task));
  }
  find_attention_clashes(model, clashes);
  if (!attends(model) && position_is_in_attention(model.position)) {
    add({"model.position", "model.mixer"}, "\"model.position\" is \"", name_of(model.position),
        "\", which is a part of attention, but \"model.mixer\" is \"", model.mixer, "\"");
  }

  const OptimizerOptions& optimizer = config.optimizer;
  const TrainOptions& train = config.train;
  if (optimizer.warmup_steps > train.steps) {
    add({"optimizer.warmup_steps", "train.steps"}, "\"optimizer.warmup_steps\" is ",
        optimizer.warmup_steps, ", above \"train.steps\", which is ", train.steps);
  }
  const bool falls_late = optimizer.schedule == Schedule::kStable;
  if (falls_late && optimizer.decay_steps > train.steps - optimizer.warmup_steps) {
    add({"optimizer.decay_steps", "train.steps"}, "\"optimizer.decay_steps\" is ",
        optimizer.decay_steps, ", but after the warm-up there are ",
        train.steps - optimizer.warmup_steps, " steps");
  }
  if (optimizer.min_learning_rate > optimizer.learning_rate) {
    add({"optimizer.min_learning_rate", "optimizer.learning_rate"},
        "\"optimizer.min_learning_rate\" is ", float_to_toml(optimizer.min_learning_rate),
        ", above \"optimizer.learning_rate\", which is ", float_to_toml(optimizer.learning_rate));
  }
  if (train.batch_size % train.accumulation_steps != 0) {
    add({"train.accumulation_steps", "train.batch_size"},
        "\"train.accumulation_steps\" must divide \"train.batch_size\": ", train.batch_size,
        " is not a multiple of ", train.accumulation_steps);
  } else if (train.batch_size % (train.shards * train.accumulation_steps) != 0) {
    add({"train.shards", "train.accumulation_steps", "train.batch_size"}, "\"train.shards\"",
        train.accumulation_steps > 1 ? " x \"train.accumulation_steps\"" : "",
        " must divide \"train.batch_size\": ", train.batch_size, " is not a multiple of ",
        train.shards * train.accumulation_steps);
  }
  return clashes;
}

}  // namespace qkv
