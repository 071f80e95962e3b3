#include "apps/labs/kit.h"
#include "apps/labs/sections.h"

namespace qkv {
namespace {

// What n keys get, times n, where all maps have the deviation `sigma`.
std::vector<double> shares_of(const LabContext& lab, uint64_t seed, int64_t d, double sigma) {
  const RandomStream random(seed);
  const Tensor x = random_normal(random, "x", {lab.integer("tokens"), d});
  const Tensor q = matmul(x, random_normal(random, "W_q", {d, d}) * sigma);
  const Tensor k = matmul(x, random_normal(random, "W_k", {d, d}) * sigma);
  const double factor = 1 / std::sqrt(static_cast<double>(d));
  const Tensor weights = softmax(products_of_rows(q, k) * factor);
  return (weights * static_cast<double>(x.dim(0))).to_vector();
}

// The keys of one query, the largest first.
Series sorted_shares(const LabContext& lab, const Text& name, Samples shares) {
  shares.resize(static_cast<size_t>(lab.integer("tokens")));
  std::ranges::sort(shares, std::greater());
  return numbered_series(name, shares);
}

}  // namespace

Section share_section(const LabContext& lab) {
  LineChart chart = line_chart(say("What one query gives each key, times n, first seed"),
                               say("keys, by their shares"), log_axis("n p"));
  chart.levels = {{say("equal shares"), 1}};
  Section section = make_section("influence.share");
  for (const int64_t d : lab.integers("widths")) {
    const double small = 0.02, large = 1 / std::sqrt(static_cast<double>(d));
    const double s = small * small * static_cast<double>(d);
    const auto shares_by = [&](double sigma) {
      return over_seeds(lab, [&](uint64_t seed) { return shares_of(lab, seed, d, sigma); });
    };
    // In its control the small maps are as large as the others.
    const auto of_small = shares_by(lab.breaks("large") ? large : small);
    section.add(near(say("deviation of n p, σ = 0.02, d = {0}", d), std::sqrt(std::exp(s * s) - 1),
                     values_of(of_small, deviation_of), 0.1));
    section.add(
        below(say("largest n p, σ = {0}, d = {1}", small, d), 2, values_of(of_small, most_of)));
    const auto of_large = shares_by(large);
    const Finding by_large = beyond(
        below(say("largest n p, σ = {0}, d = {1}", "1 / √d", d), 2, values_of(of_large, most_of)));
    section.add(d == lab.integers("widths").back() ? named("large", by_large) : by_large);
    for (const auto& [sigma, all] : {std::pair("0.02", of_small), std::pair("1 / √d", of_large)}) {
      chart.series.push_back(sorted_shares(lab, say("σ = {0}, d = {1}", sigma, d), all[0]));
    }
  }
  section.show(chart);
  return section;
}

}  // namespace qkv
