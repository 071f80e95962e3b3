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

// By the sides of the triangle of the unit vectors u and v: 2 atan(|u - v| / |u + v|)  (Kahan 2006)
double angle_between(const Tensor& a, const Tensor& b) {
  const Tensor u = unit(a), v = unit(b);
  return 2 * std::atan2(size_of(u - v), size_of(u + v));
}

// f(x) of the words of each seed.
template <class F>
Samples over_words(const LabContext& lab, const F& f) {
  return over_seeds(lab, [&](uint64_t seed) { return f(make_words(lab, seed)); });
}

// The largest of |f(a, b)| over all pairs of words of all seeds.
template <class F>
double largest_over_pairs(const LabContext& lab, const F& f) {
  return most_of(over_words(lab, [&](const Tensor& x) {
    double largest = 0;
    for (int64_t i = 0; i < x.dim(0); ++i) {
      for (int64_t j = 0; j < x.dim(0); ++j) {
        largest = std::max(largest, std::abs(f(row_of(x, i), row_of(x, j))));
      }
    }
    return largest;
  }));
}

Section angle_section(const LabContext& lab) {
  const Similarity product = product_of(lab);
  const auto off_law = [&](const Tensor& a, const Tensor& b) {
    return product(a, b).item() - size_of(a) * size_of(b) * std::cos(angle_between(a, b));
  };
  const auto rest = [&](const Tensor& a, const Tensor& b) {
    const Tensor projection = unit(b) * (product(a, b).item() / size_of(b));
    return dot(a - projection, b).item();
  };
  const Samples of_units = over_words(lab, [&](const Tensor& x) {
    return share_in_order(product(unit(x), unit(x)), cosine(x, x));
  });
  const Samples as_they_are =
      over_words(lab, [&](const Tensor& x) { return share_in_order(product(x, x), cosine(x, x)); });
  const Tensor x = make_words(lab, 1);
  return make_section(
      "similarity.angle",
      {same("x·y and |x| |y| cos(angle)", largest_over_pairs(lab, off_law)),
       same("rest of x beside the projection, times y, and 0", largest_over_pairs(lab, rest)),
       equal("pairs in the order of their angles, all lengths 1", 1, least_of(of_units)),
       beyond(found("pairs in that order, with their own lengths", "1", as_they_are,
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
  const Similarity product = product_of(lab);
  const auto product_with = [&](const char* name, bool is_relative) {
    return over_seeds(lab, [&](uint64_t seed) {
      const Tensor x = make_words(lab, seed);
      const Tensor others = random_normal(RandomStream(seed), name, x.shape());
      const Tensor near_x = (x + others * 0.5) / std::sqrt(1.25);  // variance 1 again
      return mean(sum(x * (is_relative ? near_x : others), -1)).item();
    });
  };
  const Samples of_units = over_words(
      lab, [&](const Tensor& x) { return share_like_themselves(product(unit(x), unit(x))); });
  const Samples as_they_are =
      over_words(lab, [&](const Tensor& x) { return share_like_themselves(product(x, x)); });
  return make_section("similarity.related",
                      {larger("product with a relative, and with a stranger",
                              product_with("noise", true), product_with("others", false)),
                       equal("words most like themselves, all lengths 1", 1, least_of(of_units)),
                       beyond(found("words most like themselves, with their own lengths", "1",
                                    as_they_are, mean_of(as_they_are) == 1))});
}

Section shares_section(const LabContext& lab) {
  Section section = make_section("similarity.shares");
  Table table = {.title = "Shares of n words",
                 .header = {"similarity", "largest share", "pairs as q·k has them"}};
  const double n = static_cast<double>(lab.integer("n"));
  const double bound = std::exp(1) / (std::exp(1) + (n - 1) * std::exp(-1));
  Samples largest_of_cosine;
  for (const Form& form : kForms) {
    Samples ordered, largest, as_dot;
    for (const uint64_t seed : lab.seeds()) {
      const Tensor x = make_words(lab, seed);
      const Tensor samples = random_normal(RandomStream(seed), "samples", x.shape());
      const Tensor similarity = form.similarity(samples, x), shares = softmax(similarity);
      ordered.push_back(share_in_order(shares, similarity));
      largest.push_back(mean(max(shares, -1)).item());
      as_dot.push_back(share_in_order(shares, dot(samples, x)));
      if (form.similarity == cosine) largest_of_cosine.push_back(largest_of(shares));
    }
    if (form.similarity == scaled) {
      section.add(equal("pairs whose order the scale leaves as it is", 1, least_of(as_dot)));
    }
    section.add(equal(absl::StrCat("pairs whose shares are as ", form.name, " has them"), 1,
                      least_of(ordered)));
    table.rows.push_back({form.name, format_samples(largest), format_samples(as_dot)});
  }
  section.add(at_most("largest share by the cosine", bound, most_of(largest_of_cosine)));
  section.show(std::move(table));
  return section;
}

// ds / dq of one pair.
Tensor gradient_of(Similarity similarity, const Tensor& query, const Tensor& key) {
  const Tensor q = as_parameter(query);
  return backward(sum(similarity(q, key)))[q];
}

Section gradient_section(const LabContext& lab) {
  const double root = std::sqrt(static_cast<double>(lab.integer("d")));
  // The largest of |f(q, keys)| over the seeds.
  const auto largest = [&](const auto& f) {
    return most_of(over_seeds(lab, [&](uint64_t seed) {
      const Tensor q = random_normal(RandomStream(seed), "q", {1, lab.integer("d")});
      return largest_of(f(as_parameter(q), make_words(lab, seed)));
    }));
  };
  const auto of_dot = [&](const Tensor& q, const Tensor& keys) {
    return gradient_of(product_of(lab), q, row_of(keys, 0)) - row_of(keys, 0);
  };
  const auto of_scaled = [&](const Tensor& q, const Tensor& keys) {
    return gradient_of(scaled, q, row_of(keys, 0)) - row_of(keys, 0) / root;
  };
  const auto of_cosine = [&](const Tensor& q, const Tensor& keys) {
    return dot(gradient_of(cosine, q, row_of(keys, 0)), q);
  };
  const auto of_log_share = [&](const Tensor& q, const Tensor& keys) {
    const Tensor weights = softmax(dot(q, keys));
    const Tensor back = backward(sum(neg(log(slice(weights, 1, 0, 1)))))[q];
    return back - (matmul(weights, keys) - row_of(keys, 0));
  };
  return make_section(
      "similarity.gradient",
      {same("d(q·k)/dq and k", largest(of_dot)), same("scaled: and k / √d", largest(of_scaled)),
       same("cosine: the gradient along q, and 0", largest(of_cosine)),
       same("-d log p_j / dq, and Σ_k p_k k_k - k_j", largest(of_log_share))});
}

std::vector<Section> run(const LabContext& lab) {
  return {angle_section(lab), related_section(lab), shares_section(lab), gradient_section(lab)};
}

}  // namespace

Lab similarity_lab() { return make_lab("similarity", run); }

}  // namespace qkv
