#include "apps/exchange/export_formats.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace qkv {

const std::vector<ExportFormat>& export_formats() {
  static const std::vector<ExportFormat> formats = {
      {"onnx", "FILE", "Writes the model as ONNX (opset 17): inputs to logits", onnx_files,
       make_onnx},
      {"onnx-step", "FILE", "Writes as ONNX one step that continues from past keys and values",
       onnx_files, make_onnx_step},
      {"hf", "FOLDER", "Writes the model as a Hugging Face model", hugging_face_files,
       make_hugging_face},
      {"c", "FILE", "Writes a program in C with which a decoder answers, and the model in FILE.bin",
       c_files, make_c}};
  return formats;
}

std::string unknown_choice(const ModelOptions& model) {
  static const std::string kKnown[] = {"decoder",     "encoder_decoder", "classifier", "attention",
                                       "convolution", "recurrence",      "learned",    "uniform"};
  for (const auto& [key, value] :
       {std::pair("kind", model.kind), std::pair("mixer", model.mixer)}) {
    if (std::ranges::count(kKnown, value) == 0) {
      return absl::StrCat("model.", key, " = \"", value, "\"");
    }
  }
  return "";
}

}  // namespace qkv
