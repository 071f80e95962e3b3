//   y = x in another number type
//   dx = dy in x's number type         between floating types; masks and indices have no gradient

#include "framework/core/wide.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Cast final : public Superposition {
 public:
  Cast(DType from, DType to) : from_(from), to_(to) {}
  std::string_view name() const override { return "cast"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), to_);
    kernels::cast(x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dy) const override {
    return {cast(dy, from_)};
  }

 private:
  DType from_, to_;
};

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  check_defined("cast", {{"x", x}});
  dtype = wide_dtype(dtype);
  if (wide_dtype(x.dtype()) == dtype) return x;
  if (x.dtype() == DType::f128) WideRun::note_narrowing("cast");
  if (is_floating(x.dtype()) && !is_floating(dtype)) {
    fail(absl::StrCat("cast: no gradient flows to ", std::string(dtype_name(dtype)), ": ",
                      describe({{"x", x}})));
  }
  return apply<Cast>({x}, x.dtype(), dtype);
}

OpExamples cast_examples() {
  return {
      .op = "cast",
      .examples = {{"to f64",
                    {{Fill::kNormal, {3, 4}}},
                    [](std::span<const Tensor> x) { return cast(x[0] * x[0], DType::f64); }},
                   {"a mask",
                    {{Fill::kMask, {3, 4}}, {Fill::kNormal, {3, 4}}},
                    [](std::span<const Tensor> x) { return cast(x[0], x[1].dtype()) * x[1]; }},
                   {"indices",
                    {{Fill::kIndices, {3}, 5}, {Fill::kNormal, {3}}},
                    [](std::span<const Tensor> x) { return cast(x[0], x[1].dtype()) * x[1]; }}},
      .errors = {{"numbers to indices", [] { cast(zeros({2}), DType::i64); },
                  "cast: no gradient flows to i64: x f32[2]"}},
  };
}

}  // namespace qkv
