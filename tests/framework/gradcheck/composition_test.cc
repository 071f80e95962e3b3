// Chains of ops that nobody chose, of numbers of any size: what is right passes, and what is wrong
// fails where it stands above the rounding of f.

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/functions.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

struct Link {
  const char* name;
  std::function<Tensor(const Tensor& x, double c)> f;
};

Tensor projected(const Tensor& x, double) {
  const Tensor weight = normal_like(zeros({x.size(), 2}, DType::f64), 3);
  return reshape(matmul(reshape(x, {1, x.size()}), weight), {2});
}

const Link kLinks[] = {
    {"tanh", [](const Tensor& x, double) { return tanh(x); }},
    {"exp", [](const Tensor& x, double) { return exp(x); }},
    {"log(x² + c)", [](const Tensor& x, double c) { return log(x * x + c); }},
    {"sqrt(x² + c)", [](const Tensor& x, double c) { return sqrt(x * x + c); }},
    {"sigmoid", [](const Tensor& x, double) { return sigmoid(x); }},
    {"square", [](const Tensor& x, double) { return x * x; }},
    {"gelu", [](const Tensor& x, double) { return gelu(x); }},
    {"c x", [](const Tensor& x, double c) { return scale(x, c); }},
    {"x + c", [](const Tensor& x, double c) { return x + c; }},
    {"1 / (x² + c)", [](const Tensor& x, double c) { return pow(x * x + c, -1.0); }},
    {"softmax", [](const Tensor& x, double) { return softmax(x); }},
    {"log_softmax", [](const Tensor& x, double) { return log_softmax(x); }},
    {"x sum(x)", [](const Tensor& x, double) { return x * sum(x); }},
    {"sum", [](const Tensor& x, double) { return reshape(sum(x), {1}); }},
    {"matmul", projected},
};

struct Chain {
  std::string name;
  std::vector<std::pair<const Link*, double>> links;
  Tensor x;

  Tensor operator()(const Tensor& input) const {
    Tensor y = input;
    for (const auto& [link, c] : links) y = link->f(y, c);
    return y;
  }
  Subject subject() const { return {name, *this, x.to_vector()}; }
};

// x of 1e-9 … 1e9, c of 1e-6 … 1e6
Chain random_chain(uint64_t seed) {
  RandomStream random(seed);
  const double size = std::pow(10.0, 18.0 * random.uniform() - 9.0);
  std::vector<double> x(3 + random.below(3));
  for (double& number : x) number = size * random.normal() * std::pow(10.0, random.uniform());
  const auto count = static_cast<int64_t>(x.size());
  Chain chain = {.name = absl::StrFormat("x of %.0e", size), .links = {}, .x = leaf({count}, x)};
  for (uint64_t left = 1 + random.below(4); left > 0; --left) {
    const Link& link = kLinks[random.below(std::size(kLinks))];
    const double c = std::pow(10.0, 12.0 * random.uniform() - 6.0);
    chain.links.emplace_back(&link, c);
    absl::StrAppend(&chain.name, absl::StrFormat(", %s with c = %.2g", link.name, c));
  }
  return chain;
}

bool is_usual(const Tensor& x) {
  return std::ranges::all_of(x.to_vector(), [](double v) { return std::abs(v) < 1e100; });
}

struct Derivatives {
  Tensor y, by_x;  // undefined where there are none, or no finite ones
};

Derivatives derivatives_of(const Chain& chain) {
  const Tensor y = chain(chain.x);
  if (!y.requires_grad() || !is_usual(y)) return {};
  const Gradients gradients = backward(y, {.cotangent = normal_like(y, 5), .keep_graph = true});
  const Tensor& by_x = gradients[chain.x];
  return is_usual(by_x) ? Derivatives{y, by_x} : Derivatives{};
}

// What a mistake of that share in one derivative does to f over the size of x, in roundings of f.
double signal_of(const Derivatives& at, const Tensor& x, double share) {
  const std::vector<double> dx = at.by_x.to_vector(), numbers = x.to_vector();
  double effect = 0.0, size = 0.0;
  for (size_t i = 0; i < dx.size(); ++i) effect = std::max(effect, std::abs(dx[i] * numbers[i]));
  for (const double y : at.y.to_vector()) size += std::abs(y);
  return share * effect / (0x1p-53 * size);
}

// Where rounding hides a derivative from differences, forward mode tells it, but for those of far
// less than 1e-30 of f over x that the backward itself rounds to zero.
TEST(CompositionTest, WhatIsRightPasses) {
  int looked_at = 0, undecided = 0;
  const uint64_t seeds = 100 * false_alarm_seeds(10);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Chain chain = random_chain(seed);
    if (!derivatives_of(chain).y.defined()) continue;
    ++looked_at;
    const int order = seed % 4 == 0 ? 2 : 1;
    const GradcheckReport report = check(chain.subject(), {.order = order, .seed = seed});
    EXPECT_NE(report.verdict(), Verdict::kFail) << seed << ": " << chain.name << "\n"
                                                << report.to_text();
    undecided += report.verdict() == Verdict::kUndecided ? 1 : 0;
  }
  EXPECT_GT(looked_at, seeds / 2);
  EXPECT_LE(undecided, looked_at / 80);
}

TEST(CompositionTest, WhatIsWrongFails) {
  constexpr double kClear = 1e6;
  int looked_at = 0;
  const uint64_t seeds = 50 * false_alarm_seeds(10);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Chain chain = random_chain(seed);
    const Derivatives at = derivatives_of(chain);
    if (!at.y.defined()) continue;
    for (const double factor : {1.001, -1.0, 0.0}) {
      if (!(signal_of(at, chain.x, std::abs(factor - 1.0)) > kClear)) continue;
      ++looked_at;
      const GradcheckReport report = check_spoilt(
          chain.subject(), [&](const Tensor&, const Tensor& dy) { return scale(dy, factor); },
          {.seed = seed});
      EXPECT_EQ(report.verdict(), Verdict::kFail)
          << seed << ": " << factor << " times the gradient of " << chain.name << "\n"
          << report.to_text();
    }
  }
  EXPECT_GT(looked_at, seeds / 2);
}

}  // namespace
}  // namespace qkv
