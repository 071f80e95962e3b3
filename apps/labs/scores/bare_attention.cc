// softmax(X Xᵀ) X: the barest form of attention.
#include "apps/labs/kit/lab_kit.h"

namespace qkv {
namespace {

// n vectors of d numbers, and three maps of them that nothing ties.
struct Words {
  Tensor x;              // [n, d]
  Tensor w_q, w_k, w_v;  // [d, d]
  bool is_control = false;

  // X Xᵀ, or what the control puts there.
  Tensor gram() const { return is_control ? product() : products_of_rows(x, x); }
  Tensor product() const { return products_of_rows(matmul(x, w_q), matmul(x, w_k)); }  // Q Kᵀ
};

Words words_of(const LabContext& lab, const Tensor& x) {
  const int64_t d = x.dim(1);
  const RandomStream random(lab.integer("seed"));
  const auto map = [&](const char* name) {
    return random_normal(random, name, {d, d}) / std::sqrt(static_cast<double>(d));
  };
  return {.x = as_parameter(x),
          .w_q = map("W_q"),
          .w_k = map("W_k"),
          .w_v = map("W_v"),
          .is_control = lab.is_control()};
}

HeatMap pairs_map(const Text& title, const Tensor& pairs) {
  return heat_map_of(title, pairs, say("words"), say("words"));
}

// Three vectors in a plane, small enough for mental arithmetic.
Section example_section(const LabContext& lab) {
  const std::vector<double> numbers = {2, 1, 1, 2, -1, 1};
  const Words words = words_of(lab, constant_f64({3, 2}, numbers));
  const Tensor by_hand = constant_f64({3, 3}, {5, 4, -1, 4, 5, 1, -1, 1, 2});
  Paths paths = {.title = say("Three vectors"), .x_label = "1", .y_label = "2", .paths = {}};
  for (size_t i = 0; i < 3; ++i) {
    paths.paths.push_back({.name = absl::StrCat("x_", i + 1),
                           .x = {0, numbers[2 * i]},
                           .y = {0, numbers[2 * i + 1]}});
  }
  HeatMap map = pairs_map("X Xᵀ", words.gram());
  map.row_names = map.column_names = {"x_1", "x_2", "x_3"};
  return make_section("bare.example",
                      {same(say("X Xᵀ and the products by hand: 5 4 -1, 4 5 1, -1 1 2"),
                            largest_difference(words.gram(), by_hand))},
                      {paths, map});
}

// Every row of a with every row of b, product by product.
Tensor inner_products(const Tensor& a, const Tensor& b) {
  std::vector<Tensor> products;
  for (int64_t i = 0; i < a.dim(0); ++i) {
    for (int64_t j = 0; j < b.dim(0); ++j) {
      products.push_back(sum(row_of(a, i) * row_of(b, j)));
    }
  }
  return reshape(stack(products, 0), {a.dim(0), b.dim(0)});
}

Section pairs_section(const Words& words) {
  return make_section("bare.pairs",
                      {equal(say("columns, as many as rows"), words.x.dim(0), words.gram().dim(1)),
                       same(say("X Xᵀ and the products of rows"),
                            largest_difference(words.gram(), inner_products(words.x, words.x)))},
                      {heat_map_of("X", words.x, say("words"), say("numbers of a word")),
                       pairs_map("X Xᵀ", words.gram())});
}

double asymmetry_of(const Tensor& a) { return largest_difference(a, transposed(a)); }

Section gram_section(const Words& words) {
  const Tensor gram = words.gram(), product = words.product();
  const Tensor map = products_of_rows(words.w_q, words.w_k);  // W_q W_kᵀ
  const double smallest = eigenvalues_of((gram + transposed(gram)) * 0.5).back();
  const bool is_rounding = std::abs(smallest) < 1e-12 * largest_of(gram);
  return make_section(
      "bare.gram",
      {same(say("X Xᵀ and its transpose"), asymmetry_of(gram)),
       at_least(say("smallest eigenvalue of X Xᵀ, rounding aside"), 0, is_rounding ? 0 : smallest),
       same(say("Q Kᵀ and X (W_q W_kᵀ) Xᵀ"),
            largest_difference(product, products_of_rows(matmul(words.x, map), words.x))),
       differ(say("Q Kᵀ and its transpose"), asymmetry_of(product))},
      {HeatMaps{.title = say("Before and after the maps"),
                .maps = {pairs_map("X Xᵀ", gram), pairs_map("Q Kᵀ", product)}}});
}

Tensor weighted_sums(const Tensor& weights, const Tensor& x) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    Tensor row = zeros({1, x.dim(1)}, DType::f64);
    for (int64_t j = 0; j < x.dim(0); ++j) {
      row = row + slice(row_of(weights, i), 1, j, 1) * row_of(x, j);
    }
    rows.push_back(row);
  }
  return concat(rows, 0);
}

Section form_section(const Words& words) {
  const Tensor weights = softmax(words.gram()), result = matmul(weights, words.x);
  const Tensor x = one_head(words.x);
  return make_section("bare.form",
                      {same(say("softmax(X Xᵀ) X and attention(X, X, X)"),
                            largest_difference(one_head(result), attention(x, x, x))),
                       same(say("its rows and weighted sums of the rows of X"),
                            largest_difference(result, weighted_sums(weights, words.x)))},
                      {heat_map_of("P = softmax(X Xᵀ)", weights, say("queries"), say("keys"))});
}

// The whole formula: with maps, divided, and the exponentials written out.
Section formula_section(const LabContext& lab, const Words& words) {
  const double root = std::sqrt(static_cast<double>(words.x.dim(1)));
  const Tensor q = matmul(words.x, words.w_q), k = matmul(words.x, words.w_k),
               v = matmul(words.x, words.w_v);
  const Tensor powers = exp(inner_products(q, k) / (lab.breaks("divisor") ? 1 : root));
  const Tensor weights = powers / sum(powers, -1, /*keep_axis=*/true);
  const Tensor computed =
      attention(one_head(q), one_head(k), one_head(v), AttentionOptions{.scale = 1 / root});
  return make_section(
      "bare.formula",
      {same(say("the formula, written out, and attention(Q, K, V)"),
            largest_difference(one_head(weighted_sums(weights, v)), computed))},
      {heat_map_of("P = softmax(Q Kᵀ / √d_k)", weights, say("queries"), say("keys"))});
}

Section gradient_section(const LabContext& lab, const Words& words) {
  const Tensor gram = words.gram();
  const Tensor weights = softmax(gram), result = matmul(weights, words.x);
  const Tensor pushed = random_normal(RandomStream(lab.integer("seed")), "dO", result.shape());
  const Gradients gradients =
      backward(result, {.cotangent = pushed, .keep_graph = true, .keep = {gram}});
  const Tensor& scores = gradients[gram];                                  // dS
  const Tensor as_query = matmul(scores, words.x);                         // dS X
  const Tensor as_key = matmul(scores, words.x, {.transpose_a = true});    // dSᵀ X
  const Tensor as_value = matmul(weights, pushed, {.transpose_a = true});  // Pᵀ dO
  const auto part = [](const Text& title, const Tensor& gradient) {
    return heat_map_of(title, gradient, say("words"), say("numbers of a word"));
  };
  return make_section("bare.gradient",
                      {same(say("the gradient and the sum of its three parts"),
                            largest_difference(gradients[words.x], as_query + as_key + as_value)),
                       differ(say("dS and its transpose, over the largest of dS"),
                              asymmetry_of(scores) / largest_of(scores))},
                      {HeatMaps{.title = say("The parts of the gradient"),
                                .maps = {part(say("dS X: as a query"), as_query),
                                         part(say("dSᵀ X: as a key"), as_key),
                                         part(say("Pᵀ dO: as a value"), as_value)}}});
}

std::vector<Section> run(const LabContext& lab) {
  const RandomStream random(lab.integer("seed"));
  const Words words =
      words_of(lab, random_normal(random, "x", {lab.integer("n"), lab.integer("d")}));
  return {example_section(lab), pairs_section(words),        gram_section(words),
          form_section(words),  formula_section(lab, words), gradient_section(lab, words)};
}

}  // namespace

Lab bare_lab() { return make_lab("bare", run); }

}  // namespace qkv
