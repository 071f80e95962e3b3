// An op of one's own, and the check of its gradient. The backward of this softmax is twice too
// large, which a check of sum(softmax(x)) cannot see: the rows sum to 1 whatever x is.

#include "framework/gradcheck/gradcheck.h"

#include <cstdio>

#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"

namespace {

using qkv::Tensor;

class MySoftmax final : public qkv::Op {
 public:
  std::string_view name() const override { return "my_softmax"; }
  qkv::Saves saves() const override { return qkv::Saves::kOutput; }

  qkv::Array forward(const qkv::Inputs& x) override {
    return qkv::softmax(Tensor(x[0])).array();  // its numbers are right
  }

  std::vector<Tensor> backward(const qkv::Saved& saved, const Tensor& dy) const override {
    const Tensor y = saved.output();
    return {2.0 * y * (dy - sum(y * dy, -1, /*keep_axis=*/true))};  // its gradient is not
  }
};

Tensor my_softmax(const Tensor& x) { return qkv::apply<MySoftmax>({x}); }

}  // namespace

int main() {
  const std::vector<Tensor> x = {
      qkv::constant({2, 3}, {0.5, -1.0, 2.0, 1.5, -0.3, 0.7}, qkv::DType::f64)};
  const auto report_of_sum =
      qkv::gradcheck([](auto in) { return sum(my_softmax(in[0])); }, x, {.names = {"x"}});
  const auto report =
      qkv::gradcheck([](auto in) { return my_softmax(in[0]); }, x, {.names = {"x"}});
  std::printf("sum(my_softmax(x)):\n%s\n", report_of_sum.to_text().c_str());
  std::printf("my_softmax(x):\n%s", report.to_text().c_str());
  return report_of_sum.passed() && !report.passed() ? 0 : 1;
}
