#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "apps/exchange/export_formats.h"
#include "apps/exchange/onnx_layers.h"
#include "data/text/tokenizer_json.h"
#include "framework/core/error.h"
#include "framework/core/status.h"
#include "train/config/config.h"

namespace qkv {
namespace {

enum class Part { kWhole, kStep };

// The model of a checkpoint as a graph: the computation of models/, in nodes.
class OnnxModel {
 public:
  OnnxModel(const Checkpoint& checkpoint, Part part)
      : checkpoint_(checkpoint),
        o_(checkpoint.config.model),
        data_(checkpoint.data),
        is_step_(part == Part::kStep),
        layers_(o_, checkpoint.arrays, is_step_) {}

  std::string file() {
    switch (form_of(o_.kind)) {
      case DataForm::kSequence:
        decoder();
        break;
      case DataForm::kSourceTarget:
        encoder_decoder();
        break;
      case DataForm::kClass:
        classifier();
        break;
    }
    std::map<std::string, std::string> metadata = {{"config", to_toml(checkpoint_.config)}};
    const auto list = [&](const char* name, const std::vector<std::string>& texts) {
      if (!texts.empty()) metadata[name] = nlohmann::json(texts).dump();
    };
    list("vocabulary", checkpoint_.vocabulary.names());
    const std::string tokenizer = tokenizer_json(checkpoint_.vocabulary);
    if (!tokenizer.empty()) metadata["tokenizer"] = tokenizer;
    list("class_names", checkpoint_.class_names);
    return layers_.graph().file(metadata);
  }

 private:
  OnnxGraph& graph() { return layers_.graph(); }

  OnnxValue input(const char* name, DType dtype, const std::vector<std::string>& dimensions) {
    graph().input(name, dtype, dimensions);
    return name;
  }

  OnnxValue embedded(const OnnxValue& tokens) {  // [B, T] -> [B, T, C]
    const Scope scope("token_embedding");
    return layers_.op("Gather", {layers_.parameter("weight"), tokens});
  }

  void write_logits(const OnnxValue& x) {  // [B, T, C]
    const Scope scope(o_.tie_embeddings ? "token_embedding" : "head");
    const OnnxValue weight = layers_.transpose(layers_.parameter("weight"), {1, 0});
    OnnxValue logits = layers_.op("MatMul", {x, weight});
    if (o_.logit_cap != 0) {
      const OnnxValue cap = graph().number(o_.logit_cap);
      logits = layers_.op("Mul", {layers_.op("Tanh", {layers_.op("Div", {logits, cap})}), cap});
    }
    graph().output("logits", logits, DType::f32,
                   {"batch", "length", absl::StrCat(data_.vocabulary_size)});
  }

  // The inputs of a step that continues the tokens before; how many these are, i64 [1].
  OnnxValue past() {
    if (!is_step_) return "";
    const std::string heads = absl::StrCat(layers_.key_heads());
    const std::string width = absl::StrCat(layers_.head_width());
    for (int64_t i = 0; i < o_.num_layers; ++i) {
      for (const char* what : {"past_key.", "past_value."}) {
        graph().input(absl::StrCat(what, i), DType::f32, {"batch", heads, "past", width});
      }
    }
    return layers_.size("past_key.0", 2);
  }

  void decoder() {
    const OnnxValue tokens = input("tokens", DType::i64, {"batch", "length"});
    const bool causal = o_.attention.causal;
    write_logits(layers_.stack(embedded(tokens), {.causal = causal, .first = past()}));
  }

  void encoder_decoder() {
    const std::string width = absl::StrCat(o_.d_model);
    OnnxValue encoded;
    if (is_step_) {
      encoded = input("encoded", DType::f32, {"batch", "source_length", width});
    } else {
      input("source", DType::i64, {"batch", "source_length"});
    }
    const OnnxValue padding = input("padding", DType::boolean, {"batch", "source_length"});
    const OnnxValue target = input("target", DType::i64, {"batch", "length"});
    if (!is_step_) {
      const OnnxValue source = embedded("source");
      const Scope scope("encoder");
      encoded = layers_.stack(source, {.padding = padding});
      graph().output("encoded", encoded, DType::f32, {"batch", "source_length", width});
    }
    const OnnxValue first = past(), read = embedded(target);
    OnnxValue x;
    {
      const Scope scope("decoder");
      x = layers_.stack(read, {.causal = o_.attention.causal,
                               .first = first,
                               .source = encoded,
                               .source_padding = padding});
    }
    write_logits(x);
  }

  OnnxValue patches() {  // -> [B, T, channels patch_size²]
    const int64_t p = o_.patch_size, channels = data_.channels;
    const int64_t rows = data_.height / p, columns = data_.width / p;
    const OnnxValue pixels = input(
        "pixels", DType::f32,
        {"batch", absl::StrCat(channels), absl::StrCat(data_.height), absl::StrCat(data_.width)});
    const OnnxValue cut = layers_.reshape(pixels, {0, channels, rows, p, columns, p});
    return layers_.reshape(layers_.transpose(cut, {0, 2, 4, 1, 3, 5}),
                           {0, rows * columns, channels * p * p});
  }

  void classifier() {
    OnnxValue x, padding;
    if (data_.is_image()) {
      x = layers_.linear("patch_embedding", patches());
    } else {
      x = embedded(input("tokens", DType::i64, {"batch", "length"}));
      padding = input("padding", DType::boolean, {"batch", "length"});
    }
    const OnnxValue batch = layers_.size(x, 0), one = graph().integers({1});
    const bool has_token = o_.pool == Pool::kClassToken;
    if (has_token) {
      const OnnxValue token = layers_.expand(layers_.parameter("class_token"),
                                             {batch, one, graph().integers({o_.d_model})});
      x = layers_.op("Concat", {token, x}, {{"axis", 1}});
      if (!padding.empty()) {  // the class token is not padding
        const OnnxValue no = graph().constant(Array::full({1, 1}, DType::boolean, 0));
        padding = layers_.op("Concat", {layers_.expand(no, {batch, one}), padding}, {{"axis", 1}});
      }
    }
    x = layers_.stack(x, {.padding = padding});
    graph().output("logits", layers_.linear("head", pooled(x, padding)), DType::f32,
                   {"batch", absl::StrCat(data_.classes)});
  }

  OnnxValue pooled(const OnnxValue& x, const OnnxValue& padding) {  // [B, T, C] -> [B, C]
    if (o_.pool == Pool::kClassToken)
      return layers_.op("Gather", {x, graph().integer(0)}, {{"axis", 1}});
    const auto sum = [&](const OnnxValue& y) {
      return layers_.op("ReduceSum", {y, graph().integers({1})}, {{"keepdims", 0}});
    };
    if (padding.empty()) {
      return layers_.op("ReduceMean", {x}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", 0}});
    }
    const OnnxValue kept = layers_.unsqueeze(layers_.cast(layers_.op("Not", {padding}), DType::f32),
                                             {2});  // [B, T, 1]
    return layers_.op("Div", {sum(layers_.op("Mul", {x, kept})), sum(kept)});
  }

  const Checkpoint& checkpoint_;
  const ModelOptions& o_;
  const DataShape& data_;
  bool is_step_;
  OnnxLayers layers_;
};

// A protocol buffer holds at most 2 GB; the nodes around the weights are small.
absl::Status check_size(const LoadedRun& run) {
  constexpr int64_t kMaxNumbers = (int64_t{2'000'000'000} - 10'000'000) / 4;
  int64_t numbers = 0;
  for (const NamedArray& named : run.checkpoint.arrays) {
    if (!named.name.starts_with(kOptimizerPrefix)) numbers += named.array.size();
  }
  if (numbers <= kMaxNumbers) return absl::OkStatus();
  return failed_precondition(run.path, ": the model has ", numbers,
                             " parameters; a file of ONNX holds ", kMaxNumbers,
                             " in f32, because it has at most 2 GB");
}

absl::StatusOr<std::vector<std::string>> write(const LoadedRun& run, Part part) {
  RETURN_IF_ERROR(check_size(run));
  // Names, shapes and numbers of the parameters are those of the config's model.
  if (const absl::StatusOr<Model> model = run.model(); !model.ok()) return model.status();
  return std::vector<std::string>{OnnxModel(run.checkpoint, part).file()};
}

absl::Status check_step(const LoadedRun& run) {
  const ModelOptions& o = run.checkpoint.config.model;
  std::string why;
  if (form_of(o.kind) == DataForm::kClass) {
    why = absl::StrCat("model.kind = \"", o.kind, "\" answers at once");
  } else if (o.mixer != "attention") {
    why = absl::StrCat("model.mixer = \"", o.mixer, "\" has no keys and values");
  } else if (!o.attention.causal) {
    why = "with attention.causal = false every token changes those before it";
  }
  if (why.empty()) return absl::OkStatus();
  return failed_precondition(run.path,
                             ": there is no step with keys and values of the past: ", why);
}

}  // namespace

std::vector<ExportedFile> onnx_files(const std::string& file) { return {{file, kBeginningOfOnnx}}; }

absl::StatusOr<std::vector<std::string>> make_onnx(const LoadedRun& run, const std::string&) {
  return write(run, Part::kWhole);
}

absl::StatusOr<std::vector<std::string>> make_onnx_step(const LoadedRun& run, const std::string&) {
  RETURN_IF_ERROR(check_step(run));
  return write(run, Part::kStep);
}

}  // namespace qkv
