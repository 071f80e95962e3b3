// Where the layers of a trained model move its points, and whether these places are better.
#include "lessons/labs/kit.h"
#include "lessons/labs/matrices.h"
#include "lessons/labs/trained.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

// The points of all tokens on their way through a model, and which way is down.
struct Paths {
  Tensor embedded;                // [B T, C], of the tokens alone
  std::vector<Tensor> points;     // [B T, C] of what the first block reads, and after each block
  std::vector<Tensor> gradients;  // dL / dx there
  std::vector<int64_t> tokens, targets;  // kIgnoredTarget where nothing is asked
  Samples losses;  // read from the points of each layer, as if it were the last
};

Tensor parameter_named(const Model& model, const std::string& name) {
  for (const NamedParameter& each : parameters(model)) {
    if (each.name == name) return each.tensor;
  }
  return Tensor();
}

Paths walk(const Model& model, const Dataset& data, int64_t layers) {
  const Batch batch = data.validation_batch(0, data.validation_size());
  const auto [loss, trace] = trace_loss(model, batch);
  std::vector<Tensor> stream = {trace["blocks.0.input"]};
  for (int64_t i = 0; i < layers; ++i) {
    stream.push_back(trace[absl::StrCat("blocks.", i, ".output")]);
  }
  const Gradients gradients = backward(loss, {.keep = stream});
  Paths paths;
  const Tensor targets(batch.targets);
  for (const double each : targets.to_vector()) paths.targets.push_back(std::llround(each));
  for (const double each : batch.inputs[0].to_vector()) paths.tokens.push_back(std::llround(each));
  paths.embedded = reshape(trace["embedded"].detached(), {-1, stream[0].dim(2)});
  for (const Tensor& x : stream) {
    const int64_t width = x.dim(2);
    paths.points.push_back(reshape(x.detached(), {-1, width}));
    paths.gradients.push_back(reshape(gradients[x], {-1, width}));
    const Tensor normed = layer_norm(x.detached(), parameter_named(model, "final_norm.weight"),
                                     parameter_named(model, "final_norm.bias"));
    const Tensor logits =
        linear(normed, parameter_named(model, "token_embedding.weight"), Tensor());
    paths.losses.push_back(cross_entropy(logits, targets).item());
  }
  return paths;
}

// The cosine of what each layer adds to a point and the way down there: the mean over the tokens of
// which something is asked.
double downhill(const Paths& paths, size_t layer) {
  const Tensor step = paths.points[layer + 1] - paths.points[layer];
  const Tensor down = neg(paths.gradients[layer]);
  const Samples along = sum(step * down, -1).to_vector();
  const Samples lengths = (lengths_of_rows(step) * lengths_of_rows(down)).to_vector();
  double total = 0, count = 0;
  for (size_t i = 0; i < along.size(); ++i) {
    if (paths.targets[i] == kIgnoredTarget || lengths[i] == 0) continue;
    total += along[i] / lengths[i];
    count += 1;
  }
  return total / count;
}

// The answer of the first example on its way, and at each point but the last the way down.
LineChart chart_of(const Paths& paths) {
  std::vector<int64_t> asked;
  for (size_t i = 0; std::ssize(asked) < 5 && i < paths.targets.size(); ++i) {
    if (paths.targets[i] != kIgnoredTarget) asked.push_back(static_cast<int64_t>(i));
  }
  const Tensor places = tokens_of(asked);
  std::vector<Tensor> points, arrows;
  for (size_t l = 0; l < paths.points.size(); ++l) {
    points.push_back(embedding(cast(paths.points[l], DType::f64), places));
    const Tensor down = neg(embedding(cast(paths.gradients[l], DType::f64), places));
    arrows.push_back(points.back() + down * (0.2 * size_of(points.back()) / size_of(down)));
  }
  const Tensor all = concat(points, 0);
  const Tensor axes = principal_axes(all - mean(all, 0, /*keep_axis=*/true));
  LineChart chart = line_chart("Paths of the answer's tokens, and minus the gradient (down)",
                               "first principal axis", "second");
  const auto project = [&](const Tensor& rows, size_t token) {
    return matmul(slice(rows, 0, static_cast<int64_t>(token), 1), axes).to_vector();
  };
  for (size_t token = 0; token < asked.size(); ++token) {
    Series path = {.name = absl::StrCat("token ", token + 1)};
    Series arrow = {.name = absl::StrCat("down ", token + 1)};
    for (size_t l = 0; l < points.size(); ++l) {
      const auto here = project(points[l], token), there = project(arrows[l], token);
      path.x.push_back(here[0]);
      path.y.push_back(here[1]);
      if (l != 1) continue;
      arrow.x = {here[0], there[0]};
      arrow.y = {here[1], there[1]};
    }
    chart.series.push_back(std::move(path));
    if (token < 3) chart.series.push_back(std::move(arrow));
  }
  return chart;
}

// What of the points' variance is between points of one and the same token.
double share_within(const Tensor& points, const std::vector<int64_t>& tokens, int64_t vocabulary) {
  const Tensor x = cast(points, DType::f64);                                         // [N, C]
  const Tensor token_of_point = one_hot(tokens_of(tokens), vocabulary, DType::f64);  // [N, V]
  const Tensor counts = transpose(sum(token_of_point, 0, /*keep_axis=*/true), 0, 1) + 1e-300;
  const Tensor means = matmul(token_of_point, x, {.transpose_a = true}) / counts;  // [V, C]
  return std::pow(size_of(x - matmul(token_of_point, means)) / size_of(x - mean(x, 0, true)), 2);
}

Samples at_layer(const std::vector<Paths>& all, size_t layer) {
  return log10_of(values_of(all, [layer](const Paths& paths) { return paths.losses[layer]; }));
}

// The note does not say that layers descend: a table beside what it does say.
Table downhill_table(const std::vector<Paths>& trained, const std::vector<Paths>& fresh) {
  std::vector<size_t> layers(trained.front().points.size() - 1);
  std::iota(layers.begin(), layers.end(), 0);
  return table_by("Cosine of what a layer adds and of minus the gradient there",
                  {"layer", "trained", "not trained"}, layers, [&](size_t layer) {
                    const auto cosine = [&](const Paths& paths) { return downhill(paths, layer); };
                    return std::vector{absl::StrCat(layer + 1),
                                       format_samples(values_of(trained, cosine)),
                                       format_samples(values_of(fresh, cosine))};
                  });
}

Section places_section(const std::vector<Paths>& trained, const std::vector<Paths>& fresh) {
  Section section = make_section("trajectory.places", {}, {chart_of(trained.front())});
  section.show(line_chart("Loss, read from the points after each layer, first seed", "layers",
                          log_axis("loss"),
                          {numbered_series("trained", trained.front().losses, 0),
                           numbered_series("not trained", fresh.front().losses, 0)}));
  section.show(downhill_table(trained, fresh));
  const size_t layers = trained.front().points.size() - 1;
  for (size_t l = 0; l < layers; ++l) {
    section.add(larger(absl::StrCat("log10 of the loss before layer ", l + 1, ", and after it"),
                       at_layer(trained, l), at_layer(trained, l + 1)));
  }
  return section;
}

Section words_section(const std::vector<Paths>& trained, int64_t vocabulary) {
  const auto within = [&](const auto& points_of) {
    return values_of(trained, [&](const Paths& paths) {
      return share_within(points_of(paths), paths.tokens, vocabulary);
    });
  };
  const Samples embedded = within([](const Paths& paths) { return paths.embedded; });
  const Samples after_last = within([](const Paths& paths) { return paths.points.back(); });
  const Tensor one = identity(vocabulary);
  double off = 0;
  for (int64_t i = 1; i < vocabulary; ++i) {
    off = std::max(off, std::abs(size_of(row_of(one, 0) - row_of(one, i)) - std::sqrt(2.0)));
  }
  const double least = least_of(after_last);
  return make_section("trajectory.words",
                      {same("one-hot: distances of tokens and √2", off),
                       same("embedding: variance within tokens, and 0", mean_of(embedded), 1e-9),
                       found("after the last layer: variance within tokens", "above 0.2",
                             after_last, least > 0.2)});
}

Section maps_section(const LabContext& lab) {
  const RandomStream random(1);
  const int64_t d = 4;
  const Tensor w = random_normal(random, "w", {d, d}), v = random_normal(random, "v", {d, d});
  const Tensor b = random_normal(random, "b", {1, d});
  const Tensor a = random_normal(random, "a", {1, d}), c = random_normal(random, "c", {1, d});
  const bool bends = !lab.is_control();
  const auto layer = [&](const Tensor& x) { return matmul(x, w) + b; };
  const auto bent = [&](const Tensor& x) { return bends ? tanh(layer(x)) : layer(x); };
  const auto middle_off = [&](const auto& f) {
    return largest_difference(f((a + c) * 0.5), (f(a) + f(c)) * 0.5);
  };
  constexpr double kFar = 1000;  // where relu is a line
  // x xor y = relu(x + y) - 2 relu(x + y - 1)
  const Tensor corners = constant_f64({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Tensor added = sum(corners, -1);
  const Tensor solved = bends ? relu(added) - relu(added - 1.0) * 2.0 : added;
  const double off = largest_difference(solved, constant_f64({4}, {0, 1, 1, 0}));
  return make_section(
      "trajectory.maps",
      {same("one linear layer: the middle stays there", middle_off(layer)),
       same("two linear layers, and one",
            largest_difference(matmul(layer(a), v), matmul(a, matmul(w, v)) + matmul(b, v))),
       above("with σ: the middle is off by", 0.01, middle_off(bent)),
       same("relu far from 0, and a line", largest_difference(relu(a + kFar) - kFar, a)),
       same("exclusive or, by two relu", off)});
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<Paths> trained, fresh;
  int64_t vocabulary = 0;
  for (const Trained& each : train_over_seeds(lab)) {
    const int64_t layers = each.config.model.num_layers;
    fresh.push_back(walk(untrained(each), *each.data, layers));
    trained.push_back(lab.is_control() ? fresh.back() : walk(each.model, *each.data, layers));
    vocabulary = each.data->vocabulary().size();
  }
  return {maps_section(lab), words_section(trained, vocabulary), places_section(trained, fresh)};
}

}  // namespace

Lab trajectory_lab() { return make_lab("trajectory", run); }

}  // namespace qkv
