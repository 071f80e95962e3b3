//   y[2i]     = x[2i] cos(p w_i) - x[2i + 1] sin(p w_i)      x, y, dy: [B, T, H, D], D even
//   y[2i + 1] = x[2i] sin(p w_i) + x[2i + 1] cos(p w_i)      p = first_position + t
//                                                            w_i = base^(-2i / D)
//   dx: the same of dy, by -p w_i;  ẏ: the same of ẋ
//
// A query at p and a key at r, both turned, have the product that they would have if the query
// alone were turned by p - r: scores know the distance. Su et al., "RoFormer", 2021.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Rotary final : public Superposition, public HasAttributes {
 public:
  Rotary(int64_t first_position, double base, bool back)
      : first_position_(first_position), base_(base), back_(back) {}
  std::string_view name() const override { return back_ ? "rotary_backward" : "rotary"; }
  std::vector<Attribute> attributes() const override {
    return {{"first_position", first_position_}, {"base", base_}};
  }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::rotate_pairs(x[0], first_position_, base_, back_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return {apply<Rotary>({dy}, first_position_, base_, !back_)};
  }

 private:
  int64_t first_position_;
  double base_;
  bool back_;
};

}  // namespace

Tensor rotary(const Tensor& x, int64_t first_position, double base) {
  check_floating_or_bf16("rotary", {"x", x});
  if (x.rank() != 4 || x.dim(3) % 2 != 0) {
    fail(absl::StrCat("rotary: needs [B, T, H, D] with an even D: ", describe({{"x", x}})));
  }
  return apply<Rotary>({x}, first_position, base, false);
}

OpExamples rotary_examples() {
  const auto f = [](int64_t first_position, double base = 10000.0) {
    return [=](std::span<const Tensor> x) { return rotary(x[0], first_position, base); };
  };
  return {
      .op = "rotary",
      .examples = {{"two heads", {{Fill::kNormal, {2, 3, 2, 4}}}, f(0)},
                   {"further on", {{Fill::kNormal, {1, 3, 1, 6}}}, f(5)},
                   {"another base", {{Fill::kNormal, {1, 3, 1, 6}}}, f(5, 100.0)}},
      .errors = {{"an odd width",
                  [] {
                    rotary(zeros({1, 2, 1, 3}), 0);
                  },
                  "rotary: needs [B, T, H, D] with an even D: x f32[1, 2, 1, 3]"},
                 {"a matrix",
                  [] {
                    rotary(zeros({2, 4}), 0);
                  },
                  "rotary: needs [B, T, H, D] with an even D: x f32[2, 4]"}},
  };
}

}  // namespace qkv
