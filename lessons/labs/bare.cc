// What softmax(X Xᵀ) X is: the barest form of attention.
#include <algorithm>
#include <cmath>
#include <functional>

#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

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
  Words words = {.x = as_parameter(random_normal(random.derive("x"), {n, d})),
                 .gram = Tensor(),
                 .product = Tensor()};
  const Tensor queries = matmul(words.x, random_normal(random.derive("W_q"), {d, d}));
  const Tensor keys = matmul(words.x, random_normal(random.derive("W_k"), {d, d}));
  words.product = matmul(queries, keys, {.transpose_b = true});
  words.gram = lab.is_control() ? words.product : matmul(words.x, words.x, {.transpose_b = true});
  return words;
}

// Of a symmetric matrix, by the rotations of Jacobi, 1846: each makes a pair of numbers beside the
// diagonal zero.
std::vector<double> eigenvalues_of(const Tensor& matrix) {
  const auto n = static_cast<size_t>(matrix.dim(0));
  std::vector<double> a = matrix.to_vector();
  const auto rotate = [&](size_t p, size_t q) {
    const double angle = 0.5 * std::atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]);
    const double c = std::cos(angle), s = std::sin(angle);
    for (size_t k = 0; k < n; ++k) {
      const double left = a[k * n + p], right = a[k * n + q];
      a[k * n + p] = c * left - s * right;
      a[k * n + q] = s * left + c * right;
    }
    for (size_t k = 0; k < n; ++k) {
      const double upper = a[p * n + k], lower = a[q * n + k];
      a[p * n + k] = c * upper - s * lower;
      a[q * n + k] = s * upper + c * lower;
    }
  };
  constexpr int kSweeps = 20;  // each squares what is left beside the diagonal
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t p = 0; p + 1 < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) rotate(p, q);
    }
  }
  std::vector<double> eigenvalues;
  for (size_t i = 0; i < n; ++i) eigenvalues.push_back(a[i * n + i]);
  std::ranges::sort(eigenvalues, std::greater());
  return eigenvalues;
}

Tensor symmetric_part(const Tensor& a) { return (a + transpose(a, 0, 1)) * 0.5; }

// Every row with every row, product by product.
Tensor inner_products(const Tensor& x) {
  std::vector<Tensor> products;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    for (int64_t j = 0; j < x.dim(0); ++j) {
      products.push_back(sum(slice(x, 0, i, 1) * slice(x, 0, j, 1)));
    }
  }
  return reshape(stack(products, 0), {x.dim(0), x.dim(0)});
}

Section pairs_section(const Words& words) {
  return {.claims = {{"A16",
                      "一个矩阵乘以它自己转置的运算,其实可以看成这些向量分别与其他向量计算内积。",
                      "A matrix times its own transpose: each of its vectors' inner products "
                      "with the others."},
                     {"A20", "行向量X^T_i分别与自己和其他两个向量做内积,得到了一个新的向量。",
                      "The inner products of a row with itself and with the two others are a "
                      "new vector."},
                     {"A25",
                      "矩阵XX^T是一个方阵,我们以行向量的角度理解,里面保存了每个向量与自己和"
                      "其他向量进行内积运算的结果。",
                      "X Xᵀ is square; seen row by row it holds each vector's inner products "
                      "with itself and the others."}},
          .formula = "(X Xᵀ)_ij = x_i · x_j",
          .prediction = "As many rows as columns, and cell (i, j) is x_i · x_j.",
          .findings = {exact("columns, as many as rows", static_cast<double>(words.x.dim(0)),
                             static_cast<double>(words.gram.dim(1)), 0),
                       same("X Xᵀ and the products of rows",
                            largest_difference(words.gram, inner_products(words.x)))},
          .figures = {heat_map_of("X", words.x), heat_map_of("X Xᵀ", words.gram)}};
}

LineChart chart_of_eigenvalues(const std::vector<Series>& series) {
  return {.title = "Eigenvalues, of the symmetric part",
          .x_label = "number",
          .y_label = "eigenvalue",
          .series = series};
}

Section gram_section(const Words& words) {
  const auto of_gram = eigenvalues_of(symmetric_part(words.gram));
  const auto of_product = eigenvalues_of(symmetric_part(words.product));
  const double asymmetry = largest_difference(words.product, transpose(words.product, 0, 1));
  return {.claims = {{"A24", "XX^T的意义是什么?", "What does X Xᵀ mean?"},
                     {"A33", "Q,K,V矩阵、查询矩阵之类的字眼,本质上都是X矩阵的线性变换",
                      "Q, K and V are at bottom linear maps of X."}},
          .formula = "X Xᵀ against Q Kᵀ = X W_q W_kᵀ Xᵀ",
          .prediction =
              "X Xᵀ is a Gram matrix: symmetric, no eigenvalue below zero, so that A heeds B as B "
              "heeds A before the softmax. Linear maps set Q Kᵀ free of both.",
          .findings = {same("X Xᵀ and its transpose",
                            largest_difference(words.gram, transpose(words.gram, 0, 1))),
                       found("smallest eigenvalue of X Xᵀ", "not below 0",
                             format_number(of_gram.back()), of_gram.back() >= -1e-12),
                       found("Q Kᵀ and its transpose", "differ", format_number(asymmetry),
                             asymmetry > 1),
                       found("smallest eigenvalue of (Q Kᵀ + K Qᵀ) / 2", "below 0",
                             format_number(of_product.back()), of_product.back() < 0)},
          .figures = {heat_map_of("Q Kᵀ", words.product),
                      chart_of_eigenvalues({numbered_series("X Xᵀ", of_gram),
                                            numbered_series("Q Kᵀ", of_product)})}};
}

// One head of one sequence.
Tensor as_sequence(const Tensor& x) { return reshape(x, {1, x.dim(0), 1, x.dim(1)}); }

Tensor weighted_sums(const Tensor& weights, const Tensor& x) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    Tensor row = zeros({1, x.dim(1)}, DType::f64);
    for (int64_t j = 0; j < x.dim(0); ++j) {
      row = row + slice(slice(weights, 0, i, 1), 1, j, 1) * slice(x, 0, j, 1);
    }
    rows.push_back(row);
  }
  return concat(rows, 0);
}

Section form_section(const Words& words) {
  const Tensor weights = softmax(words.gram);
  const Tensor result = matmul(weights, words.x);
  const Tensor x = as_sequence(words.x);
  return {.claims = {{"A9", "Attention(Q,K,V)=softmax(QK^T/√d_k)V", "The formula of attention."},
                     {"A12", "抛开Q,K,V三个矩阵不谈,self-attention最原始的形态是Softmax(XX^T)X",
                      "Leave Q, K and V aside: the barest form of self-attention is "
                      "softmax(X Xᵀ) X."},
                     {"A31", "加权求和。", "The core of attention: a weighted sum."}},
          .formula = "y_i = Σ_j p_ij x_j,   P = softmax(X Xᵀ)",
          .prediction =
              "Attention whose queries, keys and values are all X, not scaled, is "
              "softmax(X Xᵀ) X, and each of its rows a weighted sum of the rows of X.",
          .findings = {same("softmax(X Xᵀ) X and attention(X, X, X)",
                            largest_difference(as_sequence(result), attention(x, x, x))),
                       same("its rows and weighted sums of the rows of X",
                            largest_difference(result, weighted_sums(weights, words.x)))},
          .figures = {heat_map_of("P = softmax(X Xᵀ)", weights)}};
}

Section gradient_section(const LabContext& lab, const Words& words) {
  const Tensor weights = softmax(words.gram), result = matmul(weights, words.x);
  const Tensor pushed =
      random_normal(RandomStream(lab.integer("seed")).derive("dO"), result.shape());
  const Gradients gradients =
      backward(result, {.cotangent = pushed, .keep_graph = true, .keep = {words.gram}});
  const Tensor& scores = gradients[words.gram];                            // dS
  const Tensor as_query = matmul(scores, words.x);                         // dS X
  const Tensor as_key = matmul(scores, words.x, {.transpose_a = true});    // dSᵀ X
  const Tensor as_value = matmul(weights, pushed, {.transpose_a = true});  // Pᵀ dO
  const double asymmetry = largest_difference(scores, transpose(scores, 0, 1));
  return {
      .claims = {{"A12", "self-attention最原始的形态是Softmax(XX^T)X",
                  "The barest form of self-attention is softmax(X Xᵀ) X."}},
      .formula = "dX = dS X + dSᵀ X + Pᵀ dO",
      .prediction =
          "X stands there three times, as query, key and value: its gradient is the sum of "
          "three parts. dS is not symmetric, though S is.",
      .findings = {same("the gradient and the sum of its three parts",
                        largest_difference(gradients[words.x], as_query + as_key + as_value)),
                   found("dS and its transpose", "differ", format_number(asymmetry),
                         asymmetry > 1e-3)},
      .figures = {heat_map_of("dS X: as a query", as_query), heat_map_of("dSᵀ X: as a key", as_key),
                  heat_map_of("Pᵀ dO: as a value", as_value)}};
}

std::vector<Section> run(const LabContext& lab) {
  const Words words = make_words(lab);
  return {pairs_section(words), gram_section(words), form_section(words),
          gradient_section(lab, words)};
}

}  // namespace

Lab bare_lab() {
  return {.name = "bare",
          .question = "What is softmax(X Xᵀ) X?",
          .control = "Q Kᵀ stands where X Xᵀ is said to be",
          .duration = "1 s",
          .options = {{"n", "6", "words", 2, 32},
                      {"d", "4", "numbers of a word", 2, 64},
                      seed_option("of X")},
          .run = run};
}

}  // namespace qkv
