// How alike two vectors are: by their inner product, scaled or not, or by the angle between them.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

namespace qkv {
namespace {

using Similarity = Tensor (*)(const Tensor& a, const Tensor& b);  // [N, d], [M, d] -> [N, M]

Tensor dot(const Tensor& a, const Tensor& b) { return matmul(a, b, {.transpose_b = true}); }

Tensor scaled(const Tensor& a, const Tensor& b) {
  return dot(a, b) / std::sqrt(static_cast<double>(a.dim(1)));
}

Tensor lengths(const Tensor& x) { return sqrt(sum(x * x, -1, /*keep_axis=*/true)); }  // [N, 1]
Tensor unit(const Tensor& x) { return x / lengths(x); }

Tensor cosine(const Tensor& a, const Tensor& b) { return dot(unit(a), unit(b)); }

struct Form {
  const char* name;
  Similarity similarity;
};
constexpr Form kForms[] = {{"q·k", dot}, {"q·k / √d", scaled}, {"cos(q, k)", cosine}};

Similarity product_of(const LabContext& lab) { return lab.is_control() ? cosine : dot; }

Tensor make_words(const LabContext& lab, uint64_t seed) {
  return random_normal(RandomStream(seed).derive("x"), {lab.integer("n"), lab.integer("d")});
}

// Of all pairs of columns in a row: the share that `a` puts into the order in which `b` has them.
double agreement_of(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  const auto n = static_cast<size_t>(a.dim(1));
  double pairs = 0, agreeing = 0;
  for (size_t row = 0; row < x.size(); row += n) {
    for (size_t i = row; i < row + n; ++i) {
      for (size_t j = row; j < row + n; ++j) {
        if (y[i] <= y[j]) continue;
        pairs += 1;
        agreeing += x[i] > x[j] ? 1 : 0;
      }
    }
  }
  return agreeing / pairs;
}

// By the sides of the triangle of the unit vectors u and v: 2 atan(|u - v| / |u + v|)  (Kahan 2006)
double angle_between(const Tensor& a, const Tensor& b) {
  const Tensor u = unit(a), v = unit(b);
  return 2 * std::atan2(size_of(u - v), size_of(u + v));
}

Tensor row_of(const Tensor& x, int64_t i) { return slice(x, 0, i, 1); }

// The largest differences over all pairs of words.
struct Geometry {
  double law = 0;   // x·y and |x| |y| cos(angle)
  double rest = 0;  // what of x is left beside its projection on y, times y
};

Geometry geometry_of(const Tensor& x, Similarity product) {
  Geometry largest;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    for (int64_t j = 0; j < x.dim(0); ++j) {
      const Tensor a = row_of(x, i), b = row_of(x, j);
      const double s = product(a, b).item(), length = size_of(b);
      const double law = size_of(a) * length * std::cos(angle_between(a, b));
      const Tensor projection = unit(b) * (s / length);
      largest.law = std::max(largest.law, std::abs(s - law));
      largest.rest = std::max(largest.rest, std::abs(dot(a - projection, b).item()));
    }
  }
  return largest;
}

Section angle_section(const LabContext& lab) {
  const Similarity product = product_of(lab);
  double law = 0, rest = 0, of_units = 1;
  std::vector<double> as_they_are;
  for (const uint64_t seed : lab.seeds()) {
    const Tensor x = make_words(lab, seed);
    const Geometry geometry = geometry_of(x, product);
    law = std::max(law, geometry.law);
    rest = std::max(rest, geometry.rest);
    of_units = std::min(of_units, agreement_of(product(unit(x), unit(x)), cosine(x, x)));
    as_they_are.push_back(agreement_of(product(x, x), cosine(x, x)));
  }
  const Tensor x = make_words(lab, 1);
  return {
      .claims = {{"A17", "向量的内积,其几何意义是什么?", "What does an inner product mean?"},
                 {"A18", "表征两个向量的夹角,表征一个向量在另一个向量上的投影",
                  "It stands for the angle between two vectors, and for the projection of one on "
                  "the other."}},
      .formula = "x·y = |x| |y| cos(x, y)",
      .prediction =
          "Divided by |y| it is the projection: what is left of x is at right angles to y. If it "
          "stood for the angle alone, it would put any two words into the order of their angles.",
      .findings = {same("x·y and |x| |y| cos(angle)", law),
                   same("rest of x beside the projection, times y, and 0", rest),
                   exact("pairs in the order of their angles, all lengths 1", 1, of_units, 0),
                   beyond(found("pairs in that order, with their own lengths", "1",
                                format_samples(as_they_are), mean_of(as_they_are) == 1))},
      .figures = {heat_map_of("x·y", product(x, x)), heat_map_of("cos(x, y)", cosine(x, x))},
      .condition = "all vectors have one length",
      .correction =
          "It is angle and lengths in one number: of two words at one angle the longer "
          "has the larger product."};
}

// The share of words that are more like themselves than like any other.
double share_like_themselves(const Tensor& similarity) {
  const std::vector<double> s = similarity.to_vector(), largest = max(similarity, -1).to_vector();
  const size_t n = largest.size();
  double count = 0;
  for (size_t i = 0; i < n; ++i) count += s[i * n + i] == largest[i] ? 1 : 0;
  return count / static_cast<double>(n);
}

Section related_section(const LabContext& lab) {
  std::vector<double> relatives, strangers, themselves;
  double of_units = 1;
  for (const uint64_t seed : lab.seeds()) {
    const RandomStream random(seed);
    const Tensor x = make_words(lab, seed);
    const Tensor noise = random_normal(random.derive("noise"), x.shape());
    const Tensor others = random_normal(random.derive("others"), x.shape());
    const Tensor near_x = (x + noise * 0.5) / std::sqrt(1.25);  // variance 1 again
    relatives.push_back(mean(sum(x * near_x, -1)).item());
    strangers.push_back(mean(sum(x * others, -1)).item());
    themselves.push_back(share_like_themselves(product_of(lab)(x, x)));
    of_units = std::min(of_units, share_like_themselves(product_of(lab)(unit(x), unit(x))));
  }
  return {
      .claims = {{"A22", "投影的值大,说明两个向量相关度高。",
                  "A large projection says that two vectors are closely related."},
                 {"A23",
                  "词向量之间相关度高表示什么?是不是在一定程度上(不是完全)表示,在关注词A的时候,"
                  "应当给予词B更多的关注?",
                  "Does it not mean, to some degree, that whoever looks at word A should give word "
                  "B more attention?"},
                 {"B25", "也就是去计算 V相对于Q来说的重要程度",
                  "To compute how important V is to Q."},
                 {"B27", "重要程度计算，其实是不是就是相似度计算（比较接近），其实就是求内积",
                  "Is importance not likeness, which is an inner product?"}},
      .formula = "s_ij = x_i · x_j",
      .prediction =
          "A word has a larger product with its relatives than with strangers, and the "
          "largest with itself.",
      .findings = {larger("product with a relative, and with a stranger", relatives, strangers),
                   exact("words most like themselves, all lengths 1", 1, of_units, 0),
                   beyond(found("words most like themselves, with their own lengths", "1",
                                format_samples(themselves), mean_of(themselves) == 1))},
      .condition = "all vectors have one length",
      .correction =
          "A long word can have a larger product with a short one than that has with "
          "itself: a large value says related, or long."};
}

Section shares_section(const LabContext& lab) {
  Section section = {
      .claims =
          {{"D6",
            "每个纯净试剂的混合比例是按照其与样本试剂之间的相似度决定——试剂本身约相似,"
            "占的比例也越高。",
            "Each reagent's share is decided by its likeness to the sample: the more similar, "
            "the larger."}},
      .formula = "p = softmax(s)",
      .prediction =
          "Whatever measures likeness, the shares are in its order. To scale changes no "
          "order, only how unequal they are; a cosine is at most 1, and so leaves no "
          "share above e / (e + (n - 1) / e).",
      .findings = {},
      .figures = {}};
  Table table = {.title = "Shares of n words",
                 .header = {"similarity", "largest share", "pairs as q·k has them"},
                 .rows = {}};
  const double n = static_cast<double>(lab.integer("n"));
  const double bound = std::exp(1) / (std::exp(1) + (n - 1) * std::exp(-1));
  double largest_of_cosine = 0;
  for (const Form& form : kForms) {
    double ordered = 1;
    std::vector<double> largest, as_dot;
    for (const uint64_t seed : lab.seeds()) {
      const Tensor x = make_words(lab, seed);
      const Tensor samples = random_normal(RandomStream(seed).derive("samples"), x.shape());
      const Tensor similarity = form.similarity(samples, x), shares = softmax(similarity);
      ordered = std::min(ordered, agreement_of(shares, similarity));
      largest.push_back(mean(max(shares, -1)).item());
      as_dot.push_back(agreement_of(shares, dot(samples, x)));
      if (form.similarity == cosine) {
        largest_of_cosine = std::max(largest_of_cosine, largest_of(shares));
      }
    }
    if (form.similarity == scaled) {
      section.findings.push_back(exact("pairs whose order the scale leaves as it is", 1,
                                       *std::ranges::min_element(as_dot), 0));
    }
    section.findings.push_back(
        exact(absl::StrCat("pairs whose shares are as ", form.name, " has them"), 1, ordered, 0));
    table.rows.push_back({form.name, format_samples(largest), format_samples(as_dot)});
  }
  section.findings.push_back(found("largest share by the cosine",
                                   absl::StrCat("at most ", format_number(bound)),
                                   format_number(largest_of_cosine), largest_of_cosine <= bound));
  section.figures.push_back(std::move(table));
  return section;
}

// ds / dq of one pair.
Tensor gradient_of(Similarity similarity, const Tensor& query, const Tensor& key) {
  const Tensor q = as_parameter(query);
  return backward(sum(similarity(q, key)))[q];
}

Section gradient_section(const LabContext& lab) {
  double of_dot = 0, of_scaled = 0, of_cosine = 0, pulled = 0;
  const double root = std::sqrt(static_cast<double>(lab.integer("d")));
  for (const uint64_t seed : lab.seeds()) {
    const Tensor keys = make_words(lab, seed), key = row_of(keys, 0);
    const Tensor q =
        as_parameter(random_normal(RandomStream(seed).derive("q"), {1, lab.integer("d")}));
    const Similarity product = product_of(lab);
    of_dot = std::max(of_dot, largest_difference(gradient_of(product, q, key), key));
    of_scaled = std::max(of_scaled, largest_difference(gradient_of(scaled, q, key), key / root));
    of_cosine = std::max(of_cosine, std::abs(dot(gradient_of(cosine, q, key), q).item()));
    const Tensor weights = softmax(dot(q, keys));
    const Tensor back = backward(sum(neg(log(slice(weights, 1, 0, 1)))))[q];
    pulled = std::max(pulled, largest_difference(back, matmul(weights, keys) - key));
  }
  return {
      .claims = {{"B31", "我们一般使用点乘的方式", "As a rule we use the dot product."}},
      .formula = "d(q·k)/dq = k,   q · d cos(q, k)/dq = 0,   -d log p_j / dq = Σ_k p_k k_k - k_j",
      .prediction =
          "A dot product teaches q by the key itself, and can make it longer; a cosine "
          "only turns it. To see key j more, q goes towards it, away from the mean of "
          "what it sees.",
      .findings = {same("d(q·k)/dq and k", of_dot), same("scaled: and k / √d", of_scaled),
                   same("cosine: the gradient along q, and 0", of_cosine),
                   same("-d log p_j / dq, and Σ_k p_k k_k - k_j", pulled)}};
}

std::vector<Section> run(const LabContext& lab) {
  return {angle_section(lab), related_section(lab), shares_section(lab), gradient_section(lab)};
}

}  // namespace

Lab similarity_lab() {
  return {.name = "similarity",
          .question = "Is an inner product an angle?",
          .control = "the cosine stands where the inner product is said to be",
          .duration = "1 s",
          .options = {{"n", "8", "words", 2, 64},
                      {"d", "4", "numbers of a word", 2, 64},
                      seeds_option("5", "sets of words")},
          .run = run};
}

}  // namespace qkv
