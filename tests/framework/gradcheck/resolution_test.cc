// Functions whose values are coarser than the numbers that hold them: what is right does not fail,
// and what is wrong does not pass where it cannot be seen.

#include <gtest/gtest.h>

#include <numbers>
#include <vector>

#include "tests/framework/gradcheck/scalar_function.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

std::vector<double> random_point(int64_t size, uint64_t seed) {
  RandomStream random(seed);
  std::vector<double> at;
  for (int64_t i = 0; i < size; ++i) at.push_back(0.2 + 1.6 * random.uniform());
  return at;
}

// Ops of one's own that compute in another type, which nobody sees.
struct Own {
  const char* name;
  Scalars f, derivative;
};

Float128 sigmoid_of(Float128 x) { return 1 / (1 + float128::exp(-x)); }

const Own kOwn[] = {
    {"2 x", [](Float128 x) { return 2 * x; }, [](Float128) { return 2; }},
    {"x²", [](Float128 x) { return x * x; }, [](Float128 x) { return 2 * x; }},
    {"exp", [](Float128 x) { return float128::exp(x); },
     [](Float128 x) { return float128::exp(x); }},
    {"sin", [](Float128 x) { return float128::sin(x); },
     [](Float128 x) { return float128::sin(x + std::numbers::pi / 2); }},
    {"sigmoid", sigmoid_of, [](Float128 x) { return sigmoid_of(x) * (1 - sigmoid_of(x)); }},
    {"x + 1000", [](Float128 x) { return x + 1000; }, [](Float128) { return 1; }},
    {"x + 1e9", [](Float128 x) { return x + 1e9; }, [](Float128) { return 1; }},
};

Float128 in_float(Float128 x) { return static_cast<float>(x); }

GradcheckReport check_own(const Own& own, double mistake, uint64_t seed, double after = 1.0) {
  const Tensor x = leaf({3}, random_point(3, seed));
  const Scalars f = [&](Float128 at) { return after * in_float(own.f(in_float(at))); };
  const Scalars derivative = [&](Float128 at) {
    return after * mistake * in_float(own.derivative(in_float(at)));
  };
  return check_scalars(x, f, derivative, true, seed);
}

TEST(ResolutionTest, OpsOfOnesOwnInF32DoNotFail) {
  int passed = 0, all = 0;
  for (const Own& own : kOwn) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      for (const double after : {1.0, 0.3}) {  // then the values are no numbers of f32
        const GradcheckReport report = check_own(own, 1.0, seed, after);
        EXPECT_NE(report.verdict(), Verdict::kFail) << own.name << ", seed " << seed << "\n"
                                                    << report.to_text();
        if (after == 1.0 && own.f(0) < 100) ++all, passed += report.passed() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(passed, all * 7 / 10);
}

TEST(ResolutionTest, MistakesOfOpsOfOnesOwnInF32DoNotPass) {
  int failed = 0, all = 0;
  for (const Own& own : kOwn) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      for (const double mistake : {1.01, -1.0, 0.0}) {
        const GradcheckReport report = check_own(own, mistake, seed);
        EXPECT_NE(report.verdict(), Verdict::kPass) << own.name << ", seed " << seed << "\n"
                                                    << report.to_text();
        ++all, failed += report.verdict() == Verdict::kFail ? 1 : 0;
      }
    }
  }
  EXPECT_GT(failed, all / 2);
}

}  // namespace
}  // namespace qkv
