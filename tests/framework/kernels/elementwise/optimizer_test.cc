
#include "framework/kernels/kernels.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

Array squared(const Array& x) {
  Array y(x.shape(), x.dtype());
  binary(Binary::mul, x, x, y);
  return y;
}

TEST(Optimizer, SgdIsItsFormula) {
  const SgdStep step{
      .learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01, .gradient_scale = 0.5};
  for (const int64_t size : {0, 1, 33, 50001}) {
    const Array g = normal({size}, 1), w = normal({size}, 2), v = normal({size}, 3);
    Array expected_w = w.copy(), expected_v = v.copy();
    for (int64_t i = 0; i < size; ++i) {
      double& wi = expected_w.mutable_data<double>()[i];
      double& vi = expected_v.mutable_data<double>()[i];
      vi = 0.9 * vi + 0.5 * g.data<double>()[i] + 0.01 * wi;
      wi -= 0.1 * vi;
    }
    for (const DType dtype : {DType::f64, DType::f32}) {
      Array weight = as(dtype, w), velocity = as(dtype, v);
      if (dtype == DType::f64) weight = w.copy(), velocity = v.copy();
      sgd(step, as(dtype, g), weight, velocity);
      expect_close(weight, expected_w, dtype == DType::f64 ? 1e-15 : 1e-6);
      expect_close(velocity, expected_v, dtype == DType::f64 ? 1e-15 : 1e-6);
    }
  }
}

TEST(Optimizer, AdamIsItsFormula) {
  for (const AdamStep& step : {AdamStep{1e-2, 0.9, 0.99, 1e-8, 0, 0, 0.1, 0.01, 1},
                               AdamStep{1e-2, 0.9, 0.999, 1e-6, 0.1, 0, 0.5, 0.2, 0.25},
                               AdamStep{1e-2, 0.8, 0.95, 1e-8, 0, 0.1, 0.9, 0.7, 0.5}}) {
    for (const int64_t size : {0, 1, 33, 50001}) {
      const Array g = normal({size}, 1), w = normal({size}, 2), m = normal({size}, 3);
      const Array v = squared(normal({size}, 4));
      Array expected_w = w.copy(), expected_m = m.copy(), expected_v = v.copy();
      for (int64_t i = 0; i < size; ++i) {
        double& wi = expected_w.mutable_data<double>()[i];
        double& mi = expected_m.mutable_data<double>()[i];
        double& vi = expected_v.mutable_data<double>()[i];
        const Float128 gi = step.gradient_scale * g.data<double>()[i] + step.l2 * wi;
        const Float128 m1 = step.beta1 * mi + (1 - step.beta1) * gi;
        const Float128 v1 = step.beta2 * vi + (1 - step.beta2) * gi * gi;
        const Float128 moved = step.learning_rate * (m1 / step.correction1) /
                               (float128::sqrt(v1 / step.correction2) + step.epsilon);
        mi = static_cast<double>(m1);
        vi = static_cast<double>(v1);
        wi = static_cast<double>(wi - step.learning_rate * step.weight_decay * wi - moved);
      }
      for (const DType dtype : {DType::f64, DType::f32}) {
        const double tolerance = dtype == DType::f64 ? 1e-13 : 2e-6;
        Array weight(w.shape(), dtype), first(w.shape(), dtype), second(w.shape(), dtype);
        cast(w, weight);
        cast(m, first);
        cast(v, second);
        adam(step, as(dtype, g), weight, first, second);
        expect_close(weight, expected_w, tolerance);
        expect_close(first, expected_m, tolerance);
        expect_close(second, expected_v, tolerance);
      }
    }
  }
}

TEST(Optimizer, HasTheSameBitsForAnyThreads) {
  const AdamStep step{1e-2, 0.9, 0.99, 1e-8, 0, 0.1, 0.1, 0.01, 0.7};
  const Array g = as(DType::f32, normal({100001}, 1)), w = as(DType::f32, normal({100001}, 2));
  same_bits_for_any_threads([&] {
    Array weight = w.copy(), m = Array::full({100001}, DType::f32, 0), v = m.copy();
    for (int i = 0; i < 3; ++i) adam(step, g, weight, m, v);
    return std::vector<Array>{weight, m, v};
  });
}

}  // namespace
}  // namespace qkv::kernels
