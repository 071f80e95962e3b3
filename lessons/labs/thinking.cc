// "Thinking Machines": attention in its four steps, word by word and as matrices.
#include "absl/strings/str_join.h"
#include "framework/ops/scaled_dot_product_attention.h"
#include "lessons/labs/kit.h"

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
    return random_normal(random, name, {c, width}) * deviation;
  };
  Sentence s = {.x = as_parameter(random_normal(random, "x", {kWords, c})),
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
  std::vector<std::string> steps;
};

Result attend(const LabContext& lab, const Sentence& s) {
  const Attended attended =
      attend_in_steps(head(s.query), head(s.key), head(s.value), options_of(lab));
  return {.weights = reshape(attended.steps.at("weights"), {kWords, kWords}),
          .z = reshape(attended.result, {kWords, s.x.dim(1)}),
          .steps = attended.names};
}

// The same of one word, with nothing but numbers.
std::vector<double> z_of(const Sentence& s, int64_t word) {
  const auto row = [](const Tensor& x, int64_t i) { return row_of(x, i).to_vector(); };
  const Samples q = row(s.query, word);
  Samples shares;
  double total = 0;
  for (int64_t j = 0; j < kWords; ++j) {
    const Samples k = row(s.key, j);
    double score = 0;
    for (size_t i = 0; i < q.size(); ++i) score += q[i] * k[i];
    shares.push_back(std::exp(score / std::sqrt(static_cast<double>(q.size()))));
    total += shares.back();
  }
  std::vector<double> z(static_cast<size_t>(s.x.dim(1)), 0.0);
  for (int64_t j = 0; j < kWords; ++j) {
    const Samples v = row(s.value, j);
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
  Section section = make_section(
      "thinking.steps",
      {found("steps, in their order", kSteps, absl::StrJoin(result.steps, " "),
             absl::StrJoin(result.steps, " ") == kSteps)},
      {map_of_words("X", s.x, false), map_of_words("Q", s.query, false),
       map_of_words("K", s.key, false), map_of_words("V", s.value, false),
       map_of_words("Weights A", result.weights, true), map_of_words("Z", result.z, false)});
  for (int64_t i = 0; i < kWords; ++i) {
    section.add(same(absl::StrCat("z_", i + 1, ", alone and of the matrices"),
                     largest_difference(row_of(result.z, i), constant_f64({1, c}, z_of(s, i)))));
  }
  return section;
}

// Words as columns, as in C, and as rows: the same numbers, transposed.
Section shapes_section(const LabContext& lab, const Sentence& s) {
  const int64_t d = lab.integer("d"), c = lab.integer("c");
  const Tensor words = transposed(s.x);  // A, [D_a, N]
  const Tensor query = matmul(transposed(s.w_q), words), key = matmul(transposed(s.w_k), words);
  const Tensor value = matmul(transposed(s.w_v), words);
  const Tensor scores = products_of_rows(s.query, s.key);  // [N, N], row i of query i
  return make_section(
      "thinking.shapes",
      {equal("numbers of a query", d, query.dim(0)), equal("numbers of a value", c, value.dim(0)),
       same("W^q A, and (X W_q)ᵀ", largest_difference(query, transposed(s.query))),
       same("Kᵀ Q of columns, and (Q Kᵀ)ᵀ of rows",
            largest_difference(matmul(key, query, {.transpose_a = true}), transposed(scores)))},
      {heat_map_of("W_q", s.w_q), heat_map_of("W_v", s.w_v)});
}

double cosine(const Tensor& a, const Tensor& b) {
  return sum(a * b).item() / (size_of(a) * size_of(b));
}

// What z_1 has of each word: a_1j |v_j|, and |dz_1 / dx_j| for a random dz.
Section meaning_section(const LabContext& lab) {
  Samples to_itself, to_other, with_itself, with_other, smallest, off_sum;
  for (const uint64_t seed : lab.seeds()) {
    const Sentence s = make_sentence(lab, seed);
    const Result result = attend(lab, s);
    const Tensor z = row_of(result.z, 0), itself = row_of(s.x, 0), other = row_of(s.x, 1);
    to_itself.push_back(cosine(z, itself));
    to_other.push_back(cosine(z, other));
    with_itself.push_back(cosine(z + itself, itself));
    with_other.push_back(cosine(z + itself, other));
    const Samples a = row_of(result.weights, 0).to_vector();
    off_sum.push_back(largest_difference(z, row_of(s.value, 0) * a[0] + row_of(s.value, 1) * a[1]));
    const Tensor pushed = random_normal(RandomStream(seed), "dz", z.shape());
    const Tensor back = backward(z, {.cotangent = pushed})[s.x];
    smallest.push_back(std::min(size_of(row_of(back, 0)), size_of(row_of(back, 1))));
  }
  return make_section(
      "thinking.meaning",
      {same("z_1 and a_11 v_1 + a_12 v_2", most_of(off_sum)),
       found("the smaller of |dL/dx_1| and |dL/dx_2|, from z_1", "above 0", smallest,
             least_of(smallest) > 0),
       larger("cosine of x_1 + z_1 with x_1, and with x_2", with_itself, with_other),
       beyond(larger("cosine of z_1 alone with x_1, and with x_2", to_itself, to_other))});
}

Section words_section(const LabContext& lab) {
  const int64_t c = lab.integer("c");
  const Tensor words = tokens_of({3, 1, 3});  // one word twice
  const Tensor table = as_parameter(random_normal(RandomStream(1), "table", {5, c}));
  const Tensor x = embedding(table, words);
  const Tensor pushed = random_normal(RandomStream(1), "dX", x.shape());
  const Tensor back = backward(x, {.cotangent = pushed})[table];
  return make_section(
      "thinking.words",
      {same("rows of the table, and one-hot vectors times it",
            largest_difference(x, matmul(one_hot(words, 5, DType::f64), table)), 0),
       same("gradient of the word that comes twice, and the sum of two rows",
            largest_difference(row_of(back, 3), row_of(pushed, 0) + row_of(pushed, 2))),
       equal("gradient of a word that does not come", 0, largest_of(row_of(back, 0)))},
      {heat_map_of("X", x), heat_map_of("dE", back)});
}

std::vector<Section> run(const LabContext& lab) {
  const Sentence sentence = make_sentence(lab, 1);
  return {words_section(lab), shapes_section(lab, sentence), steps_section(lab, sentence),
          meaning_section(lab)};
}

}  // namespace

Lab thinking_lab() { return make_lab("thinking", run); }

}  // namespace qkv
