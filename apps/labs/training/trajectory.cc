// Where the layers of a trained model move its points, and whether these places are better.
#include <vector>

#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"

namespace qkv {
namespace {

// The points of all tokens on their way through a model.
struct Walk {
  std::vector<Tensor> points;    // [B T, C] of what the first block reads, and after each block
  std::vector<int64_t> targets;  // kIgnoredTarget where nothing is asked
  Samples losses;                // read from the points of each layer, as if it were the last
  double right = 0;              // the share of answers, token by token
};

Tensor parameter_named(const Model& model, const std::string& name) {
  for (const NamedParameter& each : parameters(model)) {
    if (each.name == name) return each.tensor;
  }
  return Tensor();
}

Walk walk_of(const Model& model, const Dataset& data, int64_t layers) {
  const Batch batch = data.validation_batch(0, data.validation_size());
  const Trace trace = trace_loss(model, batch).trace;
  std::vector<Tensor> stream = {trace["blocks.0.input"]};
  for (int64_t i = 0; i < layers; ++i) {
    stream.push_back(trace[absl::StrCat("blocks.", i, ".output")]);
  }
  Walk walk;
  const Tensor targets(batch.targets);
  for (const double each : targets.to_vector()) walk.targets.push_back(std::llround(each));
  for (const Tensor& x : stream) {
    const int64_t width = x.dim(2);
    walk.points.push_back(reshape(x.detached(), {-1, width}));
    const Tensor normed = layer_norm(x.detached(), parameter_named(model, "final_norm.weight"),
                                     parameter_named(model, "final_norm.bias"));
    const Tensor logits =
        linear(normed, parameter_named(model, "token_embedding.weight"), Tensor());
    walk.losses.push_back(cross_entropy(logits, targets).item());
  }
  return walk;
}

// The ways of the first answer's tokens, in the plane in which they differ most.
Paths figure_of(const Walk& walk, const Vocabulary& vocabulary) {
  constexpr int64_t kShown = 5;
  std::vector<int64_t> asked;
  for (size_t i = 0; std::ssize(asked) < kShown && i < walk.targets.size(); ++i) {
    if (walk.targets[i] != kIgnoredTarget) asked.push_back(static_cast<int64_t>(i));
  }
  std::vector<Tensor> points;
  for (const Tensor& each : walk.points) {
    points.push_back(embedding(cast(each, DType::f64), tokens_of(asked)));
  }
  const Tensor all = concat(points, 0);
  const Tensor axes = principal_axes(all - mean(all, 0, /*keep_axis=*/true));
  Paths figure = {.title = say("Ways of five tokens through the layers, to what each is to say"),
                  .x_label = say("first principal axis"),
                  .y_label = say("second principal axis")};
  for (size_t i = 0; i < asked.size(); ++i) {
    const int64_t target = walk.targets[static_cast<size_t>(asked[i])];
    Path path = {.name = say("place {0}, to say {1}", i + 1,
                             vocabulary.texts()[static_cast<size_t>(target)])};
    for (const Tensor& layer : points) {
      const Samples at = matmul(slice(layer, 0, static_cast<int64_t>(i), 1), axes).to_vector();
      path.x.push_back(at[0]);
      path.y.push_back(at[1]);
    }
    figure.paths.push_back(std::move(path));
  }
  return figure;
}

Samples at_layer(const std::vector<Walk>& all, size_t layer) {
  return log10_of(values_of(all, [layer](const Walk& walk) { return walk.losses[layer]; }));
}

Section places_section(const std::vector<Walk>& trained, const Samples& right,
                       const Vocabulary& vocabulary, int64_t letters) {
  Section section = make_section("trajectory.places", {}, {figure_of(trained.front(), vocabulary)});
  section.add(premise(at_least(say("answers that are right, unseen ones"), 0.9, right)));
  const size_t layers = trained.front().points.size() - 1;
  std::vector<size_t> numbers(layers + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  LineChart chart = line_chart(
      say("Loss, read after each layer as if it were the last"), say("layers"),
      log_axis(say("loss")),
      {series_by(say("trained"), numbers, std::identity(), [&](size_t layer) {
        return values_of(trained, [layer](const Walk& walk) { return walk.losses[layer]; });
      })});
  chart.levels = {
      {say("guessing one of the {0} letters", letters), std::log(static_cast<double>(letters))}};
  section.show(std::move(chart));
  for (size_t l = 0; l < layers; ++l) {
    section.add(larger(say("log10 of the loss before layer {0}, and after it", l + 1),
                       at_layer(trained, l), at_layer(trained, l + 1)));
  }
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<Walk> trained;
  const std::vector<Trained> models = train_over_seeds(lab);
  for (const Trained& each : models) {
    const Model model = lab.is_control() ? untrained(each) : each.model;
    trained.push_back(walk_of(model, *each.data, each.config.model.num_layers));
  }
  const Vocabulary& vocabulary = models.front().data->vocabulary();
  Section section = places_section(trained, right_tokens_of(models), vocabulary,
                                   models.front().config.data.alphabet);
  add_settled(section, {training_losses_of(models)});
  return {section};
}

}  // namespace

Lab trajectory_lab() { return make_lab("trajectory", run); }

}  // namespace qkv
