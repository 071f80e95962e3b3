//   concat:  y = the pieces one after the other along `axis`; their other sizes agree
//            dpiece = the part of dy where the piece stands
//   stack:   concat along a new axis, of size 1 in each piece

#include "absl/strings/str_join.h"
#include "framework/core/wide.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Concat final : public Superposition, public HasAttributes {
 public:
  Concat(int axis, const Shape& shape) : axis_(axis), shape_(shape) {}
  std::string_view name() const override { return "concat"; }
  std::vector<Attribute> attributes() const override { return {{"axis", axis_}}; }

  Array forward(const Inputs& x) override {
    Array y(shape_, x[0].dtype());
    int64_t start = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      kernels::place(x[i], axis_, start, y);
      start += x[i].shape()[axis_];
    }
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    std::vector<Tensor> gradients;
    int64_t start = 0;
    for (size_t i = 0; i < saved.size(); ++i) {
      const int64_t length = saved.shape(i)[axis_];
      gradients.push_back(saved.needs(i) ? slice(dy, axis_, start, length) : Tensor());
      start += length;
    }
    return gradients;
  }

 private:
  int axis_;
  Shape shape_;
};

std::string describe_pieces(const std::vector<Tensor>& pieces) {
  return absl::StrJoin(pieces, ", ", [](std::string* out, const Tensor& piece) {
    absl::StrAppend(out, piece.describe());
  });
}

void check_pieces(const std::string& op, const std::vector<Tensor>& pieces) {
  if (pieces.empty()) fail(absl::StrCat(op, ": needs at least one piece"));
  for (const Tensor& piece : pieces) {
    check_defined(op, {{"a piece", piece}});
    if (wide_dtype(piece.dtype()) == wide_dtype(pieces[0].dtype())) continue;
    fail(absl::StrCat(op, ": dtypes differ: ", describe_pieces(pieces), "; cast one of them"));
  }
}

}  // namespace

Tensor concat(const std::vector<Tensor>& pieces, int axis) {
  check_pieces("concat", pieces);
  axis = check_axis("concat", {"the first piece", pieces[0]}, axis);
  for (const Tensor& piece : pieces) {
    if (piece.rank() == pieces[0].rank() &&
        piece.shape().with(axis, 0) == pieces[0].shape().with(axis, 0)) {
      continue;
    }
    fail(
        absl::StrCat("concat: sizes differ outside of axis ", axis, ": ", describe_pieces(pieces)));
  }
  Shape shape = pieces[0].shape().with(axis, 0);
  for (const Tensor& piece : pieces) {
    shape = shape.with(axis, shape[axis] + piece.dim(axis), "concat");
  }
  return pieces.size() == 1 ? pieces[0] : apply<Concat>(pieces, axis, shape);
}

Tensor stack(const std::vector<Tensor>& pieces, int axis) {
  check_pieces("stack", pieces);
  const Shape& shape = pieces[0].shape();
  const int rank = shape.rank();
  if (axis < -rank - 1 || axis > rank) {
    fail(absl::StrCat("stack: there is no place ", axis, " for an axis in ", pieces[0].describe()));
  }
  const int place = axis < 0 ? axis + rank + 1 : axis;
  const Shape all = shape.inserted(place, static_cast<int64_t>(pieces.size()), "stack");
  std::vector<Tensor> layers;
  for (const Tensor& piece : pieces) {
    if (piece.shape() != shape) {
      fail(absl::StrCat("stack: shapes differ: ", describe_pieces(pieces)));
    }
    layers.push_back(reshape(piece, all.with(place, 1).dims()));
  }
  return concat(layers, place);
}

OpExamples concat_examples() {
  const auto f = [](int axis) {
    return [axis](std::span<const Tensor> x) { return concat({x.begin(), x.end()}, axis); };
  };
  const auto normal = [](Shape shape) { return ExampleInput{Fill::kNormal, shape}; };
  return {
      .op = "concat",
      .examples = {{"rows", {normal({2, 3}), normal({1, 3})}, f(0)},
                   {"columns", {normal({2, 1}), normal({2, 3}), normal({2, 2})}, f(-1)},
                   {"the middle", {normal({2, 1, 2}), normal({2, 2, 2})}, f(1)},
                   {"pieces of one size", {normal({2, 3}), normal({2, 3})}, f(0)},
                   {"one piece", {normal({2, 3})}, f(1)},
                   {"an empty piece", {normal({2, 3}), normal({0, 3})}, f(0)},
                   {"a piece twice",
                    {normal({2, 3})},
                    [](std::span<const Tensor> x) {
                      return concat({x[0], x[0]}, 1);
                    }}},
      .errors = {{"no pieces", [] { concat({}, 0); }, "concat: needs at least one piece"},
                 {"sizes that differ",
                  [] {
                    concat({zeros({2, 3}), zeros({2, 4})}, 0);
                  },
                  "concat: sizes differ outside of axis 0: f32[2, 3], f32[2, 4]"},
                 {"ranks that differ",
                  [] {
                    concat({zeros({2, 3}), zeros({2})}, 0);
                  },
                  "concat: sizes differ outside of axis 0: f32[2, 3], f32[2]"},
                 {"dtypes that differ",
                  [] {
                    concat({zeros({2}), zeros({2}, DType::f64)}, 0);
                  },
                  "concat: dtypes differ: f32[2], f64[2]; cast one of them"},
                 {"scalars",
                  [] {
                    concat({zeros({}), zeros({})}, 0);
                  },
                  "concat: there is no axis 0 in the first piece f32[]"}},
  };
}

OpExamples stack_examples() {
  const auto f = [](int axis) {
    return [axis](std::span<const Tensor> x) { return stack({x.begin(), x.end()}, axis); };
  };
  const ExampleInput input = {Fill::kNormal, {2, 3}};
  return {
      .op = "stack",
      .examples = {{"in front", {input, input}, f(0)},
                   {"in the middle", {input, input, input}, f(1)},
                   {"behind", {input, input}, f(-1)},
                   {"scalars", {{Fill::kNormal, {}}, {Fill::kNormal, {}}}, f(0)}},
      .errors = {{"no pieces", [] { stack({}, 0); }, "stack: needs at least one piece"},
                 {"shapes that differ",
                  [] {
                    stack({zeros({2, 3}), zeros({3})}, 0);
                  },
                  "stack: shapes differ: f32[2, 3], f32[3]"},
                 {"no such axis",
                  [] {
                    stack({zeros({2, 3})}, 3);
                  },
                  "stack: there is no place 3 for an axis in f32[2, 3]"}},
  };
}

}  // namespace qkv
