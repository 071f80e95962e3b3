// Attention over the nodes of a graph: what training makes of neighbours that matter.
#include "apps/labs/kit.h"
#include "apps/labs/sections.h"
#include "framework/ops/scaled_dot_product_attention.h"

namespace qkv {
namespace {

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

// What some graphs hold.
struct Nodes {
  Tensor x;       // [B, n, C]: 1, the mark, what is held
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

}  // namespace

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

}  // namespace qkv
