// How far attention reaches, beside a convolution and a recurrence.
#include "lessons/labs/kit.h"
#include "lessons/labs/trained.h"

namespace qkv {
namespace {

struct AtDistance {
  int64_t distance;
  Samples right;  // share of tokens, by seed
};

struct Kind {
  std::string name;   // as in model.mixer
  std::string title;  // for people
  std::vector<AtDistance> at = {};
  Samples reach = {};  // |dlogits / dx| by steps back, at the largest distance
};

// Each letter is the one that stood so many before it.
std::vector<Trained> train(const LabContext& lab, const Kind& kind, int64_t distance) {
  std::vector<std::string> settings = {absl::StrCat("model.mixer=", kind.name),
                                       absl::StrCat("data.distance=", distance)};
  if (kind.name == "attention") {
    settings.emplace_back("model.num_heads=1");
    if (lab.is_control()) settings.emplace_back("attention.window=1");
  }
  return train_over_seeds(lab, settings);
}

// |dlogits / dx| of the last token's logits, at each token so many steps back.
std::vector<double> reach_of(const Trained& trained) {
  const Batch batch = trained.data->validation_batch(0, 32);
  const std::vector<Tensor> inputs(batch.inputs.begin(), batch.inputs.end());
  const auto [logits, trace] = trace_module(trained.model, inputs);  // [B, T, V]
  const int64_t rows = logits.dim(0), length = logits.dim(1), classes = logits.dim(2);
  RandomStream random(1);
  std::vector<double> pushed(static_cast<size_t>(rows * classes));
  for (double& x : pushed) x = random.normal();
  const Tensor at_last(Array::of({rows, 1, classes}, DType::f32, pushed));
  const Tensor embedded = trace["embedded"];
  const Gradients gradients =
      backward(logits, {.cotangent = pad(at_last, 1, length - 1, length), .keep = {embedded}});
  const Tensor& gradient = gradients[embedded];
  Samples sizes = mean(sqrt(sum(gradient * gradient, -1)), 0).to_vector();
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
      const std::vector<Trained> models = train(lab, kind, distance);
      kind.at.push_back({distance, right_tokens_of(models)});
      if (distance == distances.back()) kind.reach = reach_of(models[0]);
    }
  }
  return kinds;
}

LineChart chart_of_right(const std::vector<Kind>& kinds) {
  return line_chart("Tokens that are right, by distance", log_axis("distance"), "share",
                    each_of(kinds, [](const Kind& kind) {
                      return series_by(kind.title, kind.at, &AtDistance::distance,
                                       &AtDistance::right);
                    }));
}

Section learning_section(const std::vector<Kind>& kinds) {
  Section section = make_section("distance.learning", {}, {chart_of_right(kinds)});
  for (const AtDistance& attention : kinds[0].at) {
    section.add(
        at_least(absl::StrCat("attention, distance ", attention.distance, ", the worst seed"), 0.9,
                 least_of(attention.right)));
  }
  const AtDistance& farthest = kinds[0].at.back();
  for (const Kind* const other : {&kinds[1], &kinds[2]}) {
    section.add(
        larger(absl::StrCat("attention and ", other->title, ", distance ", farthest.distance),
               farthest.right, other->at.back().right));
  }
  return section;
}

Section gradient_section(const std::vector<Kind>& kinds, int64_t distance) {
  const LineChart chart = line_chart(
      "|dlogits / dx| so many steps back, trained at the largest distance", "steps back",
      "gradient",
      each_of(kinds, [](const Kind& kind) { return numbered_series(kind.title, kind.reach, 0); }));
  const auto farthest = [](const Kind& kind) {
    const auto found =
        std::find_if(kind.reach.rbegin(), kind.reach.rend(), [](double size) { return size > 0; });
    return static_cast<double>(kind.reach.rend() - found - 1);
  };
  const auto& reach = kinds[0].reach;
  const auto strongest = static_cast<double>(std::ranges::max_element(reach) - reach.begin());
  return make_section(
      "distance.gradient",
      {equal("attention: steps back where the gradient is largest", distance - 1, strongest),
       equal("attention: farthest step with a gradient", reach.size() - 1, farthest(kinds[0])),
       equal("convolution of width 3: farthest step", 2, farthest(kinds[1]))},
      {chart});
}

// What y_T comes to when no y before it is known.
Section parallel_section() {
  constexpr int64_t kTokens = 16, kWidth = 8;
  const RandomStream random(1);
  const auto make = [&](const char* name) {
    return random_normal(random, name, {1, kTokens, 1, kWidth});
  };
  const Tensor q = make("q"), k = make("k"), v = make("v");
  const auto last = [](const Tensor& x) { return slice(x, 1, kTokens - 1, 1); };
  const AttentionOptions options = {.mask = {.causal = true}};
  const double alone =
      largest_difference(last(attention(q, k, v, options)), attention(last(q), k, v, options));
  const Tensor x = reshape(make("x"), {1, kTokens, kWidth});
  const Tensor weight = random_normal(random, "W", {kWidth, kWidth}) * 0.3;
  const double state = largest_difference(last(rnn(x, weight)), rnn(last(x), weight));
  return make_section("distance.parallel",
                      {same("attention: the last y, alone and with all", alone),
                       differ("RNN: the last h, with and without those before", state)});
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<Kind> kinds = measure(lab);
  return {learning_section(kinds), gradient_section(kinds, lab.integers("distance").back()),
          parallel_section()};
}

}  // namespace

Lab distance_lab() { return make_lab("distance", run); }

}  // namespace qkv
