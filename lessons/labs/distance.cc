// How far attention reaches, beside a convolution and a recurrence.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

// Each letter is the one that stood so many before it.
constexpr const char* kConfig = R"(
name = "distance-lab"
[data]
task = "echo"
alphabet = 8
length = 128
validation_examples = 50
[model]
num_layers = 1
d_model = 32
num_heads = 1
d_ff = 64
[optimizer]
learning_rate = 5e-3
[train]
batch_size = 16
)";

struct Kind {
  std::string name;                             // as in model.mixer
  std::string title;                            // for people
  std::vector<std::vector<double>> right = {};  // share of tokens, by distance and seed
  std::vector<double> reach = {};  // |dlogits / dx| by steps back, at the largest distance
};

Trained train(const LabContext& lab, const Kind& kind, int64_t distance, uint64_t seed) {
  std::vector<std::string> settings = {
      absl::StrCat("model.mixer=", kind.name), absl::StrCat("data.distance=", distance),
      absl::StrCat("seed=", seed), absl::StrCat("train.steps=", lab.integer("steps"))};
  if (lab.is_control() && kind.name == "attention") settings.emplace_back("attention.window=1");
  return train_or_reuse(lab, lab_config(kConfig, settings));
}

// |dlogits / dx| of the last token's logits, at each token so many steps back.
std::vector<double> reach_of(const Trained& trained) {
  const Batch batch = trained.data->validation_batch(0, 32);
  const std::vector<Tensor> inputs(batch.inputs.begin(), batch.inputs.end());
  Trace trace;
  ForwardContext context{.trace = &trace};
  const Tensor logits = trained.model(inputs, context);  // [B, T, V]
  const int64_t rows = logits.dim(0), length = logits.dim(1), classes = logits.dim(2);
  RandomStream random(1);
  std::vector<double> pushed(static_cast<size_t>(rows * classes));
  for (double& x : pushed) x = random.normal();
  const Tensor at_last(Array::of({rows, 1, classes}, DType::f32, pushed));
  const Tensor embedded = trace["embedded"];
  const Gradients gradients =
      backward(logits, {.cotangent = pad(at_last, 1, length - 1, length), .keep = {embedded}});
  const Tensor& gradient = gradients[embedded];
  std::vector<double> sizes = mean(sqrt(sum(gradient * gradient, -1)), 0).to_vector();
  std::ranges::reverse(sizes);
  return sizes;
}

std::vector<Kind> measure(const LabContext& lab) {
  std::vector<Kind> kinds = {{.name = "attention", .title = "attention"},
                             {.name = "convolution", .title = "convolution of width 3"},
                             {.name = "recurrence", .title = "LSTM"}};
  const std::vector<int64_t> distances = lab.integers("distance");
  for (Kind& kind : kinds) {
    for (const int64_t distance : distances) {
      std::vector<double> right;
      for (const uint64_t seed : lab.seeds()) {
        const Trained trained = train(lab, kind, distance, seed);
        right.push_back(trained.validation.token_accuracy);
        const bool shown = distance == distances.back() && seed == 1;
        if (shown) kind.reach = reach_of(trained);
      }
      kind.right.push_back(right);
    }
  }
  return kinds;
}

LineChart chart_of_right(const std::vector<Kind>& kinds, const std::vector<int64_t>& distances) {
  LineChart chart = {.title = "Tokens that are right, by distance",
                     .x_label = "distance",
                     .y_label = "share",
                     .log_x = true,
                     .series = {}};
  for (const Kind& kind : kinds) {
    Series series = {.name = kind.title, .x = {}, .y = {}, .spread = {}};
    for (size_t i = 0; i < distances.size(); ++i) {
      series.x.push_back(static_cast<double>(distances[i]));
      series.y.push_back(mean_of(kind.right[i]));
      series.spread.push_back(deviation_of(kind.right[i]));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Section learning_section(const std::vector<Kind>& kinds, const std::vector<int64_t>& distances) {
  Section section = {
      .claims = {{"C134", "自注意力模型的**优点**：", "What is good about self-attention:"},
                 {"C136", "捕捉长距离的依赖关系。", "It catches what depends on far away."}},
      .formula = "x_t = x_(t - distance)",
      .prediction =
          "In one layer attention learns any distance. A convolution of width 3 does not see "
          "beyond its taps, and an LSTM has to carry all letters in between.",
      .findings = {},
      .figures = {chart_of_right(kinds, distances)}};
  for (size_t i = 0; i < distances.size(); ++i) {
    const double worst = *std::ranges::min_element(kinds[0].right[i]);
    section.findings.push_back(
        found(absl::StrCat("attention, distance ", distances[i], ", the worst seed"),
              "at least 0.9", format_number(worst), worst >= 0.9));
  }
  const auto last = distances.size() - 1;
  for (const size_t other : {1UL, 2UL}) {
    section.findings.push_back(
        larger(absl::StrCat("attention and ", kinds[other].title, ", distance ", distances[last]),
               kinds[0].right[last], kinds[other].right[last]));
  }
  return section;
}

Section gradient_section(const std::vector<Kind>& kinds, int64_t distance) {
  LineChart chart = {.title = "|dlogits / dx| so many steps back, trained at the largest distance",
                     .x_label = "steps back",
                     .y_label = "gradient",
                     .series = {}};
  for (const Kind& kind : kinds) {
    Series series = {.name = kind.title, .x = {}, .y = kind.reach};
    for (size_t i = 0; i < kind.reach.size(); ++i) series.x.push_back(static_cast<double>(i));
    chart.series.push_back(std::move(series));
  }
  const auto farthest = [](const Kind& kind) {
    const auto found =
        std::find_if(kind.reach.rbegin(), kind.reach.rend(), [](double size) { return size > 0; });
    return static_cast<double>(kind.reach.rend() - found - 1);
  };
  const auto& reach = kinds[0].reach;
  const auto strongest = static_cast<double>(std::ranges::max_element(reach) - reach.begin());
  return {.claims = {{"C70", "卷积神经网络事实上只能获得局部信息",
                      "A convolutional network in fact gets only what is local."},
                     {"C70", "自注意力机制能够直接获得**全局信息**。",
                      "Self-attention gets what is global, directly."}},
          .formula = "|dlogits_T / dx_(T - k)|",
          .prediction =
              "The gradient of attention comes straight from where the letter stands, however "
              "far; that of a convolution is 0 beyond its taps.",
          .findings = {exact("attention: steps back where the gradient is largest",
                             static_cast<double>(distance - 1), strongest, 0),
                       exact("attention: farthest step with a gradient",
                             static_cast<double>(reach.size() - 1), farthest(kinds[0]), 0),
                       exact("convolution of width 3: farthest step", 2, farthest(kinds[1]), 0)},
          .figures = {chart}};
}

// What y_T comes to when no y before it is known.
Section parallel_section() {
  constexpr int64_t kTokens = 16, kWidth = 8;
  const RandomStream random(1);
  const auto make = [&](const char* name) {
    return random_normal(random.derive(name), {1, kTokens, 1, kWidth});
  };
  const Tensor q = make("q"), k = make("k"), v = make("v");
  const auto last = [](const Tensor& x) { return slice(x, 1, kTokens - 1, 1); };
  const AttentionOptions options = {.mask = {.causal = true}};
  const double alone =
      largest_difference(last(attention(q, k, v, options)), attention(last(q), k, v, options));
  const Tensor x = reshape(make("x"), {1, kTokens, kWidth});
  const Tensor weight = random_normal(random.derive("W"), {kWidth, kWidth}) * 0.3;
  const double state = largest_difference(last(rnn(x, weight)), rnn(last(x), weight));
  return {.claims = {{"C135", "提高并行计算效率;", "It computes in parallel."}},
          .formula = "y_T = f(x_1 … x_T) against h_T = f(h_(T - 1), x_T)",
          .prediction =
              "No y waits for the y before it: the last comes out the same when it is the only "
              "one computed. A recurrence cannot leave out the states before.",
          .findings = {same("attention: the last y, alone and with all", alone),
                       found("RNN: the last h, with and without those before", "differ",
                             format_number(state), state > 1e-3)}};
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<int64_t> distances = lab.integers("distance");
  const std::vector<Kind> kinds = measure(lab);
  return {learning_section(kinds, distances), gradient_section(kinds, distances.back()),
          parallel_section()};
}

}  // namespace

Lab distance_lab() {
  return {.name = "distance",
          .question = "How far does attention reach, beside a convolution and a recurrence?",
          .control = "attention sees the token before and no further",
          .duration = "60 s",
          .options = {{"distance", "2,4,16,64", "between a letter and where it comes again", 2, 127,
                       Numbers::kWhole, 2, kLongestList},
                      steps_option("300"),
                      seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
