// What softmax(X Xᵀ) X is: the barest form of attention.
#include "lessons/labs/kit.h"
#include "lessons/labs/matrices.h"

namespace qkv {
namespace {

// n vectors of d numbers, and the scores of each pair.
struct Words {
  Tensor x;        // [n, d]
  Tensor gram;     // X Xᵀ, or what the control puts there
  Tensor product;  // Q Kᵀ of maps that nothing ties
};

Words make_words(const LabContext& lab) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const RandomStream random(lab.integer("seed"));
  const Tensor x = as_parameter(random_normal(random, "x", {n, d}));
  const auto map = [&](const char* name) { return matmul(x, random_normal(random, name, {d, d})); };
  const Tensor product = products_of_rows(map("W_q"), map("W_k"));
  return {.x = x, .gram = lab.is_control() ? product : products_of_rows(x, x), .product = product};
}

std::vector<double> eigenvalues_of_symmetric_part(const Tensor& a) {
  return eigenvalues_of((a + transposed(a)) * 0.5);
}

double asymmetry_of(const Tensor& a) { return largest_difference(a, transposed(a)); }

// Every row with every row, product by product.
Tensor inner_products(const Tensor& x) {
  std::vector<Tensor> products;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    for (int64_t j = 0; j < x.dim(0); ++j) {
      products.push_back(sum(row_of(x, i) * row_of(x, j)));
    }
  }
  return reshape(stack(products, 0), {x.dim(0), x.dim(0)});
}

Section pairs_section(const Words& words) {
  return make_section("bare.pairs",
                      {equal("columns, as many as rows", words.x.dim(0), words.gram.dim(1)),
                       same("X Xᵀ and the products of rows",
                            largest_difference(words.gram, inner_products(words.x)))},
                      {heat_map_of("X", words.x), heat_map_of("X Xᵀ", words.gram)});
}

Section gram_section(const Words& words) {
  const auto gram_eigenvalues = eigenvalues_of_symmetric_part(words.gram);
  const auto product_eigenvalues = eigenvalues_of_symmetric_part(words.product);
  return make_section(
      "bare.gram",
      {same("X Xᵀ and its transpose", asymmetry_of(words.gram)),
       found("smallest eigenvalue of X Xᵀ", "not below 0", gram_eigenvalues.back(),
             gram_eigenvalues.back() >= -1e-12),
       differ("Q Kᵀ and its transpose", asymmetry_of(words.product), 1),
       below("smallest eigenvalue of (Q Kᵀ + K Qᵀ) / 2", 0, product_eigenvalues.back())},
      {heat_map_of("Q Kᵀ", words.product),
       line_chart("Eigenvalues, of the symmetric part", "number", "eigenvalue",
                  {numbered_series("X Xᵀ", gram_eigenvalues),
                   numbered_series("Q Kᵀ", product_eigenvalues)})});
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
  const Tensor weights = softmax(words.gram);
  const Tensor result = matmul(weights, words.x);
  const Tensor x = one_head(words.x);
  return make_section("bare.form",
                      {same("softmax(X Xᵀ) X and attention(X, X, X)",
                            largest_difference(one_head(result), attention(x, x, x))),
                       same("its rows and weighted sums of the rows of X",
                            largest_difference(result, weighted_sums(weights, words.x)))},
                      {heat_map_of("P = softmax(X Xᵀ)", weights)});
}

Section gradient_section(const LabContext& lab, const Words& words) {
  const Tensor weights = softmax(words.gram), result = matmul(weights, words.x);
  const Tensor pushed = random_normal(RandomStream(lab.integer("seed")), "dO", result.shape());
  const Gradients gradients =
      backward(result, {.cotangent = pushed, .keep_graph = true, .keep = {words.gram}});
  const Tensor& scores = gradients[words.gram];                            // dS
  const Tensor as_query = matmul(scores, words.x);                         // dS X
  const Tensor as_key = matmul(scores, words.x, {.transpose_a = true});    // dSᵀ X
  const Tensor as_value = matmul(weights, pushed, {.transpose_a = true});  // Pᵀ dO
  return make_section(
      "bare.gradient",
      {same("the gradient and the sum of its three parts",
            largest_difference(gradients[words.x], as_query + as_key + as_value)),
       differ("dS and its transpose", asymmetry_of(scores))},
      {heat_map_of("dS X: as a query", as_query), heat_map_of("dSᵀ X: as a key", as_key),
       heat_map_of("Pᵀ dO: as a value", as_value)});
}

std::vector<Section> run(const LabContext& lab) {
  const Words words = make_words(lab);
  return {pairs_section(words), gram_section(words), form_section(words),
          gradient_section(lab, words)};
}

}  // namespace

Lab bare_lab() { return make_lab("bare", run); }

}  // namespace qkv
