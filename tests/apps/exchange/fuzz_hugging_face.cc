#include <set>

#include "apps/exchange/hugging_face/folder.h"
#include "framework/nn/module.h"
#include "models/model.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace qkv {
namespace {

// Each parameter of the model once, with its shape.
void require_all_parameters(const HuggingFaceConfig& config) {
  std::set<std::string> there;
  for (const auto& tensor : hugging_face_tensors(config.kind, config.model, config.data)) {
    int64_t numbers = 0;
    for (const auto& [parameter, shape] : tensor.parts) {
      numbers += shape.size();
      require(there.insert(parameter).second, "a parameter is in one tensor", parameter);
    }
    require(numbers == tensor.shape.size(), "a tensor is as large as its parts", tensor.name);
  }
  const auto here =
      parameters(Model(config.model, config.data, Initializer::shapes_only(DType::f32)));
  require(here.size() == there.size(), "each parameter is in a tensor");
  for (const auto& [name, tensor] : here) {
    require(there.contains(name), "each parameter is in a tensor", name);
  }
}

// A config.json of Hugging Face: what is read of a model reads back the same once it is written,
// and has a tensor for each of its parameters.
void fuzz_hugging_face(std::string_view input) {
  const auto config = parse_hugging_face_config(input, "config.json");
  if (!config.ok()) {
    require_good_message(config.status(), {"config.json: "});
    return;
  }
  constexpr int64_t kMost = 100;  // of layers and classes: more take long and are no different
  if (config->model.num_layers > kMost || config->data.classes > kMost) return;
  require_all_parameters(*config);
  const std::string json = hugging_face_config_json(*config, DType::f32, {});
  const auto again = parse_hugging_face_config(json, "config.json");
  require(again.ok(), "a config that was written can be read", json);
  require(hugging_face_config_json(*again, DType::f32, {}) == json,
          "a config is the same when read again", json);
}

const bool kIsAdded = add_fuzz_target({"hugging_face", fuzz_hugging_face});

}  // namespace
}  // namespace qkv
