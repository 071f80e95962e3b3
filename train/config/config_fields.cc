#include "train/config/config_fields.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/file.h"
#include "data/tasks/tasks.h"
#include "models/mixer.h"
#include "models/model.h"
#include "train/config/readers.h"
#include "train/config/toml_text.h"

namespace qkv {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMillion = 1 << 20;  // the limit of every count in a batch

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

  // 0 < value
  void add_positive(std::string name, FieldValue value, std::string_view description) {
    Field& field = add(std::move(name), value, description);
    field.low = 0;
    field.low_excluded = true;
  }

  // 0 <= value < 1
  void add_fraction(std::string name, FieldValue value, std::string_view description) {
    Field& field = add(std::move(name), value, description);
    field.low = 0;
    field.high = 1;
    field.high_excluded = true;
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

// data/options.h knows which numbers a task accepts; find_clashes() asks there.
void add_data_fields(FieldList& list, DataOptions& data) {
  list.start_table("data");
  list.add("task", &data.task, task_names(), "The task that the model learns.");
  list.add("path", &data.path,
           "The file of examples, or the folder of images; tasks text and lines: a file, a folder "
           "of them, or a list of both.")
      .is_path = true;
  list.add("validation_path", &data.validation_path,
           "The same for validation; empty: a part of the examples of `path`.")
      .is_path = true;
  list.add("tokens", &data.tokens, "What a token of the text is.");
  list.add("tokenizer", &data.tokenizer,
           "The tokenizer.json of Hugging Face's that says what the tokens are.")
      .is_path = true;
  list.add("vocabulary_size", &data.vocabulary_size, 2, kMillion,
           "Number of tokens that bpe learns (bytes among them), or maximum number of words.");
  list.add("min_count", &data.min_count, 0, kMillion,
           "How often training must have a character or word that is a token; others are the "
           "unknown token. 0: twice, except that text and lines know every character.");
  list.add("question_key", &data.question_key,
           "Column or key of the question; empty: question (task classes: text).");
  list.add("answer_key", &data.answer_key,
           "Column or key of the answer; empty: answer (task classes: class).");
  list.add("context", &data.context, 0, kInfinity,
           "Maximum number of tokens of an example; 0: as many as the longest has.");
  list.add("class_names", &data.class_names,
           "Class names of the images, separated by spaces; empty: 0, 1, … (task image_folder: the "
           "names of the folders).");
  list.add("alphabet", &data.alphabet, 1, kInfinity, "Number of different symbols.");
  list.add("length", &data.length, 1, kInfinity,
           "Number of symbols in a question (task text: of characters in a window).");
  list.add("min_length", &data.min_length, 0, kInfinity,
           "Number of symbols in the shortest question; 0: every question has `length`.");
  list.add("validation_length", &data.validation_length, 0, kInfinity,
           "Number of symbols in a validation question; 0: as in training.");
  list.add("digits", &data.digits, 1, kInfinity, "Number of digits of each operand.");
  list.add("modulus", &data.modulus, 2, kInfinity, "The modulus.");
  list.add("distance", &data.distance, 1, kInfinity,
           "Distance back to the symbol that is repeated (task hold: the maximum).");
  list.add("pairs", &data.pairs, 1, kInfinity, "Number of key-value pairs.");
  list.add("image_size", &data.image_size, 1, kInfinity,
           "Height and width of an image, in pixels.");
  list.add("fit", &data.fit,
           "How images become as large: crop the longer side, pad the shorter one, or stretch.");
  list.add("channels", &data.channels, 1, 3, "Channels of an image: 1, grey, or 3, in colour.");
  list.add("shift", &data.shift, 0, kInfinity,
           "Maximum random shift of a training image in each direction, in pixels.");
  list.add("mirror", &data.mirror,
           "Mirror a training image with probability 1/2, each time it is drawn.");
  Field& fraction = list.add("train_fraction", &data.train_fraction,
                             "Fraction of the examples of `path` that training uses; 1 if "
                             "`validation_path` is set and nothing else is said.");
  fraction.low = 0;
  fraction.high = 1;
  fraction.low_excluded = true;
  list.add("validation_examples", &data.validation_examples, 1, kInfinity,
           "Maximum number of unseen examples per evaluation.");
}

void add_model_fields(FieldList& list, ModelOptions& model) {
  list.start_table("model");
  std::vector<std::string> kinds;
  for (const ModelKind& kind : model_kinds()) kinds.push_back(kind.name);
  list.add("kind", &model.kind, std::move(kinds), "The architecture.");
  list.add("num_layers", &model.num_layers, 1, 4096,
           "Number of blocks; each has a mixer and a feed-forward network.");
  list.add("d_model", &model.d_model, 1, 1 << 16,
           "Width of the model: the size of a token's vector.");
  std::vector<std::string> mixers;
  for (const MixerKind& mixer : mixer_kinds()) mixers.emplace_back(mixer.name);
  list.add("mixer", &model.mixer, std::move(mixers),
           "The layer that passes information between tokens.");
  list.add("num_heads", &model.num_heads, 1, 1 << 16,
           "Number of attention heads; each gets d_model / num_heads features.");
  list.add("d_ff", &model.d_ff, 1, kMillion, "Hidden width of the feed-forward layers.");
  list.add_positive("init_std", &model.init_std,
                    "Standard deviation of the initial weights. GPT-2 uses 0.02; narrow models "
                    "learn faster with about 1 / sqrt(d_model).");
  list.add("residual_init", &model.residual_init,
           "Initial standard deviation of the last weight of each layer: divided by the root of "
           "the number of layers that add to the residual stream (scaled), or init_std (plain).");
  list.add("position", &model.position, "The position encoding.");
  list.add("sinusoidal_scale", &model.sinusoidal_scale, 0, kInfinity,
           "Initial factor of the sinusoidal positions; 0: init_std.");
  list.add("learn_sinusoidal_scale", &model.learn_sinusoidal_scale,
           "Train the factor of the sinusoidal positions; false: it stays fixed.");
  list.add("norm", &model.norm,
           "Place of the normalization: before each layer (pre), after its residual sum (post), "
           "or none.");
  list.add("norm_kind", &model.norm_kind, "Kind of normalization: layer norm or RMS norm.");
  list.add_positive("norm_epsilon", &model.norm_epsilon,
                    "Number added to the variance (RMS norm: the mean square) before its root.");
  list.add("activation", &model.activation, "Activation function of the feed-forward layers.");
  list.add_fraction("dropout", &model.dropout,
                    "Dropout probability: the fraction of activations that training sets to zero.");
  list.add("scale_scores", &model.scale_scores, "Divide the attention scores by sqrt(d_k).");
  list.add("kernel", &model.kernel, 1, 1 << 16, "Kernel size of the convolution, in tokens.");
  list.add("depthwise", &model.depthwise, "Convolve each feature separately.");
  list.add("cell", &model.cell, "The recurrent cell.");
  list.add("pool", &model.pool,
           "What the classifier reads: an extra class token, or the mean of all positions.");
  list.add("patch_size", &model.patch_size, 1, 4096,
           "Height and width of an image patch, in pixels.");
  list.add("tie_embeddings", &model.tie_embeddings,
           "Use the token embedding also as the output projection.");
  list.add("bias", &model.bias,
           "Use biases in linear layers, layer norms, convolutions and recurrences.");
}

void add_attention_fields(FieldList& list, AttentionChoices& attention) {
  list.start_table("attention");
  list.add("projections", &attention.projections,
           "The linear maps that make queries, keys and values.");
  list.add("heads", &attention.heads, "How the heads divide d_model.");
  list.add("num_key_value_heads", &attention.num_key_value_heads, 0, 1 << 16,
           "Number of key and value heads, which the query heads share; 0: num_heads.");
  list.add("window", &attention.window, 0, kMillion,
           "Maximum distance between a query and the keys that it sees; 0: no limit.");
  list.add(
      "causal", &attention.causal,
      "Causal mask: hide later tokens from each token of a decoder; false: the decoder sees the "
      "answer.");
  list.add("scale", &attention.scale, 0, kInfinity,
           "Factor of the attention scores; 0: model.scale_scores decides.");
  list.add("alibi_slopes", &attention.alibi_slopes,
           "How ALiBi's slopes are chosen if num_heads is not a power of two.");
}

void add_optimizer_fields(FieldList& list, OptimizerOptions& optimizer) {
  list.start_table("optimizer");
  list.add("kind", &optimizer.kind, "The optimizer.");
  list.add("learning_rate", &optimizer.learning_rate, 0, kInfinity, "The peak learning rate.");
  list.add_fraction("betas", &optimizer.betas,
                    "Decay rates of the moving averages of the gradient and of its square.");
  list.add_positive("epsilon", &optimizer.epsilon,
                    "Number added to the denominator of the update.");
  list.add_fraction("momentum", &optimizer.momentum, "Decay rate of the velocity.");
  list.add("weight_decay", &optimizer.weight_decay, 0, kInfinity,
           "Weight decay. adamw: decoupled, on matrices only; sgd, adam: added to the gradient.");
  list.add("grad_clip", &optimizer.grad_clip, 0, kInfinity,
           "Maximum global norm of the gradient; 0: no clipping.");
  list.add("schedule", &optimizer.schedule, "The learning rate schedule.");
  list.add("warmup_steps", &optimizer.warmup_steps, 0, kInfinity,
           "Number of steps in which the learning rate rises from zero towards its peak.");
  list.add("min_learning_rate", &optimizer.min_learning_rate, 0, kInfinity,
           "The learning rate at the end of the schedule.");
}

void add_train_fields(FieldList& list, TrainOptions& train) {
  list.start_table("train");
  list.add("steps", &train.steps, 1, kInfinity, "Number of updates of the weights.");
  list.add(
      "patience", &train.patience, 0, kInfinity,
      "Number of evaluations without a smaller validation loss that end the run; 0: no limit.");
  list.add("max_minutes", &train.max_minutes, 0, kInfinity,
           "Minutes of training, over all resumes, that stop the run; 0: no limit.");
  list.add("batch_size", &train.batch_size, 1, kMillion, "Examples per step.");
  list.add("accumulation_steps", &train.accumulation_steps, 1, kMillion,
           "Number of parts into which a step divides its batch, to add up their gradients.");
  list.add(
      "shards", &train.shards, 1, 4096,
      "Number of parts of a batch, which the ranks of MPI share, and whose gradients are added "
      "in the order of one tree.");
  list.add_fraction(
      "label_smoothing", &train.label_smoothing,
      "Fraction of the target probability that is spread evenly over all tokens or classes.");
  list.add_fraction(
      "average", &train.average,
      "Decay of the mean of the weights over the steps, which is evaluated and saved; "
      "0: the weights themselves.");
  list.add(
      "precision", &train.precision,
      "Number type. bf16: operands and some results of linear layers are bf16, all else is f32.");
  list.add("eval_interval", &train.eval_interval, 1, kInfinity,
           "Number of steps between evaluations.");
  list.add("eval_batch_size", &train.eval_batch_size, 0, kMillion,
           "Examples per evaluation batch; 0: batch_size.");
  list.add("checkpoint_interval", &train.checkpoint_interval, 0, kInfinity,
           "Number of steps between numbered checkpoints; 0: only best and last are written.");
  list.add("log_interval", &train.log_interval, 1, kInfinity,
           "Number of steps between lines of metrics.jsonl.");
  list.add(
      "detail_interval", &train.detail_interval, 0, kInfinity,
      "Number of steps between lines of metrics.jsonl with the norms of each parameter and the "
      "entropy of each attention head; 0: none.");
  list.add("tensorboard", &train.tensorboard,
           "Write event files with metrics, histograms of weights and samples for TensorBoard.");
  list.add("threads", &train.threads, 0, 4096, "Number of threads; 0: all cores.");
  list.add("from", &train.from,
           "The run or checkpoint whose weights the run begins with; empty: random weights.");
}

// Sets the readers of each field that only some values of the choice read.
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

// No parameter, and no number that one was made from, hangs on these: a run can go on with other
// values, and what it has done stays what it was. docs/training.md has the table.
constexpr std::string_view kMayChangeOnResume =
    " data.path data.validation_path optimizer.learning_rate optimizer.min_learning_rate "
    "train.steps"
    " train.eval_interval train.eval_batch_size train.checkpoint_interval train.log_interval"
    " train.detail_interval train.max_minutes train.patience train.tensorboard train.threads ";

std::string number_text(double number) { return absl::StrFormat("%.15g", number); }

}  // namespace

const Field* field_named(const std::vector<Field>& fields, std::string_view key) {
  const auto found = std::ranges::find(fields, key, &Field::key);
  return found == fields.end() ? nullptr : &*found;
}

std::vector<Field> config_fields(Config& config) {
  FieldList list("");
  list.add("name", &config.name, "Name of the run, which is written to runs/NAME.");
  list.add("seed", &config.seed, 0, kInfinity, "Seed of all random numbers in the run.");
  add_data_fields(list, config.data);
  add_model_fields(list, config.model);
  add_attention_fields(list, config.model.attention);
  add_optimizer_fields(list, config.optimizer);
  add_train_fields(list, config.train);
  std::vector<Field> fields = list.take();
  for (const Choice& choice : choices(config)) add_readers(choice, fields);
  for (Field& field : fields) {
    if (!field.decided_by.empty()) {
      field.is_read = field.is_read && field_named(fields, field.decided_by)->is_read;
    }
    field.may_change_on_resume =
        kMayChangeOnResume.find(absl::StrCat(" ", field.key(), " ")) != std::string_view::npos;
  }
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
  if (is_path && is_list_of_paths(this->text())) {
    return absl::StrCat("[",
                        absl::StrJoin(split_paths(this->text()), ", ",
                                      [](std::string* list, const std::string& path) {
                                        list->append(string_to_toml(path));
                                      }),
                        "]");
  }
  return std::visit(text, value);
}

}  // namespace qkv
