// Arithmetic on bf16 arrays: that on their numbers as f32, rounded once.

#include <bit>
#include <cstdint>
#include <vector>

#include "framework/kernels/attention/fused_attention.h"
#include "framework/kernels/elementwise/vector.h"
#include "framework/kernels/kernels.h"
#include "tests/framework/kernels/testing.h"

namespace qkv::kernels {
namespace {

Array narrow_normal(const Shape& shape, uint64_t seed) {
  return as(DType::bf16, normal(shape, seed));
}
Array wide(const Array& x) { return as(DType::f32, x); }

void expect_rounded(const Array& actual, const Array& in_f32) {
  EXPECT_EQ(actual.dtype(), DType::bf16);
  EXPECT_TRUE(bits(actual) == bits(as(DType::bf16, in_f32)));
}

TEST(Bf16, VectorsAreWidenedAndRoundedAsSingleNumbers) {
  constexpr int64_t n = kVectorLength<float>;
  float x[n];
  BFloat16 rounded[n];
  for (uint64_t word = 0; word < uint64_t{1} << 32; word += 65'521) {  // NaNs are among them
    for (int64_t i = 0; i < n; ++i) {
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(word) + static_cast<uint32_t>(i));
    }
    store_vector(rounded, vector_at(x));
    const Vector<float> again = load_vector(rounded);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(rounded[i].bits, BFloat16(x[i]).bits) << x[i];
      ASSERT_EQ(std::bit_cast<uint32_t>(float{again[i]}),
                std::bit_cast<uint32_t>(static_cast<float>(rounded[i])));
    }
  }
}

TEST(Bf16, FunctionsOfOneAndTwoNumbers) {
  for (const int64_t size : {0, 1, 7, 64, 1001}) {
    const Array a = narrow_normal({size}, 1), b = narrow_normal({size}, 2);
    Array y(a.shape(), DType::bf16), y32(a.shape(), DType::f32);
    for (const Unary f : {Unary::relu, Unary::gelu_erf, Unary::gelu_tanh, Unary::silu}) {
      unary(f, a, y);
      unary(f, wide(a), y32);
      expect_rounded(y, y32);
      unary_backward(f, a, b, y);
      unary_backward(f, wide(a), wide(b), y32);
      expect_rounded(y, y32);
    }
    for (const Binary f : {Binary::add, Binary::mul}) {
      binary(f, a, b, y);
      binary(f, wide(a), wide(b), y32);
      expect_rounded(y, y32);
    }
  }
}

TEST(Bf16, SumsAreF32) {
  for (const Shape& sizes :
       {Shape{1, 3000, 1}, Shape{3, 40, 1}, Shape{1, 100, 33}, Shape{2, 9, 300}, Shape{2, 0, 3}}) {
    SCOPED_TRACE(sizes.to_string());
    const Array x = narrow_normal(sizes, 1);
    Array y({sizes[0] * sizes[2]}, DType::f32), expected(y.shape(), DType::f32);
    sum(x, sizes[0], sizes[1], sizes[2], y);
    sum(wide(x), sizes[0], sizes[1], sizes[2], expected);
    EXPECT_TRUE(bits(y) == bits(expected));
  }
}

TEST(Bf16, Attention) {
  struct Case {
    int64_t queries, keys, width;
    bool causal, padded;
  };
  for (const Case& c : {Case{5, 5, 3, true, false}, Case{32, 32, 16, true, false},
                        Case{7, 40, 20, false, true}, Case{300, 300, 32, true, true}}) {
    SCOPED_TRACE(c.width);
    const Shape query_shape{2, c.queries, 3, c.width}, key_shape{2, c.keys, 3, c.width};
    const Array q = narrow_normal(query_shape, 1), k = narrow_normal(key_shape, 2),
                v = narrow_normal(key_shape, 3), dout = narrow_normal(query_shape, 4);
    std::vector<double> hidden(static_cast<size_t>(2 * c.keys), 0.0);
    for (size_t i = 0; i < hidden.size(); i += 3) hidden[i] = 1.0;
    const Array padding = as(DType::boolean, Array::of({2, c.keys}, DType::f64, hidden));
    const AttentionArguments arguments = {
        .rule = {.causal = c.causal, .window = 0, .first_query = c.keys - c.queries},
        .padding = c.padded ? &padding : nullptr,
        .scale = 0.3};

    Array out(query_shape, DType::bf16), out32(query_shape, DType::f32);
    Array lse({2, 3, c.queries}, DType::f32), lse32(lse.shape(), DType::f32);
    attention(q, k, v, arguments, out, lse);
    attention(wide(q), wide(k), wide(v), arguments, out32, lse32);
    expect_rounded(out, out32);
    EXPECT_TRUE(bits(lse) == bits(lse32));

    Array dq(query_shape, DType::bf16), dk(key_shape, DType::bf16), dv(key_shape, DType::bf16);
    Array dq32(query_shape, DType::f32), dk32(key_shape, DType::f32), dv32(key_shape, DType::f32);
    attention_backward(q, k, v, arguments, out, lse, dout, {dq, dk, dv});
    attention_backward(wide(q), wide(k), wide(v), arguments, wide(out), lse, wide(dout),
                       {dq32, dk32, dv32});
    expect_rounded(dq, dq32);
    expect_rounded(dk, dk32);
    expect_rounded(dv, dv32);
  }
}

}  // namespace
}  // namespace qkv::kernels
