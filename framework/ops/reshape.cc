//   y = the numbers of x, in order, in another shape; x and y share storage
//   dx = dy in x's shape

#include "absl/strings/str_join.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Reshape final : public Superposition {
 public:
  explicit Reshape(const Shape& shape) : shape_(shape) {}
  std::string_view name() const override { return "reshape"; }

  Array forward(const Inputs& x) override { return x[0].reshaped(shape_); }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {reshape(dy, saved.shape(0).dims())};
  }

 private:
  Shape shape_;
};

// The sizes with their -1 replaced by the inferred size.
Shape complete(const Tensor& x, std::span<const int64_t> sizes) {
  const auto all = [&] {
    const bool are_too_many = std::ssize(sizes) > Shape::kMaxRank + 1;
    const auto shown = are_too_many ? sizes.first(Shape::kMaxRank) : sizes;
    return absl::StrCat(describe({{"x", x}}), " to [", absl::StrJoin(shown, ", "),
                        are_too_many ? ", …]" : "]");
  };
  std::vector<int64_t> dims(sizes.begin(), sizes.end());
  int64_t* unknown = nullptr;
  for (int64_t& dim : dims) {
    if (dim != -1) continue;
    if (unknown) fail(absl::StrCat("reshape: more than one -1: ", all()));
    unknown = &dim;
    dim = 1;
  }
  const std::string mistake = Shape::mistake_in(dims);
  if (!mistake.empty()) fail(absl::StrCat("reshape: ", mistake, ": ", all()));
  const int64_t known = Shape(dims).size();
  if (unknown) {
    if (known == 0 || x.size() % known != 0) {
      fail(absl::StrCat("reshape: no size fits the -1: ", all(), ": ", x.size(),
                        " elements in groups of ", known));
    }
    *unknown = x.size() / known;
  } else if (known != x.size()) {
    fail(absl::StrCat("reshape: sizes differ: ", all(), ": ", x.size(), " and ", known,
                      " elements"));
  }
  return Shape(dims, "reshape");
}

}  // namespace

Tensor reshape(const Tensor& x, std::span<const int64_t> sizes) {
  check_defined("reshape", {{"x", x}});
  const Shape shape = complete(x, sizes);
  if (shape == x.shape()) return x;
  if (!records({x}) && !Middleware::any_watches()) return Tensor(x.array().reshaped(shape));
  return apply<Reshape>({x}, shape);
}

Tensor reshape(const Tensor& x, std::initializer_list<int64_t> sizes) {
  return reshape(x, std::span<const int64_t>(sizes.begin(), sizes.size()));
}

Tensor reshape(const Tensor& x, const Shape& shape) { return reshape(x, shape.dims()); }

OpExamples reshape_examples() {
  const ExampleInput input = {Fill::kNormal, {2, 3, 4}};
  return {
      .op = "reshape",
      .examples = {{"split an axis",
                    {input},
                    [](std::span<const Tensor> x) {
                      return reshape(x[0], {2, 3, 2, 2});
                    }},
                   {"an inferred size",
                    {input},
                    [](std::span<const Tensor> x) {
                      return reshape(x[0], {6, -1});
                    }},
                   {"to the same shape",
                    {input},
                    [](std::span<const Tensor> x) {
                      return reshape(x[0], {2, -1, 4});
                    }}},
      .errors =
          {{"sizes that differ",
            [] {
              reshape(zeros({2, 3}), {4});
            },
            "reshape: sizes differ: x f32[2, 3] to [4]: 6 and 4 elements"},
           {"nothing left",
            [] {
              reshape(zeros({2, 3}), {4, -1});
            },
            "reshape: no size fits the -1: x f32[2, 3] to [4, -1]: 6 elements in groups of 4"},
           {"two sizes left",
            [] {
              reshape(zeros({2, 3}), {-1, -1});
            },
            "reshape: more than one -1: x f32[2, 3] to [-1, -1]"},
           {"a negative size",
            [] {
              reshape(zeros({2, 3}), {-6});
            },
            "reshape: size -6 is negative: x f32[2, 3] to [-6]"}},
  };
}

}  // namespace qkv
