// "Thinking Machines": attention in its four steps, word by word and as matrices.
#include "absl/strings/str_join.h"
#include "apps/labs/kit/lab_kit.h"
#include "framework/graph/graph_walk.h"
#include "framework/graph/node.h"

namespace qkv {
namespace {

const std::vector<Text>& words() {
  static const std::vector<Text> kWords = {"thinking", "machines"};
  return kWords;
}

struct Sentence {
  Tensor x;              // [2, C]
  Tensor w_q, w_k, w_v;  // [C, D], [C, D], [C, C]

  Tensor query() const { return matmul(x, w_q); }
  Tensor key() const { return matmul(x, w_k); }
  Tensor value() const { return matmul(x, w_v); }
};

Sentence make_sentence(const LabContext& lab, uint64_t seed) {
  const int64_t c = lab.integer("c"), d = lab.integer("d");
  const RandomStream random(seed);
  const double deviation = 1 / std::sqrt(static_cast<double>(c));
  const auto map = [&](const char* name, int64_t width) {
    return random_normal(random, name, {c, width}) * deviation;
  };
  return {.x = as_parameter(random_normal(random, "x", {std::ssize(words()), c})),
          .w_q = map("W_q", d),
          .w_k = map("W_k", d),
          .w_v = map("W_v", c)};
}

// Rows as one head of one sequence: [n, D] -> [1, 1, n, D]
Tensor head(const Tensor& x) { return reshape(x, {1, 1, x.dim(0), x.dim(1)}); }

// Z = softmax(Q Kᵀ / √d) V, and the weights.
struct Result {
  Tensor scores, weights;  // [queries, 2]
  Tensor z;                // [queries, C]
};

Result attend(const LabContext& lab, const Tensor& query, const Tensor& key, const Tensor& value) {
  const double factor = lab.is_control() ? 1 : 1 / std::sqrt(static_cast<double>(lab.integer("d")));
  const Traced attended = attend_in_steps(head(query), head(key), head(value), {.scale = factor});
  const int64_t queries = query.dim(0);
  return {.scores = reshape(attended.trace["scores"], {queries, key.dim(0)}),
          .weights = reshape(attended.trace["weights"], {queries, key.dim(0)}),
          .z = reshape(attended.result, {queries, value.dim(1)})};
}

Result attend(const LabContext& lab, const Sentence& s) {
  return attend(lab, s.query(), s.key(), s.value());
}

// The same of one word, with nothing but numbers: its scores, and then its z.
Samples scores_of(const Sentence& s, int64_t word) {
  const Samples q = row_of(s.query(), word).to_vector();
  Samples scores;
  for (int64_t j = 0; j < s.key().dim(0); ++j) {
    const Samples k = row_of(s.key(), j).to_vector();
    double product = 0;
    for (size_t i = 0; i < q.size(); ++i) product += q[i] * k[i];
    scores.push_back(product / std::sqrt(static_cast<double>(q.size())));
  }
  return scores;
}

Samples z_of(const Sentence& s, int64_t word) {
  const Samples scores = scores_of(s, word);
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  Samples z(static_cast<size_t>(s.x.dim(1)), 0.0);
  for (size_t j = 0; j < scores.size(); ++j) {
    const Samples v = row_of(s.value(), static_cast<int64_t>(j)).to_vector();
    for (size_t i = 0; i < z.size(); ++i) z[i] += std::exp(scores[j]) / total * v[i];
  }
  return z;
}

// The ops from leaves to y, in the order in which they ran, but for those that only change shapes.
std::vector<std::string> ops_behind(const Tensor& y) {
  auto nodes = nodes_behind(y.node());
  std::ranges::sort(nodes, {}, [](const auto& node) { return node->id(); });
  std::vector<std::string> names;
  for (const auto& node : nodes) {
    if (node->is_leaf() || node->op().name() == "reshape") continue;
    names.emplace_back(node->op().name());
  }
  return names;
}

// The ops from queries, keys and values to results.
std::string steps_of(const LabContext& lab, const Tensor& query, const Sentence& s) {
  const Result result =
      attend(lab, as_parameter(query), as_parameter(s.key()), as_parameter(s.value()));
  return absl::StrJoin(ops_behind(result.z), " ");
}

HeatMap map_of(const Text& title, const Tensor& matrix, const Text& axis = say("word"),
               const std::vector<Text>& names = words()) {
  HeatMap map = heat_map_of(title, matrix);
  map.row_axis = axis;
  map.row_names = names;
  map.column_axis = say("numbers of a vector");
  return map;
}

Section steps_section(const LabContext& lab, const Sentence& s) {
  constexpr const char* kSteps = "matmul scale softmax matmul";
  const Result result = attend(lab, s);
  const std::string own = steps_of(lab, s.query(), s),
                    cross = steps_of(lab, row_of(make_sentence(lab, 2).query(), 0), s);
  double alone = 0;
  for (int64_t i = 0; i < s.x.dim(0); ++i) {
    const Tensor z = constant_f64({1, s.x.dim(1)}, z_of(s, i));
    alone = std::max(alone, largest_difference(row_of(result.z, i), z));
  }
  return make_section(
      "thinking.steps",
      {found(say("ops from Q, K, V to Z"), kSteps, own, own == kSteps),
       found(say("the same, where another sentence asks"), own, cross, own == cross),
       equal(say("matrix products from X to Z"), 5,
             std::ranges::count(ops_behind(result.z), "matmul")),
       same(say("z of each word, alone and of the matrices"), alone)},
      {HeatMaps{.title = say("From X to Z"),
                .maps = {map_of("X", s.x), map_of("Q", s.query()), map_of("K", s.key()),
                         map_of("V", s.value()), map_of("Z", result.z)}}});
}

Section asks_section(const LabContext& lab, const Sentence& s) {
  const Result result = attend(lab, s);
  Sentence other = s;
  other.x = concat({row_of(s.x, 0), row_of(make_sentence(lab, 2).x, 1)}, 0);
  const auto change_of_first = [](const Tensor& a, const Tensor& b) {
    return largest_difference(row_of(a, 0), row_of(b, 0));
  };
  double alone = 0;
  for (int64_t i = 0; i < s.x.dim(0); ++i) {
    const Tensor row = attend(lab, row_of(s.query(), i), s.key(), s.value()).weights;
    alone = std::max(alone, largest_difference(row, row_of(result.weights, i)));
  }
  const Samples scores = result.scores.to_vector();
  return make_section(
      "thinking.asks",
      {same(say("scores of thinking, q_1 · k_j / √d"),
            largest_difference(row_of(result.scores, 0),
                               constant_f64({1, s.x.dim(0)}, scores_of(s, 0)))),
       same(say("weights of each query, alone and of the matrix"), alone),
       equal(say("change of x_1 with another word beside it"), 0, change_of_first(s.x, other.x)),
       differ(say("change of z_1 with another word beside it"),
              change_of_first(result.z, attend(lab, other).z), 0),
       named("asks", differ(say("s_12 and s_21"), std::abs(scores[1] - scores[2]), 0))},
      {Arcs{.title = say("Whom each word asks"),
            .queries = words(),
            .keys = words(),
            .weights = result.weights.to_vector()}});
}

// Words as columns, as in C, and as rows: the same numbers, transposed.
Section shapes_section(const LabContext& lab, const Sentence& s) {
  const int64_t d = lab.integer("d"), c = lab.integer("c");
  const Tensor in_order = lab.breaks("columns") ? concat({row_of(s.x, 1), row_of(s.x, 0)}, 0) : s.x;
  const Tensor columns = transposed(in_order);  // A, [D_a, N]
  const Tensor query = matmul(transposed(s.w_q), columns), key = matmul(transposed(s.w_k), columns);
  const Tensor value = matmul(transposed(s.w_v), columns);
  const Tensor scores = products_of_rows(s.query(), s.key());  // [N, N], row i of query i
  return make_section(
      "thinking.shapes",
      {equal(say("numbers of a query"), d, query.dim(0)),
       equal(say("numbers of a key"), d, key.dim(0)),
       equal(say("numbers of a value"), c, value.dim(0)),
       same(say("W^q A and (X W_q)ᵀ"), largest_difference(query, transposed(s.query()))),
       named("scores", same(say("Kᵀ Q of columns and (Q Kᵀ)ᵀ of rows"),
                            largest_difference(matmul(key, query, {.transpose_a = true}),
                                               transposed(scores))))},
      {HeatMaps{.title = say("Queries, of rows and of columns"),
                .maps = {map_of("X W_q", s.query()), map_of("(W^q A)ᵀ", transposed(query))}}});
}

double cosine(const Tensor& a, const Tensor& b) {
  return sum(a * b).item() / (size_of(a) * size_of(b));
}

Section meaning_section(const LabContext& lab) {
  const double residual = lab.breaks("residual") ? 0 : 1;
  Samples to_itself, to_other, with_itself, with_other;
  double off_sum = 0;
  for (const uint64_t seed : lab.seeds()) {
    const Sentence s = make_sentence(lab, seed);
    const Result result = attend(lab, s);
    const Tensor z = row_of(result.z, 0), itself = row_of(s.x, 0), other = row_of(s.x, 1);
    const Tensor added = z + itself * residual;
    to_itself.push_back(cosine(z, itself));
    to_other.push_back(cosine(z, other));
    with_itself.push_back(cosine(added, itself));
    with_other.push_back(cosine(added, other));
    const Samples a = row_of(result.weights, 0).to_vector();
    const Tensor mixture = row_of(s.value(), 0) * a[0] + row_of(s.value(), 1) * a[1];
    off_sum = std::max(off_sum, largest_difference(z, mixture));
  }
  const Sentence s = make_sentence(lab, 1);
  const Tensor first = row_of(s.x, 0), z = row_of(attend(lab, s).z, 0);
  return make_section(
      "thinking.meaning",
      {larger(say("cosine of x_1 + z_1 with x_1, and with x_2"), with_itself, with_other),
       same(say("z_1 and a_11 v_1 + a_12 v_2"), off_sum),
       beyond(named("alone", larger(say("cosine of z_1 alone with x_1, and with x_2"), to_itself,
                                    to_other)))},
      {map_of(say("The first sentence"), concat({s.x, z, first + z}, 0), {},
              {"x_1", "x_2", "z_1", "x_1 + z_1"})});
}

Section words_section(const LabContext& lab) {
  const int64_t c = lab.integer("c");
  // One word twice; in the control its second place has a row of its own.
  const Tensor sentence = tokens_of({3, 1, lab.breaks("table") ? 2 : 3});
  const Tensor table = as_parameter(random_normal(RandomStream(1), "table", {5, c}));
  const Tensor x = embedding(table, sentence);
  const Tensor pushed = random_normal(RandomStream(1), "dX", x.shape());
  const Tensor back = backward(x, {.cotangent = pushed})[table];
  const MultiHeadAttention layer = attention_layer(RandomStream(1), c, 1);
  const Tensor y = run_module(layer, reshape(x, {1, 3, c}), AttentionMask{});
  return make_section(
      "thinking.words",
      {same(say("rows of the table, and one-hot vectors times it"),
            largest_difference(x, matmul(one_hot(sentence, 5, DType::f64), table)), 0),
       same(say("gradient of the word that comes twice, and the sum of two rows"),
            largest_difference(row_of(back, 3), row_of(pushed, 0) + row_of(pushed, 2))),
       equal(say("gradient of a word that does not come"), 0, largest_of(row_of(back, 0))),
       equal(say("vectors that attention makes of three words"), 3, y.dim(1))},
      {HeatMaps{.title = say("Three words, and the gradient of the table"),
                .maps = {map_of("X", x, say("word"), {}),
                         map_of("dE", back, say("rows of the table"), {})}}});
}

std::vector<Section> run(const LabContext& lab) {
  const Sentence sentence = make_sentence(lab, 1);
  return {words_section(lab), shapes_section(lab, sentence), asks_section(lab, sentence),
          steps_section(lab, sentence), meaning_section(lab)};
}

}  // namespace

Lab thinking_lab() { return make_lab("thinking", run); }

}  // namespace qkv
