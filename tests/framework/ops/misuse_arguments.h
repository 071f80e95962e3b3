#pragma once

#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/random.h"
#include "framework/graph/tensor.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"

// What nobody should give an op: tensors that are undefined, empty, of enormous sizes, of the wrong
// type; axes, sizes and numbers without end.
namespace qkv {

using Dims = std::vector<int64_t>;

inline constexpr int64_t kHuge = Shape::kMaxSize;
inline constexpr int64_t kLarge = int64_t{1} << 50;  // of anything, no memory holds it

inline const std::vector<Shape>& strange_shapes() {
  static const std::vector<Shape> all = {{},           {1},          {3},
                                         {0},          {2, 3},       {3, 3},
                                         {2, 0},       {0, 3},       {1, 2, 3},
                                         {3, 0, 2},    {2, 3, 2, 3}, {2, 2, 3, 1},
                                         {kHuge, 0},   {0, kHuge},   {kLarge, 0, 2},
                                         {2, 0, 1, 3}, {0, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1}};
  return all;
}

// Arguments, one after the other.
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[random_.below(choices.size())];
  }
  bool with_probability(double p) { return random_.uniform() < p; }

  // Often like the one before, so that many calls are right.
  Tensor tensor() {
    if (with_probability(0.05)) return Tensor();
    if (!like_ || with_probability(0.5)) {
      like_ = Like{one_of(strange_shapes()), with_probability(0.6) ? DType::f32 : one_of(kTypes)};
    }
    return filled(like_->shape, with_probability(0.95) ? like_->dtype : one_of(kTypes));
  }
  Tensor mask() { return with_probability(0.9) ? filled(near(), DType::boolean) : tensor(); }
  Tensor index() { return with_probability(0.9) ? filled(near(), DType::i64) : tensor(); }
  // As long as an axis of the one before.
  Tensor row() {
    const bool has_row = like_ && like_->shape.rank() > 0 && like_->shape[-1] < kLarge;
    if (!has_row || with_probability(0.2)) return tensor();
    return filled({like_->shape[-1]}, like_->dtype);
  }

  Shape shape() { return one_of(strange_shapes()); }
  Shape near() { return like_ && with_probability(0.7) ? like_->shape : shape(); }
  int axis() { return one_of<int>({0, 0, 1, 1, -1, -1, 2, -2, 7, INT_MAX, INT_MIN}); }
  int64_t size() {
    return one_of<int64_t>({0, 0, 1, 1, 2, 2, 3, 4, 6, -1, kLarge, kHuge, INT64_MAX, INT64_MIN});
  }
  Dims sizes() {
    Dims all(random_.below(12));
    for (int64_t& one : all) one = size();
    return all;
  }
  double number() {
    return one_of<double>({0.0, 0.5, 1.0, 2.0, -1.0, 1e-5, NAN, INFINITY, -INFINITY, 1e308});
  }
  DType dtype() { return one_of(kTypes); }

 private:
  struct Like {
    Shape shape;
    DType dtype;
  };

  Tensor filled(const Shape& shape, DType dtype) {
    Dims whole(static_cast<size_t>(shape.size()));
    std::vector<double> values(whole.size());
    if (dtype == DType::i64) {
      const bool sound = with_probability(0.8);
      for (int64_t& v : whole) v = sound ? one_of<int64_t>({0, 0, 1, 2}) : size();
      return Tensor(Array::of(shape, whole));
    }
    for (double& v : values) v = 0.5 + random_.uniform();
    Array array = Array::of(shape, dtype, values);
    return is_floating(dtype) && with_probability(0.5) ? parameter(array) : Tensor(array);
  }

  inline static const std::vector<DType> kTypes = {DType::f32, DType::f64, DType::bf16, DType::i64,
                                                   DType::boolean};

  RandomStream random_;
  std::optional<Like> like_;
};

// Every gradient has its tensor's shape: the walk sees to that itself.
inline void differentiate(const Tensor& y, bool create_graph) {
  if (!y.requires_grad()) return;
  try {
    backward(y, {.cotangent = ones(y.shape(), y.dtype()), .create_graph = create_graph});
  } catch (const Error& error) {
    FAIL() << "backward: " << error.what();
  } catch (const OutOfMemory&) {
  }
}

// Calls the examples with other tensors in the place of theirs: each gives a tensor, or an error.
inline void call_with_strange_tensors(const OpExamples& op) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed);
    const OpExample& example = draw.one_of(op.examples);
    SCOPED_TRACE(op.op + ", " + example.name + ", " + std::to_string(seed));
    std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(seed));
    draw.one_of<std::reference_wrapper<Tensor>>({inputs.begin(), inputs.end()}).get() =
        draw.tensor();
    try {
      const Tensor y = example.f(inputs);
      ASSERT_TRUE(y.defined());
      differentiate(y, draw.with_probability(0.3));
      continue;
    } catch (const Error&) {
    } catch (const OutOfMemory&) {
    }
    ++refused;
  }
  EXPECT_GT(refused, 20) << op.op;
}

inline Dims dims(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }

}  // namespace qkv
