#pragma once

namespace qkv {

// The relative error of one rounding in f64, where all of gradcheck is computed.
inline constexpr double kEpsilon = 0x1p-53;

}  // namespace qkv
