// Parts along one axis; slice and pad are each other's backward.
//   slice:  y = the part of x from `start` on, as long as `length`
//           dx = dy at `start`, zeros around it
//   pad:    y = x at `start` of an axis of `size`, zeros around it
//           dx = the part of dy where x stands
//   split:  slices of equal length

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

constexpr int64_t kMaxPieces = 1 << 20;  // each is a tensor, also where it holds nothing

class Slice final : public Superposition, public HasAttributes {
 public:
  Slice(int axis, int64_t start, int64_t length) : axis_(axis), start_(start), length_(length) {}
  std::string_view name() const override { return "slice"; }
  std::vector<Attribute> attributes() const override {
    return {{"axis", axis_}, {"start", start_}};
  }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape().with(axis_, length_), x[0].dtype());
    kernels::slice(x[0], axis_, start_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {pad(dy, axis_, start_, saved.shape(0)[axis_])};
  }

 private:
  int axis_;
  int64_t start_, length_;
};

class Pad final : public Superposition, public HasAttributes {
 public:
  Pad(int axis, int64_t start, const Shape& shape) : axis_(axis), start_(start), shape_(shape) {}
  std::string_view name() const override { return "pad"; }
  std::vector<Attribute> attributes() const override {
    return {{"axis", axis_}, {"start", start_}};
  }

  Array forward(const Inputs& x) override {
    Array y(shape_, x[0].dtype());
    kernels::zero(y);
    kernels::place(x[0], axis_, start_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {slice(dy, axis_, start_, saved.shape(0)[axis_])};
  }

 private:
  int axis_;
  int64_t start_;
  Shape shape_;
};

}  // namespace

Tensor slice(const Tensor& x, int axis, int64_t start, int64_t length) {
  axis = check_axis("slice", {"x", x}, axis);
  const int64_t size = x.dim(axis);
  if (start < 0 || length < 0 || length > size || start > size - length) {
    fail(absl::StrCat("slice: ", length, " elements from ", start, " on do not lie in axis ", axis,
                      " of ", describe({{"x", x}}), ", which has ", size));
  }
  return length == size ? x : apply<Slice>({x}, axis, start, length);
}

Tensor pad(const Tensor& x, int axis, int64_t start, int64_t size) {
  axis = check_axis("pad", {"x", x}, axis);
  const int64_t length = x.dim(axis);
  if (start < 0 || size < length || start > size - length) {
    fail(absl::StrCat("pad: axis ", axis, " of ", describe({{"x", x}}), " has ", length,
                      " elements, which from ", start, " on do not lie in a size of ", size));
  }
  return length == size ? x : apply<Pad>({x}, axis, start, x.shape().with(axis, size, "pad"));
}

std::vector<Tensor> split(const Tensor& x, int axis, int64_t pieces) {
  axis = check_axis("split", {"x", x}, axis);
  const int64_t size = x.dim(axis);
  if (pieces > kMaxPieces) {
    fail(absl::StrCat("split: ", pieces, " pieces of ", describe({{"x", x}}),
                      " are above the limit of ", kMaxPieces));
  }
  if (pieces < 1 || size % pieces != 0) {
    fail(absl::StrCat("split: axis ", axis, " of ", describe({{"x", x}}), " has ", size,
                      " elements, which do not make ", pieces, " equal pieces"));
  }
  const int64_t length = size / pieces;
  std::vector<Tensor> result;
  for (int64_t i = 0; i < pieces; ++i) result.push_back(slice(x, axis, i * length, length));
  return result;
}

OpExamples slice_examples() {
  const auto f = [](int axis, int64_t start, int64_t length) {
    return [=](std::span<const Tensor> x) { return slice(x[0], axis, start, length); };
  };
  const ExampleInput input = {Fill::kNormal, {3, 4, 2}};
  return {
      .op = "slice",
      .examples = {{"the middle", {input}, f(1, 1, 2)},
                   {"the last row", {input}, f(0, 2, 1)},
                   {"the first of the inner axis", {input}, f(-1, 0, 1)},
                   {"all", {input}, f(1, 0, 4)}},
      .errors = {{"beyond the end",
                  [] {
                    slice(zeros({2, 3}), 1, 2, 2);
                  },
                  "slice: 2 elements from 2 on do not lie in axis 1 of x f32[2, 3], which has 3"},
                 {"before the start",
                  [] {
                    slice(zeros({2, 3}), 0, -1, 1);
                  },
                  "slice: 1 elements from -1 on do not lie in axis 0 of x f32[2, 3], which has 2"},
                 {"no such axis",
                  [] {
                    slice(zeros({2, 3}), 2, 0, 1);
                  },
                  "slice: there is no axis 2 in x f32[2, 3]"}},
  };
}

OpExamples pad_examples() {
  const auto f = [](int axis, int64_t start, int64_t size) {
    return [=](std::span<const Tensor> x) { return pad(x[0], axis, start, size); };
  };
  const ExampleInput input = {Fill::kNormal, {2, 3}};
  return {
      .op = "pad",
      .examples = {{"both sides", {input}, f(1, 1, 6)},
                   {"rows below", {input}, f(0, 0, 4)},
                   {"nothing", {input}, f(0, 0, 2)}},
      .errors = {{"too small a size",
                  [] {
                    pad(zeros({2, 3}), 1, 1, 3);
                  },
                  "pad: axis 1 of x f32[2, 3] has 3 elements, which from 1 on do not lie in a size "
                  "of 3"}},
  };
}

OpExamples split_examples() {
  return {
      .op = "split",
      .examples = {{"columns, used in another order",
                    {{Fill::kNormal, {2, 6}}},
                    [](std::span<const Tensor> x) {
                      const std::vector<Tensor> parts = split(x[0], -1, 3);
                      return concat({parts[2] * parts[0], parts[1]}, 1);
                    }},
                   {"rows, one of them used twice",
                    {{Fill::kNormal, {4, 3}}},
                    [](std::span<const Tensor> x) {
                      const std::vector<Tensor> parts = split(x[0], 0, 2);
                      return parts[0] * parts[1] + parts[0];
                    }}},
      .errors = {{"unequal pieces",
                  [] {
                    split(zeros({2, 6}), 1, 4);
                  },
                  "split: axis 1 of x f32[2, 6] has 6 elements, which do not make 4 equal pieces"},
                 {"no pieces",
                  [] {
                    split(zeros({2, 6}), 1, 0);
                  },
                  "split: axis 1 of x f32[2, 6] has 6 elements, which do not make 0 equal pieces"},
                 {"pieces without end",
                  [] {
                    split(zeros({int64_t{1} << 40, 0}), 0, int64_t{1} << 40);
                  },
                  "split: 1099511627776 pieces of x f32[1099511627776, 0] are above the limit of "
                  "1048576"}},
  };
}

}  // namespace qkv
