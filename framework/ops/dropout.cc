//   y = x / (1 - p) where mask, else 0        mask: each true with probability 1 - p
//   dx = dy / (1 - p) where mask, else 0;  ẏ: the same of ẋ
//
// The backward is the same function of dy, and so is the backward of that.
// Srivastava et al., "Dropout", 2014, with the scaling in training.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

// A mask over numbers, and the scale of those that stay: all but how the mask comes to be.
class Masking : public Superposition, public HasAttributes, public HasKept {
 public:
  explicit Masking(double p, const Array& mask = Array()) : p_(p), mask_(mask) {}
  std::vector<Attribute> attributes() const override { return {{"mask", mask_}, {"p", p_}}; }
  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override;
  std::vector<Kept> kept() override { return {{"mask", &mask_}}; }

 protected:
  double p_;
  Array mask_;
};

class KeepByMask final : public Masking {
 public:
  using Masking::Masking;
  std::string_view name() const override { return "dropout_backward"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::dropout_backward(mask_, p_, x[0], y);
    return y;
  }
};

std::vector<Tensor> Masking::backward(const Saved&, const Tensor& dy) const {
  return {apply<KeepByMask>({dy}, p_, mask_)};
}

class Dropout final : public Masking {
 public:
  Dropout(double p, const RandomStream& stream) : Masking(p), stream_(stream) {}
  std::string_view name() const override { return "dropout"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    mask_ = Array(x[0].shape(), DType::boolean);
    kernels::dropout(stream_, p_, x[0], y, mask_);
    return y;
  }

 private:
  RandomStream stream_;
};

}  // namespace

Tensor dropout(const Tensor& x, double p, const RandomStream& stream) {
  check_floating("dropout", {"x", x});
  check_dropout("dropout", p, {"x", x});
  return p == 0.0 ? x : apply<Dropout>({x}, p, stream);
}

OpExamples dropout_examples() {
  const auto f = [](double p) {
    return [p](std::span<const Tensor> x) { return dropout(x[0], p, RandomStream(7)); };
  };
  return {
      .op = "dropout",
      .examples = {{"a half", {{Fill::kNormal, {4, 5}}}, f(0.5)},
                   {"a tenth", {{Fill::kNormal, {4, 5}}}, f(0.1)},
                   {"none", {{Fill::kNormal, {3}}}, f(0.0)}},
      .errors = {{"everything", [] { dropout(zeros({2}), 1.0, RandomStream(7)); },
                  "dropout: p must be at least 0 and below 1, not 1: x f32[2]"},
                 {"a negative part", [] { dropout(zeros({2}), -0.1, RandomStream(7)); },
                  "dropout: p must be at least 0 and below 1, not -0.1: x f32[2]"}},
  };
}

}  // namespace qkv
