#include "apps/exchange/export_formats.h"

namespace qkv {

const std::vector<ExportFormat>& export_formats() {
  static const std::vector<ExportFormat> formats = {
      {"onnx", "FILE", "Writes the model as ONNX (opset 17): inputs to logits", onnx_files,
       make_onnx},
      {"onnx-step", "FILE", "Writes as ONNX one step that goes on from past keys and values",
       onnx_files, make_onnx_step},
      {"hf", "FOLDER", "Writes the model as a Hugging Face model", hugging_face_files,
       make_hugging_face},
      {"c", "FILE", "Writes a program in C that answers a prompt, and its weights in FILE.bin",
       c_files, make_c}};
  return formats;
}

}  // namespace qkv
