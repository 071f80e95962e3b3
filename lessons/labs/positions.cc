// Learned, fixed, turned or added to the scores: what positions are worth, and beyond training.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

constexpr const char* kConfig = R"(
name = "positions"
[data]
alphabet = 8
validation_examples = 100
[model]
num_layers = 1
d_model = 32
num_heads = 2
d_ff = 64
[optimizer]
learning_rate = 5e-3
[train]
batch_size = 32
)";

// A question where the place counts (reverse), and one where the distance does (echo).
struct Task {
  const char* name;
  int64_t length, longer;
};
constexpr Task kReverse = {.name = "reverse", .length = 8, .longer = 8};
constexpr Task kEcho = {.name = "echo", .length = 24, .longer = 48};

struct Kind {
  Position position;
  std::vector<double> reverse = {}, echo = {};  // share of tokens that are right
  std::vector<double> longer = {};              // of echo at twice the length
  bool refuses = false;                         // to read that at all
  double parameters = 0;

  std::string name() const { return name_of(position); }
};

Config config_of(const LabContext& lab, const Task& task, Position position, uint64_t seed) {
  Config config = lab_config(
      kConfig, {absl::StrCat("data.task=", task.name), absl::StrCat("data.length=", task.length),
                absl::StrCat("seed=", seed), absl::StrCat("train.steps=", lab.integer("steps"))});
  config.data.distance = 4;
  config.model.position = lab.is_control() ? Position::kNone : position;
  config.model.sinusoidal_scale = 0.1;  // learned from there
  return config;
}

// The share of tokens that are right at twice the length; nothing where that is refused.
std::optional<double> right_when_longer(const Trained& trained) {
  Config longer = trained.config;
  longer.data.length = kEcho.longer;
  const auto data = make_dataset(longer);
  try {
    return evaluate(trained.model, **data, Split::kValidation, 32)->token_accuracy;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<Kind> measure(const LabContext& lab) {
  std::vector<Kind> kinds = {{Position::kNone},   {Position::kLearned}, {Position::kSinusoidal},
                             {Position::kRotary}, {Position::kAlibi},   {Position::kRelative}};
  for (Kind& kind : kinds) {
    for (const uint64_t seed : lab.seeds()) {
      const Trained reverse = train_or_reuse(lab, config_of(lab, kReverse, kind.position, seed));
      const Trained echo = train_or_reuse(lab, config_of(lab, kEcho, kind.position, seed));
      kind.reverse.push_back(reverse.validation.token_accuracy);
      kind.echo.push_back(echo.validation.token_accuracy);
      kind.parameters = static_cast<double>(parameter_count(parameters(echo.model)));
      if (const auto right = right_when_longer(echo)) {
        kind.longer.push_back(*right);
      } else {
        kind.refuses = true;
      }
    }
  }
  return kinds;
}

const Kind& of(const std::vector<Kind>& kinds, Position position) {
  return *std::ranges::find(kinds, position, &Kind::position);
}

Table table_of(const std::vector<Kind>& kinds) {
  Table table = {.title = "Tokens that are right",
                 .header = {"position", "parameters", "reverse", "echo", "twice as long"},
                 .rows = {}};
  for (const Kind& kind : kinds) {
    table.rows.push_back({kind.name(), format_number(kind.parameters), format_samples(kind.reverse),
                          format_samples(kind.echo),
                          kind.refuses ? "refused" : format_samples(kind.longer)});
  }
  return table;
}

Section source_section(const std::vector<Kind>& kinds) {
  const Kind &none = of(kinds, Position::kNone), &learned = of(kinds, Position::kLearned);
  return {
      .claims =
          {{"C163",
            "位置编码$e$是自注意力机制中获取序列**位置**信息的唯一来源，是模型重要的组成部分。",
            "The encoding e is the only source from which self-attention knows "
            "positions, and an important part of the model."}},
      .formula = "reverse: y_t = x_(n - t),   echo: y_t = x_(t - 4)",
      .prediction = "Without positions neither task is learned; with them both are.",
      .findings = {larger("reverse, learned positions and none", learned.reverse, none.reverse),
                   larger("echo, learned positions and none", learned.echo, none.echo),
                   found("reverse, learned positions, the worst seed", "at least 0.95",
                         format_number(*std::ranges::min_element(learned.reverse)),
                         std::ranges::min(learned.reverse) >= 0.95),
                   beyond(near("echo without positions, as by guessing", 1.0 / 8, none.echo))},
      .figures = {table_of(kinds)},
      .condition = "every place counts",
      .correction =
          "Not the only source: a causal mask tells the first token from the second (order). It "
          "is not enough for the task, but more is right than by guessing."};
}

// Their difference is small beside what positions are worth.
Finding close(const std::string& what, const std::vector<double>& a, const std::vector<double>& b) {
  const double difference = std::abs(mean_of(a) - mean_of(b));
  return found(what, "differ by less than 0.05",
               absl::StrCat(format_samples(a), " and ", format_samples(b)), difference < 0.05);
}

Section same_section(const std::vector<Kind>& kinds) {
  const Kind &learned = of(kinds, Position::kLearned),
             &sinusoids = of(kinds, Position::kSinusoidal);
  return {
      .claims = {{"C163", "位置编码既可以从数据中学习得到，也可以人为定义并加到词嵌入向量上。",
                  "Positions can be learned from data, or be defined by people and added to the "
                  "embeddings."},
                 {"C187", "通过实验发现位置嵌入和上述位置编码效果是接近的，因此直接选用后者。",
                  "Experiments show that learned positions and these come to about the same, so "
                  "the latter are taken."}},
      .formula = "x_t + E_t against x_t + s e_t",
      .prediction =
          "With the same seeds and steps, learned positions and sinusoids are right about as "
          "often.",
      .findings = {close("reverse, learned and sinusoidal", learned.reverse, sinusoids.reverse),
                   beyond(close("echo, learned and sinusoidal", learned.echo, sinusoids.echo))},
      .figures = {},
      .condition = "places count (reverse), not distances (echo)",
      .correction = "Where distances count, sinusoids have not come as far in the same steps."};
}

Section longer_section(const std::vector<Kind>& kinds) {
  const Kind &learned = of(kinds, Position::kLearned),
             &sinusoids = of(kinds, Position::kSinusoidal), &rotary = of(kinds, Position::kRotary),
             &relative = of(kinds, Position::kRelative);
  return {.claims =
              {{"C187",
                "因此位置$\\alpha+\\beta$处的编码很容易被位置$\\alpha$和位置$\\beta$处的编码表示。",
                "So the encoding at α + β is easily expressed by those at α and at β."},
               {"C193", "更多的位置编码形式可以参考", "For more forms of positions see …"}},
          .formula = "trained on 24 tokens, asked for 48",
          .prediction =
              "A table of learned positions ends with the longest of training. Sinusoids go on, "
              "and as a shift is a rotation at every place, what was learned should still hold "
              "there; as for rotary and relative positions, which know distances alone.",
          .findings = {found("learned, twice as long", "refused",
                             learned.refuses ? "refused" : "read", learned.refuses),
                       near("rotary, twice as long, as before", mean_of(rotary.echo), rotary.longer,
                            0.1),
                       near("relative, twice as long, as before", mean_of(relative.echo),
                            relative.longer, 0.1),
                       beyond(near("sinusoidal, twice as long, as before", mean_of(sinusoids.echo),
                                   sinusoids.longer, 0.1))},
          .figures = {},
          .condition = "positions work by the distance of two tokens",
          .correction =
              "Sinusoids are there beyond training, but the model has not learned to read them: "
              "that a rotation exists does not make W_q and W_k use it."};
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<Kind> kinds = measure(lab);
  return {source_section(kinds), same_section(kinds), longer_section(kinds)};
}

}  // namespace

Lab positions_lab() {
  return {.name = "positions",
          .question = "Learned positions or fixed ones: do they come to the same?",
          .control = "no model has positions",
          .duration = "20 s",
          .options = {steps_option("300"), seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
