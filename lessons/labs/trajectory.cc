// Where the layers of a trained model move its points, and whether these places are better.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"
#include "train/run/batch_loss.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

constexpr const char* kConfig = R"(
name = "trajectory"
[data]
task = "reverse"
alphabet = 6
length = 5
validation_examples = 100
[model]
num_layers = 3
d_model = 32
num_heads = 2
d_ff = 64
[optimizer]
learning_rate = 3e-3
betas = [0.9, 0.99]
schedule = "cosine"
[train]
batch_size = 64
)";

// The points of all tokens on their way through a model, and which way is down.
struct Paths {
  Tensor embedded;                // [B T, C], of the tokens alone
  std::vector<Tensor> points;     // [B T, C] of what the first block reads, and after each block
  std::vector<Tensor> gradients;  // dL / dx there
  std::vector<int64_t> tokens, targets;  // kIgnoredTarget where nothing is asked
  std::vector<double> losses;  // read from the points of each layer, as if it were the last
};

Tensor parameter_named(const Model& model, const std::string& name) {
  for (const NamedParameter& each : parameters(model)) {
    if (each.name == name) return each.tensor;
  }
  return Tensor();
}

Paths walk(const Model& model, const Dataset& data, int64_t layers) {
  const Batch batch = data.validation_batch(0, data.validation_size());
  Trace trace;
  ForwardContext context;
  context.trace = &trace;
  const Tensor loss = batch_loss(model, batch, {}, context).loss;
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
  const auto length = [](const Tensor& x) { return sqrt(sum(x * x, -1)); };
  const std::vector<double> along = sum(step * down, -1).to_vector();
  const std::vector<double> lengths = (length(step) * length(down)).to_vector();
  double total = 0, count = 0;
  for (size_t i = 0; i < along.size(); ++i) {
    if (paths.targets[i] == kIgnoredTarget || lengths[i] == 0) continue;
    total += along[i] / lengths[i];
    count += 1;
  }
  return total / count;
}

// The two directions in which rows [N, C] differ most: of XᵀX, by its powers.   -> [C, 2]
Tensor principal_axes(const Tensor& centred) {
  Tensor scatter = matmul(centred, centred, {.transpose_a = true});
  std::vector<Tensor> axes;
  constexpr int kPowers = 300;
  for (uint64_t k = 0; k < 2; ++k) {
    Tensor axis = random_normal(RandomStream(1).derive(k), {scatter.dim(0), 1});
    for (int i = 0; i < kPowers; ++i) {
      axis = matmul(scatter, axis);
      axis = axis / size_of(axis);
    }
    const Tensor found = matmul(axis, axis, {.transpose_b = true});
    scatter = scatter - matmul(found, matmul(scatter, found));
    axes.push_back(axis);
  }
  return concat(axes, 1);
}

// The answer of the first example on its way, and at each point but the last the way down.
LineChart chart_of(const Paths& paths) {
  std::vector<int64_t> asked;
  for (size_t i = 0; std::ssize(asked) < 5 && i < paths.targets.size(); ++i) {
    if (paths.targets[i] != kIgnoredTarget) asked.push_back(static_cast<int64_t>(i));
  }
  const auto places = Tensor(Array::of({std::ssize(asked)}, asked));
  std::vector<Tensor> points, arrows;
  for (size_t l = 0; l < paths.points.size(); ++l) {
    points.push_back(embedding(cast(paths.points[l], DType::f64), places));
    const Tensor down = neg(embedding(cast(paths.gradients[l], DType::f64), places));
    arrows.push_back(points.back() + down * (0.2 * size_of(points.back()) / size_of(down)));
  }
  const Tensor all = concat(points, 0);
  const Tensor axes = principal_axes(all - mean(all, 0, /*keep_axis=*/true));
  LineChart chart = {.title = "Paths of the answer's tokens, and minus the gradient (down)",
                     .x_label = "first principal axis",
                     .y_label = "second"};
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
  const Tensor x = cast(points, DType::f64);  // [N, C]
  const Tensor of_token =
      one_hot(Tensor(Array::of({std::ssize(tokens)}, tokens)), vocabulary, DType::f64);  // [N, V]
  const Tensor counts = transpose(sum(of_token, 0, /*keep_axis=*/true), 0, 1) + 1e-300;
  const Tensor means = matmul(of_token, x, {.transpose_a = true}) / counts;  // [V, C]
  return std::pow(size_of(x - matmul(of_token, means)) / size_of(x - mean(x, 0, true)), 2);
}

std::vector<double> at_layer(const std::vector<Paths>& all, size_t layer) {
  std::vector<double> losses;
  for (const Paths& paths : all) losses.push_back(std::log10(paths.losses[layer]));
  return losses;
}

// The note does not say that layers descend: a table beside what it does say.
Table downhill_table(const std::vector<Paths>& trained, const std::vector<Paths>& fresh) {
  Table table = {.title = "Cosine of what a layer adds and of minus the gradient there",
                 .header = {"layer", "trained", "not trained"},
                 .rows = {}};
  for (size_t l = 0; l + 1 < trained.front().points.size(); ++l) {
    std::vector<double> after, before;
    for (const Paths& paths : trained) after.push_back(downhill(paths, l));
    for (const Paths& paths : fresh) before.push_back(downhill(paths, l));
    table.rows.push_back({absl::StrCat(l + 1), format_samples(after), format_samples(before)});
  }
  return table;
}

Section places_section(const std::vector<Paths>& trained, const std::vector<Paths>& fresh) {
  Section section = {
      .claims =
          {{"B160",
            "非线性变换的本质就是改变空间上的位置坐标，任何一个点都能在维度空间上找到，也就是通过"
            "多次复杂的非线性变换，我们可以让一个不合理的点（位置不合理）变得合理",
            "A nonlinear map changes the places of points; by many of them a point whose "
            "place makes no sense comes to one that does."},
           {"B162", "都是在找寻一种更合适更好的方法得到这个合理的位置，也就是得到的更好的词向量",
            "All of it is the search for a better way to that place: to a better word "
            "vector."}},
      .formula = "x_(l+1) = x_l + f_l(x_l)",
      .prediction =
          "Read as if it were the last, each layer of a trained model has a lower loss "
          "than the one before: it moves points to better places.",
      .findings = {},
      .figures = {chart_of(trained.front())}};
  LineChart losses = {.title = "Loss, read from the points after each layer, first seed",
                      .x_label = "layers",
                      .y_label = "loss",
                      .log_y = true,
                      .series = {{.name = "trained", .y = trained.front().losses},
                                 {.name = "not trained", .y = fresh.front().losses}}};
  for (Series& series : losses.series) {
    for (size_t i = 0; i < series.y.size(); ++i) series.x.push_back(static_cast<double>(i));
  }
  section.figures.push_back(std::move(losses));
  section.figures.push_back(downhill_table(trained, fresh));
  const size_t layers = trained.front().points.size() - 1;
  for (size_t l = 0; l < layers; ++l) {
    section.findings.push_back(
        larger(absl::StrCat("log10 of the loss before layer ", l + 1, ", and after it"),
               at_layer(trained, l), at_layer(trained, l + 1)));
  }
  return section;
}

Section words_section(const std::vector<Paths>& trained, int64_t vocabulary) {
  std::vector<double> embedded, after_last;
  for (const Paths& paths : trained) {
    embedded.push_back(share_within(paths.embedded, paths.tokens, vocabulary));
    after_last.push_back(share_within(paths.points.back(), paths.tokens, vocabulary));
  }
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < vocabulary; ++i) numbers.push_back(i);
  const Tensor one = one_hot(Tensor(Array::of({vocabulary}, numbers)), vocabulary, DType::f64);
  double off = 0;
  for (int64_t i = 1; i < vocabulary; ++i) {
    off = std::max(off,
                   std::abs(size_of(slice(one, 0, 0, 1) - slice(one, 0, i, 1)) - std::sqrt(2.0)));
  }
  const double least = *std::ranges::min_element(after_last);
  return {.claims = {{"B162",
                      "这就是词向量的本质，也就是说，我们从独热编码到word2vec到ELMO，再到现在的各种"
                      "attention",
                      "That is what word vectors are about: from one-hot codes to word2vec, to "
                      "ELMo, to attention."}},
          .formula = "share of the variance within tokens",
          .prediction =
              "One-hot codes are all equally far apart; an embedding gives each token a "
              "place, whatever stands around it; after attention one token has many, by "
              "what it has read.",
          .findings = {same("one-hot: distances of tokens and √2", off),
                       same("embedding: variance within tokens, and 0", mean_of(embedded), 1e-9),
                       found("after the last layer: variance within tokens", "above 0.2",
                             format_samples(after_last), least > 0.2)}};
}

Section maps_section(const LabContext& lab) {
  const RandomStream random(1);
  const int64_t d = 4;
  const Tensor w = random_normal(random.derive("w"), {d, d}),
               v = random_normal(random.derive("v"), {d, d});
  const Tensor b = random_normal(random.derive("b"), {1, d});
  const Tensor a = random_normal(random.derive("a"), {1, d}),
               c = random_normal(random.derive("c"), {1, d});
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
  return {
      .claims = {{"B156", "y=σ(wx+b)", "What machine learning does."},
                 {"B158",
                  "其实就是非线性变换+线性变换（或者说线性变换其实是非线性变换的一种特殊情况），"
                  "其实也就是信息在空间（低维度、高维度都有可能）当中的变换",
                  "A nonlinear and a linear map (the linear one is a special case of the "
                  "other): information is transformed in a space."}},
      .formula = "f((a + c) / 2) = (f(a) + f(c)) / 2",
      .prediction =
          "Linear layers keep what lies in the middle in the middle, however many; "
          "σ bends. So it can pull apart what no line divides: exclusive or.",
      .findings = {
          same("one linear layer: the middle stays there", middle_off(layer)),
          same("two linear layers, and one",
               largest_difference(matmul(layer(a), v), matmul(a, matmul(w, v)) + matmul(b, v))),
          found("with σ: the middle is off by", "above 0.01", format_number(middle_off(bent)),
                middle_off(bent) > 0.01),
          same("relu far from 0, and a line", largest_difference(relu(a + kFar) - kFar, a)),
          same("exclusive or, by two relu", off)}};
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<Paths> trained, fresh;
  int64_t vocabulary = 0;
  for (const uint64_t seed : lab.seeds()) {
    const Config config = lab_config(
        kConfig, {absl::StrCat("seed=", seed), absl::StrCat("train.steps=", lab.integer("steps"))});
    const Trained run = train_or_reuse(lab, config);
    const Model untrained = make_model(config, run.data->shape());
    const int64_t layers = config.model.num_layers;
    fresh.push_back(walk(untrained, *run.data, layers));
    trained.push_back(lab.is_control() ? fresh.back() : walk(run.model, *run.data, layers));
    vocabulary = run.data->vocabulary().size();
  }
  return {maps_section(lab), words_section(trained, vocabulary), places_section(trained, fresh)};
}

}  // namespace

Lab trajectory_lab() {
  return {.name = "trajectory",
          .question = "Do layers move points to better places?",
          .control = "nothing is trained, and no layer bends",
          .duration = "8 s",
          .options = {steps_option("300"), seeds_option("5", "trainings")},
          .run = run};
}

}  // namespace qkv
