#include "apps/check/mutation/example_results.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/autograd/backward.h"
#include "framework/gradcheck/probe.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

std::optional<std::string> difference(const NamedResult& narrow, const NamedResult& wide,
                                      const Tolerance& tolerance) {
  const std::vector<double> a = narrow.value.to_vector(), b = wide.value.to_vector();
  if (a.size() != b.size()) return absl::StrCat(narrow.name, ": another shape");
  for (size_t i = 0; i < a.size(); ++i) {
    const double allowed =
        tolerance.absolute + tolerance.relative * std::max(std::abs(a[i]), std::abs(b[i]));
    if (std::abs(a[i] - b[i]) <= allowed) continue;  // not for a NaN
    return absl::StrFormat("%s, element %d: %.8g in f32, %.8g in f64, tolerance %.1e", narrow.name,
                           i, a[i], b[i], allowed);
  }
  return std::nullopt;
}

}  // namespace

std::vector<NamedResult> results_of(const OpExample& example, const std::vector<Tensor>& inputs,
                                    uint64_t seed) {
  const Tensor y = example.f(inputs);
  std::vector<NamedResult> results = {{"the result", y}};
  if (!y.requires_grad()) return results;
  const Tensor cotangent = random_like(y, RandomStream(seed).derive("cotangent"));
  const Gradients g = backward(y, {.cotangent = cotangent});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (g.contains(inputs[i])) results.push_back({absl::StrCat("gradient ", i), g[inputs[i]]});
  }
  return results;
}

std::optional<std::string> wrong_in_f32(const OpExample& example, uint64_t seed) {
  const std::vector<Tensor> narrow = make_inputs(example, DType::f32, RandomStream(seed));
  std::vector<Tensor> wide;  // the same numbers
  for (const Tensor& x : narrow) {
    const bool floating = is_floating(x.dtype());
    wide.push_back(floating ? parameter(cast(x.detached(), DType::f64).array()) : x);
  }
  const auto in_f32 = results_of(example, narrow, seed), in_f64 = results_of(example, wide, seed);
  if (in_f32.size() != in_f64.size()) return "f32 and f64 give gradients to different inputs";
  for (size_t i = 0; i < in_f32.size(); ++i) {
    if (auto wrong = difference(in_f32[i], in_f64[i], tolerance_of(DType::f32))) return wrong;
  }
  return std::nullopt;
}

}  // namespace qkv
