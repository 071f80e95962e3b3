// An op of your own, and the check of its gradient. The backward of the first softmax is twice too
// large, which a check of sum(softmax(x)) cannot see: the rows sum to 1 whatever x is. That of the
// second has not even the shape of x. The third one is right.
//
// gradcheck FILE: writes the report of the first as FILE.html and FILE.json, too.

#include "framework/gradcheck/gradcheck.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "apps/report/gradcheck/diagnosis.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "framework/graph/node.h"
#include "framework/graph/op.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/saved.h"
#include "framework/ops/ops.h"

namespace {

using qkv::Tensor;

enum class Backward { kTwiceTooLarge, kTransposed, kRight };

class MySoftmax final : public qkv::Op, public qkv::HasTangent {
 public:
  explicit MySoftmax(Backward kind) : kind_(kind) {}
  std::string_view name() const override { return "my_softmax"; }
  qkv::Saves saves() const override { return qkv::Saves::kOutput; }

  qkv::Array forward(const qkv::Inputs& x) override { return qkv::softmax(Tensor(x[0])).array(); }

  std::vector<Tensor> backward(const qkv::Saved& saved, const Tensor& dy) const override {
    const Tensor y = saved.output();
    const Tensor dx = y * (dy - sum(y * dy, -1, /*keep_axis=*/true));
    if (kind_ == Backward::kTwiceTooLarge) return {2.0 * dx};
    if (kind_ == Backward::kTransposed) return {transpose(dx, 0, 1)};
    return {dx};
  }

  // dy = P (dx - P dx), from the definition of softmax: forward mode, which checks backward.
  Tensor tangent(qkv::TensorSpan, const Tensor& y, qkv::TensorSpan dx) override {
    return y * dx[0] - y * sum(y * dx[0], -1, /*keep_axis=*/true);
  }

 private:
  Backward kind_;
};

qkv::GradcheckReport check(const Tensor& x, Backward kind, bool of_sum = false) {
  const auto f = [=](qkv::TensorSpan in) {
    const Tensor y = qkv::apply<MySoftmax>({in[0]}, kind);
    return of_sum ? sum(y) : y;
  };
  return qkv::gradcheck(f, {&x, 1}, {.names = {"x"}, .diagnose = qkv::diagnose});
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

int main(int argc, char** argv) {
  const std::vector<double> numbers = {0.5, -1.0, 2.0, 1.5, -0.3, 0.7};
  const Tensor x = qkv::constant({2, 3}, numbers, qkv::DType::f64);
  const auto of_sum = check(x, Backward::kTwiceTooLarge, /*of_sum=*/true);
  const auto twice = check(x, Backward::kTwiceTooLarge);
  const auto transposed = check(x, Backward::kTransposed);
  qkv::RandomStream random(1);
  const auto right = check(qkv::random_normal({4, 5}, random, qkv::DType::f64), Backward::kRight);

  std::printf("twice too large, the sum:\n%s\n", of_sum.to_text().c_str());
  std::printf("twice too large:\n%s\n", twice.to_text().c_str());
  std::printf("transposed:\n%s\n", transposed.to_text().c_str());
  std::printf("right:\n%s", right.to_text().c_str());
  if (argc > 1) {
    write(std::string(argv[1]) + ".html",
          qkv::gradcheck_html(twice, "my_softmax, twice too large"));
    write(std::string(argv[1]) + ".json", qkv::gradcheck_json(twice));
  }
  return of_sum.passed() && !twice.passed() && !transposed.passed() && right.passed() ? 0 : 1;
}
