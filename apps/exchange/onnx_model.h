#pragma once

#include <string>
#include <vector>

#include "apps/exchange/export_formats.h"

// ONNX: a graph with the weights in it, of opset 17, which computes in f32 whatever the run
// computed in. Axes of batches and lengths have names instead of sizes. Names of parameters are
// those of a checkpoint.
//
//   decoder            tokens i64 [batch, length] -> logits [batch, length, V]
//   encoder_decoder    source i64 [batch, source_length], padding of the source (boolean, false
//                      where there is none), target i64 [batch, length]
//                      -> logits [batch, length, V], encoded [batch, source_length, C]
//   classifier         tokens, padding; or pixels [batch, channels, height, width]
//                      -> logits [batch, classes]
//
// A step reads the next tokens of a decoder, or of an encoder-decoder's target with what `encoded`
// and `padding` are then. For each layer N it takes past_key.N and past_value.N [batch, K, past, D]
// of the tokens before, with a past of 0 at first, and gives present_key.N and present_value.N.
namespace qkv {

// For export_formats().
std::vector<ExportedFile> onnx_files(const std::string& file);
absl::StatusOr<std::vector<std::string>> make_onnx(const LoadedRun& run, const std::string& file);
absl::StatusOr<std::vector<std::string>> make_onnx_step(const LoadedRun& run,
                                                        const std::string& file);

}  // namespace qkv
