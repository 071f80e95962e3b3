// Attention over an image: what a Vision Transformer looks at, and what it leaves out.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {
namespace {

// Attention over the nodes of a graph: what training makes of neighbours that matter.

// A grid of nodes as a graph: an edge to the four neighbours and to the node itself. Some nodes
// have a mark. Each node is asked for the mean of what the marked ones with an edge to it hold.
struct Graph {
  static constexpr int64_t kAcross = 4, kNodes = kAcross * kAcross, kHeld = 4, kWidth = kHeld + 2,
                           kGraphs = 16;

  Tensor no_edge;                           // [n, n]: 1 where there is none
  Tensor query = {}, key = {}, value = {};  // the maps

  explicit Graph(const RandomStream& random) {
    Samples hidden;
    for (int64_t i = 0; i < kNodes; ++i) {
      for (int64_t j = 0; j < kNodes; ++j) {
        const int64_t steps =
            std::abs(i / kAcross - j / kAcross) + std::abs(i % kAcross - j % kAcross);
        hidden.push_back(steps > 1 ? 1 : 0);
      }
    }
    no_edge = constant_f64({kNodes, kNodes}, hidden);
    const auto make = [&](const char* name, int64_t to) {
      return as_parameter(random_normal(random, name, {kWidth, to}) * 0.1);
    };
    query = make("query", kWidth), key = make("key", kWidth), value = make("value", kHeld);
  }

  std::vector<NamedParameter> parameters() const {
    return {{"query", query}, {"key", key}, {"value", value}};
  }

  Tensor weights(const Tensor& x, double scale) const {  // [B, n, C] -> [B, 1, n, n]
    const auto head = [](const Tensor& t) { return reshape(t, {t.dim(0), 1, t.dim(1), t.dim(2)}); };
    return attention_weights(
        head(matmul(x, query)), head(matmul(x, key)),
        {.mask = {.bias = reshape(no_edge * -1e9, {1, kNodes, kNodes})}, .scale = scale});
  }
};

// The nodes of some graphs.
struct Nodes {
  Tensor x;       // [B, n, C]: 1, the mark, the content
  Tensor seen;    // [B, n, n]: 1 where i has an edge to j, and j a mark
  Tensor wanted;  // [B, n, kHeld]

  Nodes(const Graph& graph, const RandomStream& random) {
    constexpr int64_t kB = Graph::kGraphs, kN = Graph::kNodes;
    const Tensor mark =
        cast(random_tokens(random.derive("mark"), {kB, kN, 1}, /*vocabulary=*/2), DType::f64);
    const Tensor held = random_normal(random, "held", {kB, kN, Graph::kHeld});
    x = concat({mark * 0.0 + 1.0, mark, held}, -1);
    seen = (1.0 - graph.no_edge) * reshape(mark, {kB, 1, kN});
    wanted = matmul(seen / maximum(sum(seen, -1, /*keep_axis=*/true), mark * 0.0 + 1.0), held);
  }
};

struct GraphMeasured {
  Samples before, after;  // the weight of marked nodes, beside their even share
  Tensor weights;         // of the first graph, first seed   [n, n]
  double without_edge = 0;
};

void measure_graph(const LabContext& lab, uint64_t seed, GraphMeasured& m) {
  const double scale = lab.is_control() ? 0 : 1;
  const RandomStream random(seed);
  const Graph graph(random);
  const Nodes shown(graph, random.derive("shown"));
  const Tensor edges = 1.0 - graph.no_edge;
  const Tensor even = edges / sum(edges, -1, /*keep_axis=*/true);
  const auto share = [&] {
    const Tensor given = reshape(graph.weights(shown.x, scale), shown.seen.shape().dims());
    return sum(given * shown.seen).item() / sum(even * shown.seen).item();
  };
  m.before.push_back(share());
  train_with_adam(graph.parameters(), /*steps=*/100, [&](uint64_t step) {
    const Nodes nodes(graph, random.derive(step));
    const Tensor weights = reshape(graph.weights(nodes.x, scale), nodes.seen.shape().dims());
    const Tensor off = matmul(weights, matmul(nodes.x, graph.value)) - nodes.wanted;
    return mean(off * off);
  });
  m.after.push_back(share());
  const Tensor weights = graph.weights(shown.x, scale);
  m.without_edge = std::max(m.without_edge, largest_of(weights * graph.no_edge));
  if (m.weights.defined()) return;
  m.weights = reshape(slice(weights.detached(), 0, 0, 1), {Graph::kNodes, Graph::kNodes});
}

Section graph_section(const LabContext& lab) {
  GraphMeasured m;
  for (const uint64_t seed : lab.seeds()) measure_graph(lab, seed, m);
  HeatMap map = heat_map_of(say("Weights on a grid of 4 × 4 nodes after training"), m.weights);
  map.row_axis = say("the node that asks");
  map.column_axis = say("the node that is asked");
  return make_section(
      "patches.graph",
      {larger(say("weight of marked nodes, after and before training"), m.after, m.before),
       equal(say("largest weight where there is no edge"), 0, m.without_edge)},
      {map});
}

constexpr int64_t kSize = 16, kPatch = 4, kAcross = kSize / kPatch, kPatches = kAcross * kAcross;

// Images, and what a model makes of them.
struct Look {
  Samples ink;       // of each patch, the share of its pixels that are bright   [B, P]
  Samples weights;   // of the class token, for each patch; their sum is 1   [B, P]
  Samples gradient;  // |dL/dx| of each pixel   [B, size, size]
  double loss = 0;
};

// Calls `what` with the number of each pixel of the images, and of the patch that it is in.
template <class What>
void for_each_pixel(int64_t images, const What& what) {
  for (int64_t b = 0; b < images; ++b) {
    for (int64_t y = 0; y < kSize; ++y) {
      for (int64_t x = 0; x < kSize; ++x) {
        what(static_cast<size_t>((b * kSize + y) * kSize + x),
             static_cast<size_t>(b * kPatches + y / kPatch * kAcross + x / kPatch));
      }
    }
  }
}

Look look_at(const Model& model, const Batch& batch) {
  const int64_t images = batch.rows();
  const Tensor pixels = parameter(batch.inputs[0]);  // [B, 1, size, size]
  const auto [logits, trace] = trace_module(model, std::vector{pixels});
  const Tensor loss = cross_entropy(logits, Tensor(batch.targets));
  Look look = {.ink = std::vector<double>(static_cast<size_t>(images * kPatches)),
               .weights = std::vector<double>(static_cast<size_t>(images * kPatches)),
               .gradient = backward(loss)[pixels].to_vector(),
               .loss = loss.item()};
  for (double& x : look.gradient) x = std::abs(x);
  constexpr double kBright = 0.5;  // figures are 0.6 and more, backgrounds 0.4 and less
  const Samples values = pixels.to_vector();
  for_each_pixel(images, [&](size_t pixel, size_t patch) {
    look.ink[patch] += values[pixel] > kBright ? 1.0 / (kPatch * kPatch) : 0;
  });
  for (const Tensor& weights : attention_weights_in(trace)) {
    // [B, H, 1 + P, 1 + P] -> of the class token, the mean over the heads [B, P]
    const Tensor row = mean(slice(slice(weights, 2, 0, 1), 3, 1, kPatches), 1);
    const Samples numbers = row.to_vector();
    for (size_t i = 0; i < numbers.size(); ++i) look.weights[i] += numbers[i];
  }
  for (int64_t b = 0; b < images; ++b) {
    const auto begin = look.weights.begin() + b * kPatches;
    const double total = std::accumulate(begin, begin + kPatches, 0.0);
    std::for_each(begin, begin + kPatches, [&](double& weight) { weight /= total; });
  }
  return look;
}

bool has_figure(double ink) { return ink > 0; }

// The weight of the patches with some of the figure, beside their share of all patches.
double weight_of_figure(const Look& look) {
  double weight = 0, share = 0;
  for (size_t i = 0; i < look.ink.size(); ++i) {
    if (!has_figure(look.ink[i])) continue;
    weight += look.weights[i];
    share += 1.0 / kPatches;
  }
  return weight / share;
}

// |dL/dx| at pixels of such patches, beside the mean over all pixels.
double gradient_of_figure(const Look& look, int64_t images) {
  double in_figure = 0, all = 0, count = 0;
  for_each_pixel(images, [&](size_t pixel, size_t patch) {
    all += look.gradient[pixel];
    if (!has_figure(look.ink[patch])) return;
    in_figure += look.gradient[pixel];
    ++count;
  });
  return in_figure / count / (all / static_cast<double>(look.gradient.size()));
}

// The loss where of each image some patches are empty: those of the largest weight, or the least.
double loss_without(const Model& model, Batch batch, const Look& look, bool largest) {
  constexpr int64_t kErased = 4;
  std::vector<bool> erased(look.weights.size());
  for (int64_t b = 0; b < batch.rows(); ++b) {
    std::vector<size_t> order(kPatches);
    std::iota(order.begin(), order.end(), static_cast<size_t>(b * kPatches));
    std::ranges::stable_sort(order, [&](size_t i, size_t j) {
      return largest ? look.weights[i] > look.weights[j] : look.weights[i] < look.weights[j];
    });
    for (int64_t i = 0; i < kErased; ++i) erased[order[static_cast<size_t>(i)]] = true;
  }
  Samples pixels = batch.inputs[0].to_vector();
  for_each_pixel(batch.rows(), [&](size_t pixel, size_t patch) {
    if (erased[patch]) pixels[pixel] = 0;
  });
  batch.inputs[0] = Array::of(batch.inputs[0].shape(), DType::f32, pixels);
  return look_at(model, batch).loss;
}

// Image `b` and what the class token looks at in it.
Picture picture_of(const Text& title, const Batch& batch, const Look& look, int64_t b) {
  const auto part = [b](const Samples& all, int64_t size) {
    return Samples(all.begin() + b * size, all.begin() + (b + 1) * size);
  };
  return {.title = title,
          .rows = kSize,
          .columns = kSize,
          .patch = kPatch,
          .pixels = part(batch.inputs[0].to_vector(), kSize * kSize),
          .weights = part(look.weights, kPatches)};
}

// |dL/dx| of the first image, beside the mean of all.
HeatMap gradient_map(const Look& look) {
  Samples numbers(look.gradient.begin(), look.gradient.begin() + kSize * kSize);
  for (double& x : numbers) x /= mean_of(look.gradient);
  return {.title = say("|dL/dx| beside the mean, the first image"),
          .rows = kSize,
          .columns = kSize,
          .numbers = std::move(numbers),
          .row_axis = say("rows of pixels"),
          .column_axis = say("columns of pixels")};
}

struct Measured {
  Samples right, weight_before, weight, gradient, without_most, without_least;
  std::vector<Figure> pictures, gradients;
};

Measured measure(const LabContext& lab) {
  constexpr int64_t kImages = 100;
  Measured m;
  // A circle, a square, a triangle or a cross: which?
  std::vector<std::string> settings;
  if (lab.is_control()) settings.emplace_back("attention.scale=1e-9");
  const std::vector<Trained> models = train_over_seeds(lab, settings);
  m.right = right_sequences_of(models);
  for (const Trained& trained : models) {
    const Batch batch = trained.data->validation_batch(0, kImages);
    const Look before = look_at(untrained(trained), batch);
    const Look after = look_at(trained.model, batch);
    m.weight_before.push_back(weight_of_figure(before));
    m.weight.push_back(weight_of_figure(after));
    m.gradient.push_back(gradient_of_figure(after, kImages));
    m.without_most.push_back(loss_without(trained.model, batch, after, true));
    m.without_least.push_back(loss_without(trained.model, batch, after, false));
    if (!m.pictures.empty()) continue;
    m.pictures = {picture_of(say("Where the class token looks after training"), batch, after, 0),
                  picture_of(say("The same image before training"), batch, before, 0),
                  picture_of(say("Another image after training"), batch, after, 1)};
    m.gradients = {gradient_map(after)};
  }
  return m;
}

Section importance_section(const Measured& m) {
  std::vector<Figure> figures = m.pictures;
  figures.insert(figures.end(), m.gradients.begin(), m.gradients.end());
  // Guessing among four kinds is right in a quarter: the premise is twice that.
  return make_section("patches.importance",
                      {premise(at_least(say("images that are right, of four kinds"), 0.5, m.right)),
                       larger(say("weight of the patches with the figure, after and before"),
                              m.weight, m.weight_before),
                       larger(say("loss without the 4 patches of most weight, and of least"),
                              m.without_most, m.without_least),
                       above(say("|dL/dx| at the figure, beside the mean"), 1, m.gradient)},
                      figures);
}

std::vector<Section> run(const LabContext& lab) {
  return {importance_section(measure(lab)), graph_section(lab)};
}

}  // namespace

Lab patches_lab() { return make_lab("patches", run); }

}  // namespace qkv
