#pragma once

#include <string>
#include <vector>

#include "framework/io/safetensors.h"

// What the program in C is made of.
namespace qkv {

// The files of program/, which are compiled in (cmake/c_program.cmake).
extern const std::string kProgramTemplate;

// The parameters of a model as a global variable of C, `model`, whose members have their names:
// blocks.0.attention.query.weight is model.blocks[0].attention.query.weight.
std::string c_structs(const std::vector<NamedArray>& arrays);

// Its bytes, after a beginning that no other weights have: kBeginningOfWeights and 16 digits, a
// hash.
std::string c_weights(const std::vector<NamedArray>& arrays);
inline constexpr char kBeginningOfWeights[] = "qkv-c-1\n";
inline constexpr size_t kBeginningBytes = 24;

// What the program has as a constant.
inline constexpr char kPositionGain[] = "position_gain";

}  // namespace qkv
