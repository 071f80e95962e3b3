#include "train/config/config_fields.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "data/tasks/tasks.h"
#include "models/model.h"
#include "train/config/readers.h"
#include "train/config/toml_text.h"

namespace qkv {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMillion = 1 << 20;  // the most of anything that is counted in a batch

// Collects the fields table by table.
class FieldList {
 public:
  explicit FieldList(std::string table) : table_(std::move(table)) { fields_.reserve(64); }

  void start_table(std::string table) { table_ = std::move(table); }

  Field& add(std::string name, FieldValue value, std::string_view description) {
    Field& field = fields_.emplace_back();
    field.table = table_;
    field.name = std::move(name);
    field.value = value;
    field.description = description;
    return field;
  }

  // low <= value <= high
  void add(std::string name, FieldValue value, double low, double high,
           std::string_view description) {
    Field& field = add(std::move(name), value, description);
    field.low = low;
    field.high = high;
  }

  void add(std::string name, FieldValue value, std::vector<std::string> allowed,
           std::string_view description) {
    add(std::move(name), value, description).allowed = std::move(allowed);
  }

  template <class E>
  requires std::is_enum_v<E>
  void add(std::string name, E* value, std::string_view description) {
    add(std::move(name), EnumPlace(value), description).allowed = names_of<E>();
  }

  std::vector<Field> take() { return std::move(fields_); }

 private:
  std::string table_;
  std::vector<Field> fields_;
};

// What a task can do with its numbers, data/options.h says: find_clashes() asks there.
void add_data_fields(FieldList& list, DataOptions& data) {
  list.start_table("data");
  list.add("task", &data.task, task_names(), "What is learned.");
  list.add("path", &data.path, "The file of text, or the folder of images.");
  list.add("class_names", &data.class_names,
           "Names of the classes of images, with spaces between them; empty: 0, 1, ….");
  list.add("alphabet", &data.alphabet, 1, kInfinity, "How many different symbols there are.");
  list.add("length", &data.length, 1, kInfinity,
           "Symbols in a question; characters in a window of text.");
  list.add("min_length", &data.min_length, 0, kInfinity,
           "Symbols in the shortest question; 0: all have `length`.");
  list.add("validation_length", &data.validation_length, 0, kInfinity,
           "Symbols in a question of validation; 0: as in training.");
  list.add("digits", &data.digits, 1, kInfinity, "Digits of each number.");
  list.add("modulus", &data.modulus, 2, kInfinity, "What a sum is taken modulo of.");
  list.add("distance", &data.distance, 1, kInfinity,
           "How far before a symbol the one stands that it repeats; of hold, at most.");
  list.add("pairs", &data.pairs, 1, kInfinity, "Pairs of a key and a value.");
  list.add("image_size", &data.image_size, 1, kInfinity,
           "The height and the width of an image that is drawn, in pixels.");
  list.add("shift", &data.shift, 0, kInfinity,
           "By how many pixels an image is moved in training, at most, in each direction.");
  list.add("mirror", &data.mirror, "Whether half of the images are mirrored in training.");
  Field& fraction = list.add("train_fraction", &data.train_fraction,
                             "The share of all examples that training may see.");
  fraction.low = 0;
  fraction.high = 1;
  fraction.low_excluded = fraction.high_excluded = true;
  list.add("validation_examples", &data.validation_examples, 1, kInfinity,
           "How many unseen examples an evaluation answers, at most.");
}

void add_model_fields(FieldList& list, ModelOptions& model) {
  list.start_table("model");
  std::vector<std::string> kinds;
  for (const ModelKind& kind : model_kinds()) kinds.push_back(kind.name);
  list.add("kind", &model.kind, std::move(kinds), "The architecture.");
  list.add("num_layers", &model.num_layers, 1, 4096,
           "Blocks of a mixer and a feed-forward network, one after the other.");
  list.add("d_model", &model.d_model, 1, 1 << 16, "Numbers that stand for one token.");
  list.add("mixer", &model.mixer, "What lets the tokens of a block hear of each other.");
  list.add("num_heads", &model.num_heads, 1, 1 << 16,
           "Heads of attention; each gets d_model / num_heads of the numbers.");
  list.add("d_ff", &model.d_ff, 1, kMillion, "Hidden width of the feed-forward layers.");
  list.add("position", &model.position, "How a token knows its place.");
  list.add("sinusoidal_scale", &model.sinusoidal_scale, 0, kInfinity,
           "What sinusoids are multiplied by, to begin with.");
  list.add("learn_sinusoidal_scale", &model.learn_sinusoidal_scale,
           "That number is learned; else it stays.");
  list.add("norm", &model.norm,
           "Normalization before each layer, or after its sum with the input.");
  list.add("norm_kind", &model.norm_kind, "The normalization.");
  list.add("activation", &model.activation, "Of the feed-forward layers.");
  Field& dropout =
      list.add("dropout", &model.dropout, "The share of numbers that training sets to zero.");
  dropout.low = 0;
  dropout.high = 1;
  dropout.high_excluded = true;
  list.add("scale_scores", &model.scale_scores, "Divide the scores of attention by sqrt(d_k).");
  list.add("kernel", &model.kernel, 1, 1 << 16, "How many tokens a convolution sums over.");
  list.add("depthwise", &model.depthwise, "The convolution sums each number by itself.");
  list.add("cell", &model.cell, "How a recurrence goes on from its state.");
  list.add("pool", &model.pool, "What a classifier looks at: a token of its own, or the mean.");
  list.add("patch_size", &model.patch_size, 1, 4096, "Pixels of an image's patch, each way.");
  list.add("tie_embeddings", &model.tie_embeddings,
           "Use the token embedding as the output projection, too.");
  list.add("bias", &model.bias,
           "Biases in linear layers, layer norms, convolutions and recurrences.");
}

void add_attention_fields(FieldList& list, AttentionChoices& attention) {
  list.start_table("attention");
  list.add("projections", &attention.projections, "The maps that make queries, keys and values.");
  list.add("heads", &attention.heads, "What a head gets of its input.");
  list.add("num_key_value_heads", &attention.num_key_value_heads, 0, 1 << 16,
           "Heads of keys and values, which those of queries share; 0: as many as of queries.");
  list.add("window", &attention.window, 0, kMillion,
           "How far from a query the keys may be that it sees; 0: as far as there are any.");
  list.add("causal", &attention.causal,
           "In a decoder no token sees those after it; without, it can look up the answer.");
  list.add("scale", &attention.scale, 0, kInfinity,
           "What scores are multiplied by; 0: what model.scale_scores says.");
  list.add("alibi_slopes", &attention.alibi_slopes,
           "How fast scores fall where the number of heads is no power of two.");
}

void add_optimizer_fields(FieldList& list, OptimizerOptions& optimizer) {
  list.start_table("optimizer");
  list.add("kind", &optimizer.kind, "How a gradient moves the weights.");
  list.add("learning_rate", &optimizer.learning_rate, 0, kInfinity, "The highest of the schedule.");
  Field& betas =
      list.add("betas", &optimizer.betas, "How much of their past the two moving averages keep.");
  betas.low = 0;
  betas.high = 1;
  betas.high_excluded = true;
  Field& epsilon = list.add("epsilon", &optimizer.epsilon, "Added to the divisor.");
  epsilon.low = 0;
  epsilon.low_excluded = true;
  Field& momentum =
      list.add("momentum", &optimizer.momentum, "How much of its past the velocity keeps.");
  momentum.low = 0;
  momentum.high = 1;
  momentum.high_excluded = true;
  list.add("weight_decay", &optimizer.weight_decay, 0, kInfinity,
           "adamw: of matrices only, decoupled; sgd, adam: added to the gradient.");
  list.add("grad_clip", &optimizer.grad_clip, 0, kInfinity,
           "The largest global norm of the gradient; 0: no clipping.");
  list.add("schedule", &optimizer.schedule, "How the learning rate falls.");
  list.add("warmup_steps", &optimizer.warmup_steps, 0, kInfinity,
           "Steps in which the learning rate rises from zero.");
  list.add("min_learning_rate", &optimizer.min_learning_rate, 0, kInfinity,
           "Where the schedule ends.");
}

void add_train_fields(FieldList& list, TrainOptions& train) {
  list.start_table("train");
  list.add("steps", &train.steps, 1, kInfinity, "Updates of the weights.");
  list.add("batch_size", &train.batch_size, 1, kMillion, "Examples in a step.");
  list.add("accumulation_steps", &train.accumulation_steps, 1, kMillion,
           "Each step adds up this many pieces of the batch.");
  Field& smoothing = list.add("label_smoothing", &train.label_smoothing,
                              "The share of the target that is spread over all tokens.");
  smoothing.low = 0;
  smoothing.high = 1;
  smoothing.high_excluded = true;
  list.add("precision", &train.precision,
           "The type of numbers; bf16: f32, but for what linear layers multiply and hand to each "
           "other.");
  list.add("eval_interval", &train.eval_interval, 1, kInfinity, "Steps between evaluations.");
  list.add("eval_batch_size", &train.eval_batch_size, 0, kMillion,
           "Examples that an evaluation takes at a time; 0: batch_size.");
  list.add("checkpoint_interval", &train.checkpoint_interval, 0, kInfinity,
           "Steps between numbered checkpoints; 0: none besides best and last.");
  list.add("log_interval", &train.log_interval, 1, kInfinity, "Steps between lines of metrics.");
  list.add("threads", &train.threads, 0, 4096, "0: all cores.");
}

// Says of the fields who reads them, where not everybody does.
void add_readers(const Choice& choice, std::vector<Field>& fields) {
  for (Field& field : fields) {
    const std::string name = field.table == choice.table ? field.name : field.key();
    std::vector<std::string> readers;
    for (const Reader& reader : choice.readers) {
      if (std::ranges::count(reader.keys, name) != 0) readers.push_back(reader.name);
    }
    if (readers.empty() || readers.size() == choice.readers.size()) continue;
    field.decided_by = absl::StrCat(choice.table, ".", choice.field);
    field.is_read = std::ranges::count(readers, choice.taken) != 0;
    field.readers = std::move(readers);
  }
}

std::string number_text(double number) { return absl::StrFormat("%.15g", number); }

}  // namespace

std::vector<Field> config_fields(Config& config) {
  FieldList list("");
  list.add("name", &config.name, "The run is written to runs/NAME.");
  list.add("seed", &config.seed, 0, kInfinity, "All that is random in a run comes from it.");
  add_data_fields(list, config.data);
  add_model_fields(list, config.model);
  add_attention_fields(list, config.model.attention);
  add_optimizer_fields(list, config.optimizer);
  add_train_fields(list, config.train);
  std::vector<Field> fields = list.take();
  for (const Choice& choice : choices(config)) add_readers(choice, fields);
  return fields;
}

std::vector<std::string> config_tables() {
  return {"", "data", "model", "attention", "optimizer", "train"};
}

bool Field::in_range(double number) const {
  return (low_excluded ? number > low : number >= low) &&
         (high_excluded ? number < high : number <= high);
}

void Field::copy_value(const Field& other) const {
  const auto copy = [&other](const auto& place) {
    using Place = std::decay_t<decltype(place)>;
    const Place& from = std::get<Place>(other.value);
    if constexpr (std::is_pointer_v<Place>) {
      *place = *from;
    } else {
      place.set(from.name());
    }
  };
  std::visit(copy, value);
}

bool Field::is_text() const {
  return std::holds_alternative<std::string*>(value) || std::holds_alternative<EnumPlace>(value);
}

std::string Field::text() const {
  if (const EnumPlace* place = std::get_if<EnumPlace>(&value)) return place->name();
  return *std::get<std::string*>(value);
}

void Field::set_text(const std::string& text) const {
  if (const EnumPlace* place = std::get_if<EnumPlace>(&value)) {
    place->set(text);
  } else {
    *std::get<std::string*>(value) = text;
  }
}

std::string Field::range() const {
  std::string text;
  if (low > -kInfinity) {
    text = absl::StrCat(low_excluded ? "above " : "at least ", number_text(low));
  }
  if (high < kInfinity) {
    absl::StrAppend(&text, text.empty() ? "" : " and ", high_excluded ? "below " : "at most ",
                    number_text(high));
  }
  return text;
}

std::string Field::to_string() const {
  struct {
    std::string operator()(const int64_t* number) const { return absl::StrCat(*number); }
    std::string operator()(const uint64_t* number) const { return absl::StrCat(*number); }
    std::string operator()(const double* number) const { return float_to_toml(*number); }
    std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }
    std::string operator()(const std::string* text) const { return string_to_toml(*text); }
    std::string operator()(const std::array<double, 2>* pair) const {
      return absl::StrCat("[", float_to_toml((*pair)[0]), ", ", float_to_toml((*pair)[1]), "]");
    }
    std::string operator()(const EnumPlace& place) const { return string_to_toml(place.name()); }
  } text;
  return std::visit(text, value);
}

}  // namespace qkv
