#pragma once

#include <functional>
#include <span>
#include <vector>

#include "framework/ops/ops.h"

namespace qkv {

// Functions one element or output of which is small beside the others, or beside a constant.
struct HiddenCase {
  const char* name;
  std::function<Tensor(const Tensor& x)> f;
  std::vector<double> at;
};

inline Tensor part(const Tensor& x, int64_t i) { return slice(x, 0, i, 1); }

inline std::vector<HiddenCase> hidden_cases(std::span<const double> sizes) {
  std::vector<HiddenCase> cases;
  for (const double size : sizes) {
    cases.push_back({"a constant", [=](const Tensor& x) { return x * x + size; }, {0.7, 1.3}});
    cases.push_back(
        {"a constant in a sum", [=](const Tensor& x) { return sum(x * x) + size; }, {0.7, 1.3}});
    cases.push_back({"a large element", [](const Tensor& x) { return sum(x * x); }, {0.7, size}});
    cases.push_back({"a large term",
                     [=](const Tensor& x) { return size * part(x, 1) + exp(part(x, 0)); },
                     {0.7, 1.3}});
    cases.push_back({"a large output",
                     [=](const Tensor& x) {
                       return concat({size * part(x, 1) + exp(part(x, 0)), part(x, 1)}, 0);
                     },
                     {0.7, 1.3}});
  }
  return cases;
}

}  // namespace qkv
