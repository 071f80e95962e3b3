// "Thinking Machines": attention in its four steps, word by word and as matrices.
#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "framework/ops/scaled_dot_product_attention.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

constexpr int64_t kWords = 2;  // thinking, machines

struct Sentence {
  Tensor x;              // [2, C]
  Tensor w_q, w_k, w_v;  // [C, D], [C, D], [C, C]
  Tensor query = {}, key = {}, value = {};
};

Sentence make_sentence(const LabContext& lab, uint64_t seed) {
  const int64_t c = lab.integer("c"), d = lab.integer("d");
  const RandomStream random(seed);
  const double deviation = 1 / std::sqrt(static_cast<double>(c));
  const auto map = [&](const char* name, int64_t width) {
    return random_normal(random.derive(name), {c, width}) * deviation;
  };
  Sentence s = {.x = as_parameter(random_normal(random.derive("x"), {kWords, c})),
                .w_q = map("W_q", d),
                .w_k = map("W_k", d),
                .w_v = map("W_v", c)};
  s.query = matmul(s.x, s.w_q);
  s.key = matmul(s.x, s.w_k);
  s.value = matmul(s.x, s.w_v);
  return s;
}

// Rows as one head of one sequence: [n, D] -> [1, 1, n, D]
Tensor head(const Tensor& x) { return reshape(x, {1, 1, x.dim(0), x.dim(1)}); }

AttentionOptions options_of(const LabContext& lab) {
  return {.scale = lab.is_control() ? 1 : 1 / std::sqrt(static_cast<double>(lab.integer("d")))};
}

// Z = softmax(Q Kᵀ / √d) V, and the weights.
struct Result {
  Tensor weights;  // [2, 2]
  Tensor z;        // [2, C]
  std::vector<std::string> steps = {};
};

Result attend(const LabContext& lab, const Sentence& s) {
  Result result;
  const Tensor z =
      scaled_dot_product_attention(head(s.query), head(s.key), head(s.value), options_of(lab),
                                   [&](std::string_view name, const Tensor& x) {
                                     result.steps.emplace_back(name);
                                     if (name == "weights")
                                       result.weights = reshape(x, {kWords, kWords});
                                   });
  result.z = reshape(z, {kWords, s.x.dim(1)});
  return result;
}

// The same of one word, with nothing but numbers.
std::vector<double> z_of(const Sentence& s, int64_t word) {
  const auto row = [](const Tensor& x, int64_t i) { return slice(x, 0, i, 1).to_vector(); };
  const std::vector<double> q = row(s.query, word);
  std::vector<double> shares;
  double total = 0;
  for (int64_t j = 0; j < kWords; ++j) {
    const std::vector<double> k = row(s.key, j);
    double score = 0;
    for (size_t i = 0; i < q.size(); ++i) score += q[i] * k[i];
    shares.push_back(std::exp(score / std::sqrt(static_cast<double>(q.size()))));
    total += shares.back();
  }
  std::vector<double> z(static_cast<size_t>(s.x.dim(1)), 0.0);
  for (int64_t j = 0; j < kWords; ++j) {
    const std::vector<double> v = row(s.value, j);
    for (size_t i = 0; i < z.size(); ++i) z[i] += shares[static_cast<size_t>(j)] / total * v[i];
  }
  return z;
}

HeatMap map_of_words(const std::string& title, const Tensor& matrix, bool columns_are_words) {
  HeatMap map = heat_map_of(title, matrix);
  map.row_names = {"thinking", "machines"};
  if (columns_are_words) map.column_names = map.row_names;
  return map;
}

// Nothing is hidden here: the masked scores are the scores.
constexpr const char* kSteps = "scores masked_scores weights heads";

Section steps_section(const LabContext& lab, const Sentence& s) {
  const Result result = attend(lab, s);
  const int64_t c = s.x.dim(1);
  Section section = {
      .claims = {{"B72", "1、Q、K、V的获取", "1. How Q, K and V are had"},
                 {"B76", "2、Matmul", "2. Product: the scores"},
                 {"B80", "3、scale+softmax", "3. Scale and softmax: the weights"},
                 {"B84", "4、Matmul", "4. Product: the result"},
                 {"B102", "自注意力机制（矩阵）", "Self-attention, in matrices"}},
      .formula =
          "q_i = x_i W_q,   s_ij = q_i · k_j / √d,   a_i = softmax(s_i),   z_i = Σ_j a_ij v_j",
      .prediction =
          "Two words, one after the other, in numbers alone, give what the matrices give at once.",
      .findings = {found("steps, in their order", kSteps, absl::StrJoin(result.steps, " "),
                         absl::StrJoin(result.steps, " ") == kSteps)},
      .figures = {map_of_words("X", s.x, false), map_of_words("Q", s.query, false),
                  map_of_words("K", s.key, false), map_of_words("V", s.value, false),
                  map_of_words("Weights A", result.weights, true),
                  map_of_words("Z", result.z, false)}};
  for (int64_t i = 0; i < kWords; ++i) {
    section.findings.push_back(
        same(absl::StrCat("z_", i + 1, ", alone and of the matrices"),
             largest_difference(slice(result.z, 0, i, 1), constant_f64({1, c}, z_of(s, i)))));
  }
  return section;
}

// Words as columns, as in C, and as rows: the same numbers, transposed.
Section shapes_section(const LabContext& lab, const Sentence& s) {
  const int64_t d = lab.integer("d"), c = lab.integer("c");
  const auto turned = [](const Tensor& x) { return transpose(x, 0, 1); };
  const Tensor words = turned(s.x);  // A, [D_a, N]
  const Tensor query = matmul(turned(s.w_q), words), key = matmul(turned(s.w_k), words);
  const Tensor value = matmul(turned(s.w_v), words);
  const Tensor scores = matmul(s.query, s.key, {.transpose_b = true});  // [N, N], row i of query i
  return {
      .claims = {{"C91", "将词嵌入矩阵线性映射到三个不同的空间，得到",
                  "The matrix of embeddings is mapped linearly to three spaces, which gives"},
                 {"C100", "Q = W^qA,  W^q ∈ R^{D_k×D_a}", "the queries, of D_k numbers,"},
                 {"C102", "K = W^kA,  W^k ∈ R^{D_k×D_a}", "the keys, of as many,"},
                 {"C104", "V = W^vA,  W^v ∈ R^{D_v×D_a}", "and the values, of D_v."}},
      .formula = "Q [N, D_k] = X W_q,   of columns: Q [D_k, N] = W^q A,   A = Xᵀ, W^q = W_qᵀ",
      .prediction =
          "Queries and keys are of one length, as they are multiplied; values may be of another. "
          "It makes no difference whether words are rows or columns.",
      .findings = {exact("numbers of a query", static_cast<double>(d),
                         static_cast<double>(query.dim(0)), 0),
                   exact("numbers of a value", static_cast<double>(c),
                         static_cast<double>(value.dim(0)), 0),
                   same("W^q A, and (X W_q)ᵀ", largest_difference(query, turned(s.query))),
                   same("Kᵀ Q of columns, and (Q Kᵀ)ᵀ of rows",
                        largest_difference(matmul(key, query, {.transpose_a = true}),
                                           turned(scores)))},
      .figures = {heat_map_of("W_q", s.w_q), heat_map_of("W_v", s.w_v)},
      .correction =
          "A and C write words as columns, B as rows: Aᵀ = Qᵀ K (A37) and Kᵀ Q (C115) are the "
          "scores of rows, Q Kᵀ, transposed. Softmax then goes along columns."};
}

double cosine(const Tensor& a, const Tensor& b) {
  return sum(a * b).item() / (size_of(a) * size_of(b));
}

// What z_1 has of each word: a_1j |v_j|, and |dz_1 / dx_j| for a random dz.
Section meaning_section(const LabContext& lab) {
  std::vector<double> to_itself, to_other, with_itself, with_other, smallest;
  double sum_differs = 0;
  for (const uint64_t seed : lab.seeds()) {
    const Sentence s = make_sentence(lab, seed);
    const Result result = attend(lab, s);
    const auto word = [](const Tensor& x, int64_t i) { return slice(x, 0, i, 1); };
    const Tensor z = word(result.z, 0);
    to_itself.push_back(cosine(z, word(s.x, 0)));
    to_other.push_back(cosine(z, word(s.x, 1)));
    with_itself.push_back(cosine(z + word(s.x, 0), word(s.x, 0)));
    with_other.push_back(cosine(z + word(s.x, 0), word(s.x, 1)));
    const std::vector<double> a = word(result.weights, 0).to_vector();
    sum_differs = std::max(
        sum_differs, largest_difference(z, word(s.value, 0) * a[0] + word(s.value, 1) * a[1]));
    const Tensor pushed = random_normal(RandomStream(seed).derive("dz"), z.shape());
    const Tensor back = backward(z, {.cotangent = pushed})[s.x];
    smallest.push_back(std::min(size_of(word(back, 0)), size_of(word(back, 1))));
  }
  return {
      .claims =
          {{"B43",
            "Q "
            "已经失去了它的使用价值了，我们最终还是要拿到这张图片的，只不过现在的这张图片，它多了一"
            "些信息",
            "Q has served its purpose: what we want in the end is the picture, which now tells "
            "more."},
           {"B50", "这个新的 V' 就包含了，哪些更重要，哪些不重要的信息在里面，然后用 V' 代替 V",
            "The new V' holds what is important and what is not, and takes the place of V."},
           {"B88", "z1表示的就是 thinking 的新的向量表示", "z1 is the new vector of thinking."},
           {"B94",
            "新的z1依然是 thinking 的词向量表示，只不过这个词向量的表示蕴含了 thinking machines "
            "这句话对于 thinking 而言哪个更重要的信息",
            "The new z1 still is a vector of thinking, but one that holds what of \"thinking "
            "machines\" is important to thinking."}},
      .formula = "z_1 = a_11 v_1 + a_12 v_2",
      .prediction =
          "z_1 is made of the values of both words, each by its weight, and both are taught by it. "
          "If it still is a vector of thinking, it is nearer to x_1 than to x_2.",
      .findings = {same("z_1 and a_11 v_1 + a_12 v_2", sum_differs),
                   found("the smaller of |dL/dx_1| and |dL/dx_2|, from z_1", "above 0",
                         format_samples(smallest), *std::ranges::min_element(smallest) > 0),
                   larger("cosine of x_1 + z_1 with x_1, and with x_2", with_itself, with_other),
                   beyond(
                       larger("cosine of z_1 alone with x_1, and with x_2", to_itself, to_other))},
      .condition = "the residual stream adds x_1",
      .correction =
          "Of itself z_1 is a mixture of values in another projection. That it is about thinking "
          "is so because it is added to x_1."};
}

Section words_section(const LabContext& lab) {
  const int64_t c = lab.integer("c");
  const std::vector<int64_t> sentence = {3, 1, 3};  // one word twice
  const Tensor words = Tensor(Array::of({3}, sentence));
  const Tensor table = as_parameter(random_normal(RandomStream(1).derive("table"), {5, c}));
  const Tensor x = embedding(table, words);
  const Tensor pushed = random_normal(RandomStream(1).derive("dX"), x.shape());
  const Tensor back = backward(x, {.cotangent = pushed})[table];
  const auto row = [](const Tensor& t, int64_t i) { return slice(t, 0, i, 1); };
  return {
      .claims = {{"C37", "首先对输入序列(如句子)进行分词，将每个词转化成对应的词向量",
                  "First the input, a sentence say, is cut into words, and each is turned into "
                  "its vector."}},
      .formula = "X = onehot(words) E   [n, d],   dE = onehot(words)ᵀ dX",
      .prediction =
          "A row of X is the row of a table; a word that comes twice is taught twice, and the "
          "two add up.",
      .findings = {same("rows of the table, and one-hot vectors times it",
                        largest_difference(x, matmul(one_hot(words, 5, DType::f64), table)), 0),
                   same("gradient of the word that comes twice, and the sum of two rows",
                        largest_difference(row(back, 3), row(pushed, 0) + row(pushed, 2))),
                   exact("gradient of a word that does not come", 0, largest_of(row(back, 0)), 0)},
      .figures = {heat_map_of("X", x), heat_map_of("dE", back)}};
}

std::vector<Section> run(const LabContext& lab) {
  const Sentence sentence = make_sentence(lab, 1);
  return {words_section(lab), shapes_section(lab, sentence), steps_section(lab, sentence),
          meaning_section(lab)};
}

}  // namespace

Lab thinking_lab() {
  return {.name = "thinking",
          .question = "\"Thinking Machines\": what is z1, in four steps?",
          .control = "the scores are not divided where the formula divides them",
          .duration = "1 s",
          .options = {{"c", "4", "numbers of a word", 2, 64},
                      {"d", "3", "numbers of a query", 1, 64},
                      seeds_option("10", "sentences")},
          .run = run};
}

}  // namespace qkv
