// Every key of a config does in a run what it says, and nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/temporary_folder.h"
#include "tests/train/run/observed_run.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"
#include "train/run/train.h"

namespace qkv {
namespace {

// What can differ between two runs. Numbers are compared at the steps that both have.
enum Part : unsigned {
  kNothing = 0,
  kFolder = 1 << 0,       // where it stands
  kLines = 1 << 1,        // which steps have a line of metrics
  kEvaluated = 1 << 2,    // which of them a validation loss
  kCheckpoints = 1 << 3,  // which checkpoints there are
  kStart = 1 << 4,        // the loss and the gradient's norm of step 1
  kCourse = 1 << 5,       // those of the others
  kRate = 1 << 6,         // the learning rates
  kWeights = 1 << 7,      // of the last checkpoint: names, shapes and numbers
  kValidation = 1 << 8,   // the losses and accuracies of evaluations
  kSamples = 1 << 9,      // what was answered; with other weights it may be the same
};
constexpr unsigned kLearning = kCourse | kWeights | kValidation;
constexpr unsigned kAll = kStart | kLearning;

// A key, what it needs around it, and values: what differs between the runs of any two of them.
// Where another key decides who reads it, `around` says which of them is meant; else every reader.
struct KeyEffect {
  std::string key;
  Overrides around;
  std::vector<std::string> values;  // none: all those of a choice
  unsigned differs;                 // in all of this
  unsigned may_differ = kNothing;   // beside it; all the rest is equal to the last bit
  double at_most = INFINITY;        // by how much a number differs
};
// The last bits of sums depend on their order. Ten steps of sums of less than 1,000 numbers of
// about 1 stay below 10 * 1,000 * 2^-53.
constexpr double kRounding = 2e-12;

const std::vector<KeyEffect>& effects() {
  static const std::vector<KeyEffect> all = {
      {"name", {}, {"small", "other"}, kFolder},
      {"seed", {}, {"1", "2"}, kAll},

      {"data.task", {}, {}, kAll},
      {"data.path", {"data.task=text"}, {"FOLDER/text.txt", "FOLDER/other/text.txt"}, kAll},
      {"data.path", {"data.task=lines"}, {"FOLDER/text.txt", "FOLDER/other/text.txt"}, kAll},
      {"data.path", {"data.task=idx"}, {"FOLDER", "FOLDER/other"}, kAll},
      {"data.path", {"data.task=pairs"}, {"FOLDER/pairs.csv", "FOLDER/other/pairs.csv"}, kAll},
      {"data.path", {"data.task=classes"}, {"FOLDER/pairs.csv", "FOLDER/other/pairs.csv"}, kAll},
      {"data.path", {"data.task=image_folder"}, {"FOLDER/images", "FOLDER/other/images"}, kAll},
      {"data.validation_path", {"data.task=text"}, {"", "FOLDER/held_out.csv"}, kAll},
      {"data.validation_path",
       {"data.task=text"},
       {"FOLDER/held_out.csv", "FOLDER/other/held_out.csv"},
       kValidation,
       kSamples},
      {"data.validation_path", {"data.task=lines"}, {"", "FOLDER/held_out.csv"}, kAll},
      {"data.validation_path",
       {"data.task=lines"},
       {"FOLDER/held_out.csv", "FOLDER/other/held_out.csv"},
       kValidation,
       kSamples},
      {"data.validation_path", {"data.task=pairs"}, {"", "FOLDER/held_out.csv"}, kAll},
      {"data.validation_path",
       {"data.task=pairs"},
       {"FOLDER/held_out.csv", "FOLDER/other/held_out.csv"},
       kValidation,
       kSamples},
      {"data.validation_path", {"data.task=classes"}, {"", "FOLDER/held_out.csv"}, kAll},
      {"data.validation_path",
       {"data.task=classes"},
       {"FOLDER/held_out.csv", "FOLDER/other/held_out.csv"},
       kValidation,
       kSamples},
      {"data.validation_path", {"data.task=image_folder"}, {"", "FOLDER/held_out_images"}, kAll},
      {"data.validation_path",
       {"data.task=image_folder"},
       {"FOLDER/held_out_images", "FOLDER/other/held_out_images"},
       kValidation,
       kSamples},
      {"data.tokens", {}, {"characters", "bytes", "words"}, kAll},
      {"data.tokens", {"data.vocabulary_size=260"}, {"words", "bpe"}, kAll},
      {"data.tokenizer",
       {"data.task=text", "data.tokens=tokenizer"},
       {"FOLDER/tokenizer.json", "FOLDER/other/tokenizer.json"},
       kAll},
      {"data.tokenizer",
       {"data.task=lines", "data.tokens=tokenizer"},
       {"FOLDER/tokenizer.json", "FOLDER/other/tokenizer.json"},
       kAll},
      {"data.vocabulary_size", {"data.task=text", "data.tokens=words"}, {"4", "6"}, kAll},
      {"data.vocabulary_size", {"data.task=lines", "data.tokens=words"}, {"4", "6"}, kAll},
      {"data.vocabulary_size", {"data.task=text", "data.tokens=bpe"}, {"258", "260"}, kAll},
      {"data.vocabulary_size", {"data.task=lines", "data.tokens=bpe"}, {"258", "260"}, kAll},
      {"data.question_key", {"data.task=pairs"}, {"question", "back"}, kAll},
      {"data.question_key", {"data.task=pairs"}, {"", "question"}, kNothing},
      {"data.question_key", {"data.task=classes"}, {"text", "back"}, kAll},
      {"data.answer_key", {}, {"class", "last"}, kAll},
      {"data.answer_key", {"data.task=classes"}, {"", "class"}, kNothing},
      // only the table of positions is longer
      {"data.context", {}, {"0", "20", "30"}, kWeights},
      {"data.class_names", {"data.task=idx"}, {"", "a b c", "a b d"}, kSamples},
      {"data.class_names", {"data.task=image_folder"}, {"", "a b c"}, kNothing},
      {"data.class_names", {"data.task=image_folder"}, {"a b c", "c b a", "a b"}, kAll},
      {"data.alphabet", {}, {"8", "9"}, kAll},
      {"data.length", {}, {"6", "7"}, kAll},
      {"data.min_length", {}, {"0", "2"}, kAll},
      // without a table of positions, whose length would be that of validation
      {"data.validation_length",
       {"model.position=rotary"},
       {"0", "5", "7"},
       kValidation | kSamples},
      {"data.validation_length", {"data.task=reverse"}, {"0", "4"}, kNothing},  // 0: as length
      {"data.digits", {}, {"2", "3"}, kAll},
      {"data.modulus", {}, {"11", "13"}, kAll},
      {"data.distance", {}, {"2", "3"}, kAll},
      {"data.pairs", {}, {"2", "3"}, kAll},
      {"data.image_size", {}, {"12", "16"}, kAll},
      {"data.fit", {}, {}, kAll},
      {"data.channels", {}, {"1", "3"}, kAll},
      {"data.shift", {}, {"0", "1", "2"}, kAll},
      {"data.mirror", {}, {"false", "true"}, kAll},
      {"data.train_fraction", {}, {"0.9", "0.1"}, kAll},
      {"data.validation_examples", {}, {"8", "12"}, kValidation},

      {"model.kind", {"data.task=parity"}, {}, kAll},
      {"model.num_layers", {}, {"1", "2"}, kAll},
      {"model.d_model", {}, {"8", "12"}, kAll},
      {"model.mixer", {}, {}, kAll},
      {"model.num_heads", {}, {"1", "2"}, kAll},
      {"model.d_ff", {}, {"16", "17"}, kAll},
      {"model.init_std", {}, {"0.02", "0.1"}, kAll},
      {"model.position", {}, {}, kAll},
      {"model.sinusoidal_scale", {}, {"0.02", "0.1"}, kAll},
      {"model.learn_sinusoidal_scale", {}, {"false", "true"}, kAll},
      {"model.norm", {}, {}, kAll},
      {"model.norm_kind", {}, {}, kAll},
      {"model.norm_epsilon", {}, {"1e-12", "1e-5", "1e-2"}, kAll},
      {"model.activation", {}, {}, kAll},
      {"model.dropout", {}, {"0", "0.1", "0.2"}, kAll},
      {"model.scale_scores", {}, {"false", "true"}, kAll},
      {"model.kernel", {}, {"2", "3"}, kAll},
      {"model.depthwise", {}, {"false", "true"}, kAll},
      {"model.cell", {}, {}, kAll},
      {"model.pool", {"data.task=parity"}, {}, kAll},
      {"model.patch_size", {"data.task=shapes", "data.image_size=12"}, {"4", "6"}, kAll},
      {"model.tie_embeddings", {"data.task=parity"}, {"false", "true"}, kAll},
      {"model.bias", {}, {"false", "true"}, kAll},

      {"attention.projections", {}, {}, kAll},
      {"attention.heads", {}, {}, kAll},
      {"attention.num_key_value_heads", {}, {"0", "1"}, kAll},
      {"attention.num_key_value_heads", {}, {"0", "2"}, kNothing},  // 0: as num_heads
      {"attention.window", {}, {"0", "1", "2"}, kAll},
      {"attention.window", {}, {"0", "8"}, kNothing},  // 0: all, as there are
      {"attention.causal", {"data.task=reverse"}, {"false", "true"}, kAll},
      {"attention.alibi_slopes",
       {"model.position=alibi", "model.num_heads=3", "model.d_model=12"},
       {},
       kAll},
      {"attention.scale", {}, {"0", "0.3"}, kAll},
      {"attention.scale", {}, {"0", "0.5"}, kNothing},  // 0: 1 / sqrt(4)

      {"optimizer.kind", {}, {}, kLearning},
      {"optimizer.learning_rate", {}, {"1e-2", "2e-2"}, kLearning | kRate},
      {"optimizer.betas", {}, {"[0.9, 0.99]", "[0.8, 0.99]", "[0.9, 0.9]"}, kLearning},
      {"optimizer.epsilon", {}, {"1e-8", "1e-2"}, kLearning},
      {"optimizer.momentum", {}, {"0", "0.9"}, kLearning},
      {"optimizer.weight_decay", {"optimizer.kind=sgd"}, {"0", "0.1", "0.2"}, kLearning},
      {"optimizer.weight_decay", {"optimizer.kind=adam"}, {"0", "0.1", "0.2"}, kLearning},
      {"optimizer.weight_decay", {"optimizer.kind=adamw"}, {"0", "0.1", "0.2"}, kLearning},
      {"optimizer.grad_clip", {}, {"0", "0.1", "0.2"}, kLearning},
      {"optimizer.grad_clip", {}, {"0", "1e9"}, kNothing},  // 0: no clipping
      {"optimizer.schedule", {}, {}, kLearning | kRate},
      {"optimizer.warmup_steps", {}, {"0", "1", "3"}, kLearning | kRate},
      {"optimizer.min_learning_rate", {}, {"0", "5e-3"}, kLearning | kRate},

      {"train.from", {}, {"", "FOLDER/source"}, kAll},
      {"train.steps", {}, {"6", "8"}, kLearning | kRate | kLines | kEvaluated},
      {"train.steps", {"optimizer.schedule=constant"}, {"6", "8"}, kWeights | kLines | kEvaluated},
      {"train.patience",
       {"optimizer.learning_rate=0", "train.eval_interval=2", "optimizer.schedule=constant"},
       {"0", "1", "2"},
       kLines | kEvaluated | kSamples},
      {"train.patience", {}, {"0", "1000"}, kNothing},
      {"train.max_minutes", {}, {"0", "1e-9"}, kWeights | kLines | kEvaluated | kCheckpoints},
      {"train.max_minutes", {}, {"0", "1e9"}, kNothing},
      {"train.average", {}, {"0", "0.5", "0.9"}, kWeights | kValidation},
      {"train.batch_size", {}, {"4", "6"}, kAll},
      {"train.accumulation_steps",
       {"optimizer.kind=sgd"},
       {"1", "2", "4"},
       kWeights,
       kStart | kCourse | kValidation,
       kRounding},
      {"train.label_smoothing", {}, {"0", "0.1", "0.2"}, kAll},
      {"train.precision", {}, {}, kAll},
      {"train.eval_interval", {}, {"2", "5"}, kEvaluated | kSamples},
      {"train.eval_batch_size",
       {"train.eval_interval=1"},
       {"0", "3", "8"},
       kValidation,
       kNothing,
       kRounding},
      {"train.eval_batch_size", {}, {"0", "4"}, kNothing},  // 0: as batch_size
      {"train.checkpoint_interval", {}, {"0", "4", "5"}, kCheckpoints},
      {"train.log_interval", {}, {"1", "4", "10"}, kLines},
      {"train.detail_interval", {"train.log_interval=10"}, {"0", "3", "4"}, kLines},
      {"train.detail_interval", {}, {"0", "1"}, kNothing},
      {"train.tensorboard", {}, {"false", "true"}, kNothing},
      // the same bits, whatever their number: KeyPropertiesTest.AsManyThreadsComputeAsAreAskedFor
      {"train.threads", {}, {"1", "2"}, kNothing},
  };
  return all;
}

std::set<std::string> names_of_checkpoints(const ObservedRun& run) {
  std::set<std::string> names;
  for (const auto& [name, weights] : run.checkpoints) names.insert(name);
  return names;
}

// Collects what differs between two runs, and by how much numbers do.
class Comparison {
 public:
  Comparison(const ObservedRun& a, const ObservedRun& b) {
    note(kFolder, a.folder != b.folder);
    note(kLines, a.logged() != b.logged());
    note(kEvaluated, a.evaluated() != b.evaluated());
    note(kCheckpoints, names_of_checkpoints(a) != names_of_checkpoints(b));
    note(kWeights, a.weights() != b.weights());
    note(kSamples, a.samples != b.samples);
    for (const int64_t step : a.logged()) {
      if (b.logged().contains(step)) compare(a.at(step), b.at(step));
    }
    for (const auto& [name, numbers] : a.weights()) {
      const auto other = b.weights().find(name);
      if (other == b.weights().end()) continue;
      for (size_t i = 0; i < numbers.size(); ++i) measure(numbers[i], other->second[i]);
    }
  }

  unsigned differs() const { return differs_; }
  double farthest() const { return farthest_; }

 private:
  using Number = std::optional<double> Metrics::*;

  void note(Part part, bool different) {
    if (different) differs_ |= part;
  }
  void measure(double a, double b) { farthest_ = std::max(farthest_, std::abs(a - b)); }

  void compare(const Metrics& a, const Metrics& b) {
    const auto note_number = [&](Part part, Number number) {
      if (!(a.*number) || !(b.*number)) return;
      note(part, a.*number != b.*number);
      measure(*(a.*number), *(b.*number));
    };
    for (const Number number : {&Metrics::loss, &Metrics::grad_norm}) {
      note_number(a.step == 1 ? kStart : kCourse, number);
    }
    note_number(kRate, &Metrics::learning_rate);
    for (const Number number :
         {&Metrics::val_loss, &Metrics::val_token_accuracy, &Metrics::val_sequence_accuracy,
          &Metrics::train_sequence_accuracy}) {
      note_number(kValidation, number);
    }
  }

  unsigned differs_ = kNothing;
  double farthest_ = 0;
};

std::string text_of(unsigned parts) {
  static constexpr const char* kNames[] = {"folder",     "lines",  "evaluated steps", "checkpoints",
                                           "start",      "course", "learning rate",   "weights",
                                           "validation", "samples"};
  std::vector<std::string> names;
  for (unsigned i = 0; i < std::size(kNames); ++i) {
    if (parts & 1U << i) names.emplace_back(kNames[i]);
  }
  return absl::StrCat("{", absl::StrJoin(names, ", "), "}");
}

// The values of a key's effect, as TOML.
std::vector<std::string> values_of(const KeyEffect& effect, const Field& field,
                                   const std::string& folder) {
  std::vector<std::string> values = effect.values.empty() ? field.allowed : effect.values;
  for (std::string& value : values) absl::StrReplaceAll({{"FOLDER", folder}}, &value);
  return values;
}

// Who is meant by an effect, of those that read its key; "" where all do.
std::vector<std::string> readers_of(const KeyEffect& effect, const Field& field) {
  for (const std::string& reader : field.readers) {
    const std::string chosen = absl::StrCat(field.decided_by, "=", reader);
    if (std::ranges::count(effect.around, chosen) != 0) return {reader};
  }
  return field.readers.empty() ? std::vector<std::string>{""} : field.readers;
}

// A key that is added to the list is to be added to effects().
class EveryKeyTest : public testing::TestWithParam<std::string> {
 protected:
  EveryKeyTest() {
    write_data(folder_.path(), 1);
    std::filesystem::create_directory(folder_ / "other");
    write_data(folder_ / "other", 2);
    if (GetParam() == "train") train_source();
  }

  // A run from which another can begin.
  void train_source() {
    const absl::StatusOr<LoadedConfig> config = parse_config(kSmallRun, "source", {"seed=9"});
    ASSERT_TRUE(config.ok()) << config.status();
    testing::internal::CaptureStdout();
    const absl::Status status = run_training(*config, {.out = folder_ / "source"}).status();
    testing::internal::GetCapturedStdout();
    ASSERT_TRUE(status.ok()) << status;
  }

  // All that a run is given beside kSmallRun.
  Overrides overrides(const KeyEffect& effect, const Field& field, const std::string& reader,
                      const std::string& value) const {
    Overrides all;
    const auto add = [&](const std::string& override) {
      all.push_back(override);
      if (!override.starts_with("data.task=")) return;
      const Overrides more = overrides_of(override.substr(10), folder_.path());
      all.insert(all.end(), more.begin(), more.end());
    };
    for (const std::string& override : effect.around) add(override);
    if (!reader.empty()) add(absl::StrCat(field.decided_by, "=", reader));
    add(absl::StrCat(field.key(), "=", value));
    return all;
  }

  // What two keys have in common, the run with all their defaults, is made once.
  const ObservedRun& run_with(const Overrides& overrides) {
    const auto [run, is_new] = runs_.try_emplace(to_toml(parsed(kSmallRun, overrides)));
    if (is_new) run->second = observe_run(kSmallRun, overrides);
    return run->second;
  }

  void expect_effect(const KeyEffect& effect, const Field& field, const std::string& reader) {
    std::vector<const ObservedRun*> runs;
    const std::vector<std::string> values = values_of(effect, field, folder_.path());
    ASSERT_GE(values.size(), 2u);
    for (const std::string& value : values) {
      SCOPED_TRACE(value);
      runs.push_back(&run_with(overrides(effect, field, reader, value)));
      if (runs.back()->checkpoints.empty()) return;
      for (size_t i = 0; i + 1 < runs.size(); ++i) {
        SCOPED_TRACE(absl::StrCat("and ", values[i]));
        const Comparison seen(*runs[i], *runs.back());
        const unsigned may = effect.may_differ | (effect.differs & kWeights ? kSamples : kNothing);
        EXPECT_EQ(text_of(seen.differs() & ~may), text_of(effect.differs & ~may));
        EXPECT_LE(seen.farthest(), effect.at_most);
      }
    }
  }

  TemporaryFolder folder_;
  std::map<std::string, ObservedRun> runs_;  // by config
};

TEST_P(EveryKeyTest, DoesInARunWhatItSaysAndNothingElse) {
  Config config;
  for (const Field& field : config_fields(config)) {
    if (field.table != GetParam()) continue;
    std::set<std::string> unseen(field.readers.begin(), field.readers.end());
    bool has_effect = false;
    for (const KeyEffect& effect : effects()) {
      if (effect.key != field.key()) continue;
      has_effect = true;
      for (const std::string& reader : readers_of(effect, field)) {
        SCOPED_TRACE(
            absl::StrCat(field.key(), " ", absl::StrJoin(effect.around, " "), " ", reader));
        unseen.erase(reader);
        expect_effect(effect, field, reader);
      }
    }
    EXPECT_TRUE(has_effect) << field.key() << " is not in effects()";
    EXPECT_TRUE(unseen.empty()) << field.key() << " of " << *unseen.begin();
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, EveryKeyTest, testing::ValuesIn(config_tables()),
                         [](const auto& table) {
                           return table.param.empty() ? std::string("top") : table.param;
                         });

}  // namespace
}  // namespace qkv
