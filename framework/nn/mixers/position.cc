#include "framework/nn/mixers/position.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "framework/ops/ops.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {

Tensor sinusoidal_positions(int64_t length, int64_t d_model, DType dtype) {
  const Shape shape({length, d_model}, "sinusoidal_positions");
  std::vector<double> values;
  values.reserve(static_cast<size_t>(shape.size()));
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t c = 0; c < d_model; ++c) {
      const int64_t pair = c / 2 * 2;  // 2i
      const double exponent = static_cast<double>(pair) / static_cast<double>(d_model);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      values.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return Tensor(Array::of(shape, dtype, values));
}

namespace {

// - m |d| for the distances d = lowest, lowest + 1 …: [H, count]
Tensor alibi(const std::vector<double>& slopes, int64_t lowest, int64_t count, DType dtype) {
  Array bias({std::ssize(slopes), count}, dtype);
  dispatch_floating("alibi", dtype, [&](auto zero) {
    auto* out = bias.mutable_data<decltype(zero)>();
    for (const double slope : slopes) {
      for (int64_t d = lowest; d < lowest + count; ++d) {
        *out++ = static_cast<decltype(zero)>(-slope * static_cast<double>(std::abs(d)));
      }
    }
  });
  return Tensor(bias);
}

std::vector<double> geometric_slopes(int64_t num_heads) {
  std::vector<double> slopes;
  for (int64_t h = 1; h <= num_heads; ++h) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(num_heads)));
  }
  return slopes;
}

}  // namespace

std::vector<double> alibi_slopes(int64_t num_heads, AlibiSlopes form) {
  if (form == AlibiSlopes::kGeometric) return geometric_slopes(num_heads);
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(num_heads)));
  std::vector<double> slopes = geometric_slopes(power);
  const std::vector<double> between = geometric_slopes(2 * power);
  for (size_t i = 0; std::ssize(slopes) < num_heads; i += 2) slopes.push_back(between[i]);
  return slopes;
}

AttentionPosition::AttentionPosition(Initializer& init, Position position_kind, int64_t num_heads,
                                     int64_t max_length, bool both)
    : kind(position_kind), both_sides(both) {
  if (kind != Position::kRelative) return;
  distance_bias = init.zeros({both ? 2 * max_length - 1 : max_length, num_heads});
}

Tensor AttentionPosition::turned(const Tensor& x, int64_t first_position) const {
  return rotary(x, first_position, rotary_base);
}

Tensor AttentionPosition::bias(int64_t num_heads, int64_t first_query, int64_t queries,
                               int64_t keys, DType dtype) const {
  const int64_t lowest = first_query - (keys - 1);  // of the distances p - j
  const int64_t count = distance_count(queries, keys);
  if (kind == Position::kAlibi) {
    return alibi(alibi_slopes(num_heads, slopes), lowest, count, dtype);
  }
  const int64_t rows = distance_bias.dim(0);
  const int64_t at_zero = both_sides ? rows / 2 : 0;  // the row of distance 0
  Array row({count}, DType::i64);
  int64_t* out = row.mutable_data<int64_t>();
  for (int64_t d = lowest; d < lowest + count; ++d) {
    *out++ = std::clamp<int64_t>(d + at_zero, 0, rows - 1);
  }
  return transpose(embedding(distance_bias, Tensor(row)), 0, 1);
}

}  // namespace qkv
