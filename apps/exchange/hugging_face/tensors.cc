#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "apps/exchange/hugging_face/folder.h"
#include "framework/ops/ops.h"
#include "models/model.h"

namespace qkv {
namespace {

enum class Form {
  kSame,        // the names are those of the parameters; rows one below the other
  kTable,       // NAME.weight
  kLinear,      // NAME.weight and NAME.bias, of linear layers and norms
  kTransposed,  // the same, and the weight is [in, out]: "Conv1D"
  kPatches,     // the same, and the weight is [out, channels, height, width]
  kBatch,       // the parameter with axes of 1 before its own, three in all
  kZeros,       // two rows that no parameter of qkv has
};

// "*" is the number of a block; "+" stands between parameters that one tensor holds.
struct Row {
  const char* there;
  const char* here;
  Form form;
};

constexpr Row kGpt2Rows[] = {
    {"transformer.wte", "token_embedding", Form::kTable},
    {"transformer.wpe", "position_embedding", Form::kTable},
    {"transformer.h.*.ln_1", "blocks.*.attention_norm", Form::kLinear},
    {"transformer.h.*.attn.c_attn",
     "blocks.*.attention.query+blocks.*.attention.key+blocks.*.attention.value", Form::kTransposed},
    {"transformer.h.*.attn.c_proj", "blocks.*.attention.output", Form::kTransposed},
    {"transformer.h.*.ln_2", "blocks.*.feed_forward_norm", Form::kLinear},
    {"transformer.h.*.mlp.c_fc", "blocks.*.feed_forward.up", Form::kTransposed},
    {"transformer.h.*.mlp.c_proj", "blocks.*.feed_forward.down", Form::kTransposed},
    {"transformer.ln_f", "final_norm", Form::kLinear},
    {"lm_head", "head", Form::kTable},  // where it is not tied
};

constexpr Row kVitRows[] = {
    {"vit.embeddings.cls_token", "class_token", Form::kBatch},
    {"vit.embeddings.position_embeddings", "position_embedding.weight", Form::kBatch},
    {"vit.embeddings.patch_embeddings.projection", "patch_embedding", Form::kPatches},
    {"vit.encoder.layer.*.layernorm_before", "blocks.*.attention_norm", Form::kLinear},
    {"vit.encoder.layer.*.attention.attention.query", "blocks.*.attention.query", Form::kLinear},
    {"vit.encoder.layer.*.attention.attention.key", "blocks.*.attention.key", Form::kLinear},
    {"vit.encoder.layer.*.attention.attention.value", "blocks.*.attention.value", Form::kLinear},
    {"vit.encoder.layer.*.attention.output.dense", "blocks.*.attention.output", Form::kLinear},
    {"vit.encoder.layer.*.layernorm_after", "blocks.*.feed_forward_norm", Form::kLinear},
    {"vit.encoder.layer.*.intermediate.dense", "blocks.*.feed_forward.up", Form::kLinear},
    {"vit.encoder.layer.*.output.dense", "blocks.*.feed_forward.down", Form::kLinear},
    {"vit.layernorm", "final_norm", Form::kLinear},
    {"classifier", "head", Form::kLinear},
};

// The class token is the token after the last one of the vocabulary.
constexpr Row kMegatronBertRows[] = {
    {"bert.embeddings.word_embeddings.weight", "token_embedding.weight+class_token", Form::kSame},
    {"bert.embeddings.position_embeddings", "position_embedding", Form::kTable},
    {"bert.embeddings.token_type_embeddings.weight", "class_token", Form::kZeros},
    {"bert.encoder.layer.*.attention.ln", "blocks.*.attention_norm", Form::kLinear},
    {"bert.encoder.layer.*.attention.self.query", "blocks.*.attention.query", Form::kLinear},
    {"bert.encoder.layer.*.attention.self.key", "blocks.*.attention.key", Form::kLinear},
    {"bert.encoder.layer.*.attention.self.value", "blocks.*.attention.value", Form::kLinear},
    {"bert.encoder.layer.*.attention.output.dense", "blocks.*.attention.output", Form::kLinear},
    {"bert.encoder.layer.*.ln", "blocks.*.feed_forward_norm", Form::kLinear},
    {"bert.encoder.layer.*.intermediate.dense", "blocks.*.feed_forward.up", Form::kLinear},
    {"bert.encoder.layer.*.output.dense", "blocks.*.feed_forward.down", Form::kLinear},
    {"bert.encoder.ln", "final_norm", Form::kLinear},
    {"classifier", "head", Form::kLinear},
};

std::span<const Row> rows_of(HuggingFaceKind kind) {
  if (kind == HuggingFaceKind::kGpt2) return kGpt2Rows;
  return kind == HuggingFaceKind::kVit ? std::span<const Row>(kVitRows) : kMegatronBertRows;
}

// Rows of C numbers one below the other, and what follows from the form.
Shape shape_there(const std::vector<HuggingFaceTensor::Part>& parts, Form form,
                  const ModelOptions& options, const DataShape& data) {
  const Shape& first = parts.front().shape;
  if (form == Form::kBatch) {
    return first.rank() == 1 ? Shape{1, 1, first[0]} : Shape{1, first[0], first[1]};
  }
  if (form == Form::kZeros) return {2, first[0]};
  if (form == Form::kPatches && first.rank() == 2) {
    return {first[0], data.channels, options.patch_size, options.patch_size};
  }
  int64_t numbers = 0;
  for (const auto& part : parts) numbers += part.shape.size();
  if (first.rank() == 1) return {numbers};
  const int64_t rows = numbers / first[1];
  return form == Form::kTransposed ? Shape{first[1], rows} : Shape{rows, first[1]};
}

Array transposed(const Array& matrix) { return transpose(Tensor(matrix), 0, 1).array(); }

std::map<std::string, const Array*> by_name(const std::vector<NamedArray>& arrays) {
  std::map<std::string, const Array*> map;
  for (const NamedArray& a : arrays) map[a.name] = &a.array;
  return map;
}

}  // namespace

std::vector<HuggingFaceTensor> hugging_face_tensors(HuggingFaceKind kind,
                                                    const ModelOptions& options,
                                                    const DataShape& data) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] :
       parameters(Model(options, data, Initializer::shapes_only(DType::f32)))) {
    shapes[name] = tensor.shape();
  }
  std::vector<HuggingFaceTensor> tensors;
  const auto add = [&](const Row& row, const std::string& there, const std::string& here,
                       const char* end, bool transposed) {
    HuggingFaceTensor tensor = {.name = there + end, .shape = {}, .transposed = transposed};
    for (const absl::string_view name : absl::StrSplit(here, '+')) {
      const auto found = shapes.find(absl::StrCat(name, end));
      if (found == shapes.end()) return;  // a head that is tied
      tensor.parts.push_back({found->first, found->second});
    }
    tensor.shape = shape_there(tensor.parts, row.form, options, data);
    if (row.form == Form::kZeros) tensor.parts.clear();
    tensors.push_back(std::move(tensor));
  };
  const auto add_row = [&](const Row& row, const std::string& there, const std::string& here) {
    if (row.form == Form::kSame || row.form == Form::kBatch || row.form == Form::kZeros) {
      return add(row, there, here, "", false);
    }
    add(row, there, here, ".weight", row.form == Form::kTransposed);
    if (row.form != Form::kTable) add(row, there, here, ".bias", false);
  };
  for (const Row& row : rows_of(kind)) {
    const bool of_blocks = std::string_view(row.here).find('*') != std::string_view::npos;
    for (int64_t i = 0; i < (of_blocks ? options.num_layers : 1); ++i) {
      const std::string number = absl::StrCat(i);
      add_row(row, absl::StrReplaceAll(row.there, {{"*", number}}),
              absl::StrReplaceAll(row.here, {{"*", number}}));
    }
  }
  return tensors;
}

std::vector<NamedArray> to_hugging_face(const std::vector<HuggingFaceTensor>& tensors,
                                        const std::vector<NamedArray>& parameters) {
  const std::map<std::string, const Array*> here = by_name(parameters);
  std::vector<NamedArray> arrays;
  for (const HuggingFaceTensor& tensor : tensors) {
    if (tensor.parts.empty()) {
      arrays.push_back({tensor.name, Array::full(tensor.shape, arrays.front().array.dtype(), 0.0)});
      continue;
    }
    const Array& first = *here.at(tensor.parts.front().parameter);
    const Shape& s = tensor.shape;
    Array joined(tensor.transposed ? Shape{s[1], s[0]} : s, first.dtype());
    auto* place = static_cast<char*>(joined.mutable_raw());
    for (const auto& [name, shape] : tensor.parts) {
      const Array& part = *here.at(name);
      std::memcpy(place, part.raw(), part.bytes());
      place += part.bytes();
    }
    arrays.push_back({tensor.name, tensor.transposed ? transposed(joined) : joined});
  }
  return arrays;
}

std::set<std::string> names_of(const HuggingFaceTensor& tensor) {
  return {tensor.name, tensor.name.substr(tensor.name.find('.') + 1)};
}

absl::StatusOr<std::vector<NamedArray>> from_hugging_face(
    const std::vector<HuggingFaceTensor>& tensors, const std::vector<NamedArray>& arrays) {
  std::vector<NamedArray> parameters;
  std::vector<std::string> mistakes;
  for (const HuggingFaceTensor& tensor : tensors) {
    const auto named = std::ranges::find_if(
        arrays, [names = names_of(tensor)](const auto& a) { return names.contains(a.name); });
    if (named == arrays.end()) continue;
    const auto& [name, array] = *named;
    if (array.shape() != tensor.shape || !is_floating(array.dtype())) {
      mistakes.push_back(absl::StrCat(name, " is ", array.describe(), ", but config.json says ",
                                      tensor.shape.to_string()));
      continue;
    }
    const Array rows = tensor.transposed ? transposed(array) : array;
    const auto* place = static_cast<const char*>(rows.raw());
    for (const auto& [parameter, shape] : tensor.parts) {
      Array part(shape, array.dtype());
      std::memcpy(part.mutable_raw(), place, part.bytes());
      place += part.bytes();
      parameters.push_back({parameter, std::move(part)});
    }
  }
  if (mistakes.empty()) return parameters;
  constexpr size_t kShown = 5;
  if (mistakes.size() > kShown) {
    const size_t more = mistakes.size() - kShown;
    mistakes.resize(kShown);
    mistakes.push_back(absl::StrCat(more, " more"));
  }
  return absl::DataLossError(absl::StrJoin(mistakes, "; "));
}

}  // namespace qkv
