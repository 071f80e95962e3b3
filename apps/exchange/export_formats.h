#pragma once

#include <string>
#include <vector>

#include "framework/core/status.h"
#include "train/folder/loaded_run.h"

// The formats that a trained model is exported in, for programs without qkv.
namespace qkv {

// A file that an export writes, and the beginning of every file of its kind ("": any).
struct ExportedFile {
  std::string path, beginning;
};

struct ExportFormat {
  const char* option;  // "onnx"
  const char* value;   // "FILE" or "FOLDER"
  const char* help;
  // The files for the option's value, and their bytes in the same order; a file without bytes is
  // not written. A model that the format cannot express is FailedPrecondition, in one sentence that
  // names the key.
  std::vector<ExportedFile> (*files)(const std::string& named);
  absl::StatusOr<std::vector<std::string>> (*make)(const LoadedRun& run, const std::string& named);
};

const std::vector<ExportFormat>& export_formats();

// An option that no format can express yet: "model.mixer = \"decaying\"". "": there is none.
std::string unknown_choice(const ModelOptions& model);

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
std::vector<ExportedFile> onnx_files(const std::string& file);
absl::StatusOr<std::vector<std::string>> make_onnx(const LoadedRun& run, const std::string& file);
absl::StatusOr<std::vector<std::string>> make_onnx_step(const LoadedRun& run,
                                                        const std::string& file);

// A program in one file of C (run.c) with which a decoder answers a prompt, and beside it FILE.bin
// with the model.
std::vector<ExportedFile> c_files(const std::string& file);
absl::StatusOr<std::vector<std::string>> make_c(const LoadedRun& run, const std::string& file);

// Hugging Face: config.json, model.safetensors, and tokenizer.json where the model reads tokens,
// preprocessor_config.json where it reads images. A file of the other kind is empty.
std::vector<ExportedFile> hugging_face_files(const std::string& folder);
absl::StatusOr<std::vector<std::string>> make_hugging_face(const LoadedRun& run,
                                                           const std::string& folder);

}  // namespace qkv
