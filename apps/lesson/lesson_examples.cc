#include "apps/lesson/lesson_examples.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "data/batch_builder.h"
#include "framework/core/each_of.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

constexpr char kLearn[] = "learn";
constexpr double kTenths = 10.0;
constexpr double kSpread = 30.0;  // gives weights a standard deviation of 30 x 0.02

// The numbers of one parameter, row by row.
struct GivenNumbers {
  std::string parameter;
  std::vector<double> values;
};

struct BuiltIn {
  std::string name;
  std::string text;  // each word but the last has the next as its target
  ModelOptions model;
  std::vector<GivenNumbers> numbers = {};  // all other parameters are random
};

ModelOptions small_model() {
  ModelOptions model;
  model.num_layers = 1;
  model.d_model = 4;
  model.num_heads = 2;
  model.d_ff = 8;
  return model;
}

ModelOptions without_norms() {
  ModelOptions model = small_model();
  model.norm = NormPlace::kNone;
  model.position = Position::kNone;
  model.bias = false;
  model.d_ff = 4;
  return model;
}

std::vector<BuiltIn> examples() {
  ModelOptions bare = without_norms(), thinking = without_norms();
  bare.d_model = bare.d_ff = 3;
  bare.num_heads = thinking.num_heads = 1;
  bare.attention.projections = Projections::kNone;
  bare.attention.causal = thinking.attention.causal = false;
  bare.scale_scores = false;
  return {{"three-words", "I have a dream", small_model()},
          {"blackboard",
           "I have a dream",
           without_norms(),
           {{"token_embedding.weight",
             {1, 0, 1, 0,   //
              0, 2, 0, 1,   //
              1, 1, -1, 0,  //
              -1, 0, 2, 1}}}},
          {"bare",
           "x_1 x_2 x_3 x_1",
           bare,
           {{"token_embedding.weight",
             {1, 0, 1,  //
              0, 1, 1,  //
              1, -1, 0}}}},
          {"thinking-machines",
           "Thinking Machines learn",
           thinking,
           // Maps are [out, in]; q_1·k_1 = 28, q_1·k_2 = 24
           {{"token_embedding.weight",
             {1, 0, 1, 0,  //
              0, 1, 0, 1,  //
              -1, 1, 0, 1}},
            {"blocks.0.attention.query.weight",
             {1, 1, 1, 0,  //
              1, 0, 1, 1,  //
              1, 1, 1, 0,  //
              1, 0, 1, 0}},
            {"blocks.0.attention.key.weight",
             {2, 1, 2, 2,  //
              2, 2, 2, 1,  //
              1, 1, 2, 2,  //
              1, 2, 2, 1}}}}};
}

// Every parameter gets its given numbers, or random ones with one digit after the point.
void set_parameters(const Model& model, const BuiltIn& example) {
  for (auto& [name, tensor] : parameters(model)) {
    Array array = tensor.array();
    const std::span<double> x(array.mutable_data<double>(), static_cast<size_t>(array.size()));
    const auto given = std::ranges::find(example.numbers, name, &GivenNumbers::parameter);
    if (given != example.numbers.end()) {
      std::ranges::copy(given->values, x.begin());
    } else if (!name.ends_with("norm.weight")) {  // these are ones
      for (double& each : x) each = std::round(kTenths * kSpread * each) / kTenths;
    }
  }
}

Lesson lesson_of(const BuiltIn& example) {
  const std::vector<std::string> words = absl::StrSplit(example.text, ' ');
  std::vector<std::string> vocabulary;
  std::vector<int64_t> numbers;
  for (const std::string& word : words) {
    const auto known = std::ranges::find(vocabulary, word);
    numbers.push_back(known - vocabulary.begin());
    if (known == vocabulary.end()) vocabulary.push_back(word);
  }
  Config config;
  config.name = example.name;
  config.data.task = "text";
  config.data.path = example.text;
  config.train.precision = Precision::kF64;
  config.model = example.model;
  DataShape data;
  data.vocabulary_size = std::ssize(vocabulary);
  data.max_length = std::ssize(words) - 1;
  const Shape row = {1, data.max_length};
  Lesson lesson = {.config = config,
                   .vocabulary = vocabulary,
                   .model = make_model(config, data),
                   .batch = {{Array::of(row, std::vector(numbers.begin(), numbers.end() - 1))},
                             Array::of(row, std::vector(numbers.begin() + 1, numbers.end()))}};
  set_parameters(lesson.model, example);
  return lesson;
}

// As `qkv train` has it, with a file of the questions' lines.
Config config_that_learns() {
  Config config;
  config.name = kLearn;
  config.seed = 6;  // with which each symbol of the answer looks at one place most
  config.data.task = "pairs";
  config.data.path = absl::StrCat(kLearn, ".tsv");
  config.model.num_layers = config.model.num_heads = 1;
  config.model.d_model = 16;
  config.model.d_ff = 8;
  config.model.init_std = 0.1;
  config.model.activation = Activation::kRelu;
  config.optimizer.learning_rate = 0.003;
  config.optimizer.weight_decay = config.optimizer.grad_clip = 0;
  config.optimizer.schedule = Schedule::kConstant;
  config.train.precision = Precision::kF64;
  config.train.steps = 200;
  config.train.batch_size = 27;
  config.train.log_interval = 1;
  return config;
}

// All questions of three symbols.
Lesson lesson_that_learns() {
  const std::vector<std::string> vocabulary = {"\t", "\n", "0", "1", "2", "�"};
  constexpr size_t kShown = 5;                   // 012
  constexpr int64_t kHeldBack[] = {14, 21, 24};  // which training does not take from the file
  std::vector<Example> examples;
  for (int64_t i = 0; i < 27; ++i) {
    const int64_t a = 2 + i / 9, b = 2 + i / 3 % 3, c = 2 + i % 3;
    examples.push_back({.prompt = {a, b, c, 0}, .answer = {c, b, a, 1}});
  }
  const QuestionLengths lengths = {.prompt = 4, .answer = 4, .both = 8};
  const DataShape data = shape_of(lengths, std::ssize(vocabulary), DataForm::kSequence);
  const Config config = config_that_learns();
  const auto batch_of = [&](const std::vector<Example>& rows) {
    return question_batch(DataForm::kSequence, rows, lengths, /*padding=*/0);
  };
  Batch practice = batch_of(examples);
  int64_t* targets = practice.targets.mutable_data<int64_t>();
  for (const int64_t row : kHeldBack) {
    std::fill_n(targets + row * data.max_length, data.max_length, kIgnoredTarget);
  }
  return {.config = config,
          .vocabulary = vocabulary,
          .model = make_model(config, data),
          .batch = batch_of({examples[kShown]}),
          .practice = std::move(practice)};
}

}  // namespace

std::vector<std::string> lesson_names() {
  std::vector<std::string> names = each_of(examples(), &BuiltIn::name);
  names.emplace_back(kLearn);
  return names;
}

absl::StatusOr<Lesson> find_lesson(const std::string& name) {
  if (name == kLearn) return lesson_that_learns();
  for (const BuiltIn& example : examples()) {
    if (example.name == name) return lesson_of(example);
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no example \"", name, "\"; there are ",
                                                 absl::StrJoin(lesson_names(), ", ")));
}

}  // namespace qkv
