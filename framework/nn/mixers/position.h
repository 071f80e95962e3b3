#pragma once

#include <vector>

#include "framework/nn/initializer.h"
#include "framework/nn/layer_options.h"
#include "framework/nn/module.h"

namespace qkv {

// The fixed encoding of Vaswani et al. 2017, [length, d_model]:
//   e[t, 2i] = sin(t / 10000^(2i / d_model)),  e[t, 2i + 1] = cos(t / 10000^(2i / d_model))
// Position t + k is a rotation of position t by an angle that depends on k alone.
Tensor sinusoidal_positions(int64_t length, int64_t d_model, DType dtype);

// The slope of each of H heads.
//   geometric     2^(-8 / H), 2^(-16 / H) … 2^-8
//   interpolated  those of N heads, with N the largest power of two up to H, then the 1st, 3rd,
//                 5th … of those of 2 N heads: as the code of Press et al. 2021 has them
std::vector<double> alibi_slopes(int64_t num_heads, AlibiSlopes form);

// Position encodings within attention: they depend on the distance between query and key.
//   rotary     queries and keys are rotated by their positions                Su et al. 2021
//   alibi      - m |p - j| is added to the score of query p and key j; m: alibi_slopes
//                                                                            Press et al. 2021
//   relative   a learned number for each head and distance is added; those further apart than any
//              that was learned share the last                                Raffel et al. 2020
// The bias that is added is a number for each distance: memory grows with the length.
struct AttentionPosition {
  Position kind = Position::kNone;
  AlibiSlopes slopes = AlibiSlopes::kGeometric;
  double rotary_base = 10000.0;
  Tensor distance_bias;     // relative: [distances, H]
  bool both_sides = false;  // whether distances have a sign: keys after a query are seen as well

  AttentionPosition() = default;
  // For queries and keys that are at most max_length - 1 apart.
  AttentionPosition(Initializer& init, Position kind, int64_t num_heads, int64_t max_length,
                    bool both_sides);

  bool is_rotary() const { return kind == Position::kRotary; }
  Tensor turned(const Tensor& x, int64_t first_position) const;  // [B, T, H, D] -> the same

  bool is_bias() const { return kind == Position::kAlibi || kind == Position::kRelative; }
  // The relative_bias of an AttentionMask, [H, Tq + Tk - 1], of queries at first_query and after
  // it, keys at 0 and after it.
  Tensor bias(int64_t num_heads, int64_t first_query, int64_t queries, int64_t keys,
              DType dtype) const;

  void visit(Visitor& v) { v.parameter("distance_bias", distance_bias); }
};

}  // namespace qkv
