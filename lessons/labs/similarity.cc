// How alike two vectors are: by their inner product, scaled or not, or by the angle between them.
#include "lessons/labs/kit.h"

namespace qkv {
namespace {

using Similarity = Tensor (*)(const Tensor& a, const Tensor& b);  // [N, d], [M, d] -> [N, M]

Tensor dot(const Tensor& a, const Tensor& b) { return products_of_rows(a, b); }

Tensor scaled(const Tensor& a, const Tensor& b) {
  return dot(a, b) / std::sqrt(static_cast<double>(a.dim(1)));
}

Tensor unit(const Tensor& x) { return x / reshape(lengths_of_rows(x), {x.dim(0), 1}); }

Tensor cosine(const Tensor& a, const Tensor& b) { return dot(unit(a), unit(b)); }

struct Form {
  const char* name;
  Similarity similarity;
};
constexpr Form kForms[] = {{"q·k", dot}, {"q·k / √d", scaled}, {"cos(q, k)", cosine}};

Similarity product_of(const LabContext& lab) { return lab.is_control() ? cosine : dot; }

Tensor make_words(const LabContext& lab, uint64_t seed) {
  return random_normal(RandomStream(seed), "x", {lab.integer("n"), lab.integer("d")});
}

// The share of the pairs of columns in a row that `a` puts into the same order as `b`.
double agreement_of(const Tensor& a, const Tensor& b) {
  const Samples x = a.to_vector(), y = b.to_vector();
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
  double law = 0, rest = 0, for_unit_lengths = 1;
  Samples as_they_are;
  for (const uint64_t seed : lab.seeds()) {
    const Tensor x = make_words(lab, seed);
    const Geometry geometry = geometry_of(x, product);
    law = std::max(law, geometry.law);
    rest = std::max(rest, geometry.rest);
    for_unit_lengths =
        std::min(for_unit_lengths, agreement_of(product(unit(x), unit(x)), cosine(x, x)));
    as_they_are.push_back(agreement_of(product(x, x), cosine(x, x)));
  }
  const Tensor x = make_words(lab, 1);
  return make_section(
      "similarity.angle", {"A17", "A18"},
      {same("x·y and |x| |y| cos(angle)", law),
       same("rest of x beside the projection, times y, and 0", rest),
       equal("pairs in the order of their angles, all lengths 1", 1, for_unit_lengths),
       beyond(found("pairs in that order, with their own lengths", "1", format_samples(as_they_are),
                    mean_of(as_they_are) == 1))},
      {heat_map_of("x·y", product(x, x)), heat_map_of("cos(x, y)", cosine(x, x))});
}

// The share of words that are more like themselves than like any other.
double share_like_themselves(const Tensor& similarity) {
  const Samples s = similarity.to_vector(), largest = max(similarity, -1).to_vector();
  const size_t n = largest.size();
  double count = 0;
  for (size_t i = 0; i < n; ++i) count += s[i * n + i] == largest[i] ? 1 : 0;
  return count / static_cast<double>(n);
}

Section related_section(const LabContext& lab) {
  Samples relatives, strangers, themselves;
  double for_unit_lengths = 1;
  for (const uint64_t seed : lab.seeds()) {
    const RandomStream random(seed);
    const Tensor x = make_words(lab, seed);
    const Tensor noise = random_normal(random, "noise", x.shape());
    const Tensor others = random_normal(random, "others", x.shape());
    const Tensor near_x = (x + noise * 0.5) / std::sqrt(1.25);  // variance 1 again
    relatives.push_back(mean(sum(x * near_x, -1)).item());
    strangers.push_back(mean(sum(x * others, -1)).item());
    themselves.push_back(share_like_themselves(product_of(lab)(x, x)));
    for_unit_lengths =
        std::min(for_unit_lengths, share_like_themselves(product_of(lab)(unit(x), unit(x))));
  }
  return make_section("similarity.related", {"A22", "A23", "B25", "B27"},
                      {larger("product with a relative, and with a stranger", relatives, strangers),
                       equal("words most like themselves, all lengths 1", 1, for_unit_lengths),
                       beyond(found("words most like themselves, with their own lengths", "1",
                                    format_samples(themselves), mean_of(themselves) == 1))});
}

Section shares_section(const LabContext& lab) {
  Section section = make_section("similarity.shares", {"D6-12"});
  Table table = {.title = "Shares of n words",
                 .header = {"similarity", "largest share", "pairs as q·k has them"},
                 .rows = {}};
  const double n = static_cast<double>(lab.integer("n"));
  const double bound = std::exp(1) / (std::exp(1) + (n - 1) * std::exp(-1));
  double largest_of_cosine = 0;
  for (const Form& form : kForms) {
    double ordered = 1;
    Samples largest, as_dot;
    for (const uint64_t seed : lab.seeds()) {
      const Tensor x = make_words(lab, seed);
      const Tensor samples = random_normal(RandomStream(seed), "samples", x.shape());
      const Tensor similarity = form.similarity(samples, x), shares = softmax(similarity);
      ordered = std::min(ordered, agreement_of(shares, similarity));
      largest.push_back(mean(max(shares, -1)).item());
      as_dot.push_back(agreement_of(shares, dot(samples, x)));
      if (form.similarity == cosine) {
        largest_of_cosine = std::max(largest_of_cosine, largest_of(shares));
      }
    }
    if (form.similarity == scaled) {
      section.add(equal("pairs whose order the scale leaves as it is", 1, least_of(as_dot)));
    }
    section.add(
        equal(absl::StrCat("pairs whose shares are as ", form.name, " has them"), 1, ordered));
    table.rows.push_back({form.name, format_samples(largest), format_samples(as_dot)});
  }
  section.add(found("largest share by the cosine", absl::StrCat("at most ", format_number(bound)),
                    format_number(largest_of_cosine), largest_of_cosine <= bound));
  section.show(std::move(table));
  return section;
}

// ds / dq of one pair.
Tensor gradient_of(Similarity similarity, const Tensor& query, const Tensor& key) {
  const Tensor q = as_parameter(query);
  return backward(sum(similarity(q, key)))[q];
}

Section gradient_section(const LabContext& lab) {
  double dot_error = 0, scaled_error = 0, cosine_error = 0, pulled = 0;
  const double root = std::sqrt(static_cast<double>(lab.integer("d")));
  for (const uint64_t seed : lab.seeds()) {
    const Tensor keys = make_words(lab, seed), key = row_of(keys, 0);
    const Tensor q = as_parameter(random_normal(RandomStream(seed), "q", {1, lab.integer("d")}));
    const Similarity product = product_of(lab);
    dot_error = std::max(dot_error, largest_difference(gradient_of(product, q, key), key));
    scaled_error =
        std::max(scaled_error, largest_difference(gradient_of(scaled, q, key), key / root));
    cosine_error = std::max(cosine_error, std::abs(dot(gradient_of(cosine, q, key), q).item()));
    const Tensor weights = softmax(dot(q, keys));
    const Tensor back = backward(sum(neg(log(slice(weights, 1, 0, 1)))))[q];
    pulled = std::max(pulled, largest_difference(back, matmul(weights, keys) - key));
  }
  return make_section("similarity.gradient", {"B31"},
                      {same("d(q·k)/dq and k", dot_error), same("scaled: and k / √d", scaled_error),
                       same("cosine: the gradient along q, and 0", cosine_error),
                       same("-d log p_j / dq, and Σ_k p_k k_k - k_j", pulled)});
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
