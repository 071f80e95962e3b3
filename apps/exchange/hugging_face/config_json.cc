#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/exchange/hugging_face/folder.h"
#include "data/text/tokenizer_json.h"
#include "framework/core/status.h"
#include "framework/core/text/mistakes.h"
#include "framework/io/json_mistake.h"

namespace qkv {
namespace {

using nlohmann::json;

// The first name of an activation is the one that is written.
constexpr std::pair<const char*, Activation> kActivations[] = {
    {"gelu", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu}};

// A size of a model there and here, and its default.
template <class Struct>
struct Size {
  const char* name;
  int64_t Struct::*here;
  int64_t if_missing;
};

struct Names {
  const char* model_type;
  const char* architecture;
  std::vector<Size<ModelOptions>> model;
  std::vector<Size<DataShape>> data;
  const char* activation;
  const char* activation_if_missing;
  const char* epsilon;
  double epsilon_if_missing;
  std::vector<const char*> dropouts;
};

const Names& names_of_kind(HuggingFaceKind kind) {
  using M = ModelOptions;
  using D = DataShape;
  static const Names gpt2 = {
      "gpt2",
      "GPT2LMHeadModel",
      {{"n_layer", &M::num_layers, 12},
       {"n_embd", &M::d_model, 768},
       {"n_head", &M::num_heads, 12},
       {"n_inner", &M::d_ff, 0}},
      {{"n_positions", &D::max_length, 1024}, {"vocab_size", &D::vocabulary_size, 50257}},
      "activation_function",
      "gelu_new",
      "layer_norm_epsilon",
      1e-5,
      {"embd_pdrop", "resid_pdrop", "attn_pdrop"}};
  static const Names vit = {"vit",
                            "ViTForImageClassification",
                            {{"num_hidden_layers", &M::num_layers, 12},
                             {"hidden_size", &M::d_model, 768},
                             {"num_attention_heads", &M::num_heads, 12},
                             {"intermediate_size", &M::d_ff, 3072}},
                            {{"num_channels", &D::channels, 3}},
                            "hidden_act",
                            "gelu",
                            "layer_norm_eps",
                            1e-12,
                            {"hidden_dropout_prob", "attention_probs_dropout_prob"}};
  static const Names bert = [] {  // an encoder as ViT is, which reads tokens
    Names names = vit;
    names.model_type = "megatron-bert";
    names.architecture = "MegatronBertForTokenClassification";
    names.data = {{"max_position_embeddings", &D::max_length, 512},
                  {"vocab_size", &D::vocabulary_size, 29056}};
    return names;
  }();
  if (kind == HuggingFaceKind::kGpt2) return gpt2;
  return kind == HuggingFaceKind::kVit ? vit : bert;
}

class Reader {
 public:
  Reader(const json& object, const std::string& source) : object_(object), source_(source) {}

  template <class... Parts>
  void add(const Parts&... parts) {
    mistakes_.push_back(absl::StrCat(source_, ": ", parts...));
  }

  // Null stands for a key that is missing, as there.
  const json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  int64_t size(const char* name, int64_t if_missing) {
    const json* value = find(name);
    return value ? checked_size(name, *value, if_missing) : if_missing;
  }

  int64_t checked_size(const char* name, const json& value, int64_t if_wrong) {
    constexpr int64_t kLargest = 1 << 20;
    if (value.is_number_unsigned() && value.get<uint64_t>() - 1 < uint64_t{kLargest}) {
      return value.get<int64_t>();
    }
    add("\"", name, "\" must be an integer from 1 to ", kLargest, ", not ", shown(value));
    return if_wrong;
  }

  double number(const char* name, double if_missing, double below) {
    const json* value = find(name);
    if (!value) return if_missing;
    if (value->is_number()) {
      const auto number = value->get<double>();
      if (number >= 0 && number < below) return number;
    }
    add("\"", name, "\" must be a number of at least 0 and below ", below, ", not ", shown(*value));
    return if_missing;
  }

  bool flag(const char* name, bool if_missing) {
    const json* value = find(name);
    if (!value) return if_missing;
    if (value->is_boolean()) return value->get<bool>();
    add("\"", name, "\" must be true or false, not ", shown(*value));
    return if_missing;
  }

  // A value that qkv requires.
  void needs(const char* name, const json& needed) {
    const json* value = find(name);
    if (value && *value != needed) {
      add("\"", name, "\" is ", shown(*value), ", where qkv has only ", shown(needed));
    }
  }

  Activation activation(const char* name, const char* if_missing) {
    const json* value = find(name);
    std::string known;
    for (const auto& [text, activation] : kActivations) {
      if (value ? *value == text : std::string_view(text) == if_missing) return activation;
      absl::StrAppend(&known, known.empty() ? "\"" : ", \"", text, "\"");
    }
    add("\"", name, "\" is ", shown(*value), ", where qkv has only ", known);
    return Activation::kGelu;
  }

  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  const json& object_;
  std::string source_;
  std::vector<std::string> mistakes_;
};

void read_gpt2(Reader& reader, HuggingFaceConfig& config) {
  config.model.activation = Activation::kGeluTanh;
  if (config.model.d_ff == 0) config.model.d_ff = 4 * config.model.d_model;
  config.model.tie_embeddings = reader.flag("tie_word_embeddings", true);
  config.model.scale_scores = reader.flag("scale_attn_weights", true);
  reader.needs("scale_attn_by_inverse_layer_idx", false);
  reader.needs("add_cross_attention", false);
}

void read_image_size(Reader& reader, DataShape& data) {
  data.height = data.width = 224;
  const json* size = reader.find("image_size");
  if (!size) return;
  if (!size->is_array()) {
    data.height = data.width = reader.checked_size("image_size", *size, data.height);
  } else if (size->size() == 2) {
    data.height = reader.checked_size("image_size", (*size)[0], data.height);
    data.width = reader.checked_size("image_size", (*size)[1], data.width);
  } else {
    reader.add("\"image_size\" must be an integer or two, not ", shown(*size));
  }
}

// The classes are the keys "0", "1" … of id2label.
std::vector<std::string> read_class_names(Reader& reader) {
  constexpr int64_t kMostClasses = 1 << 20;
  std::vector<std::string> names;
  const json* labels = reader.find("id2label");
  const int64_t count =
      labels && labels->is_object() ? std::ssize(*labels) : reader.size("num_labels", 2);
  for (int64_t i = 0; i < std::min(count, kMostClasses); ++i) {
    std::string name = absl::StrCat("LABEL_", i);
    if (labels && labels->is_object()) {
      const auto found = labels->find(absl::StrCat(i));
      if (found == labels->end() || !found->is_string()) {
        reader.add("\"id2label\" has no name for class ", i);
        break;
      }
      name = found->get<std::string>();
    }
    names.push_back(std::move(name));
  }
  if (names.empty()) reader.add("\"id2label\" names no class");
  return names;
}

void read_vit(Reader& reader, HuggingFaceConfig& config) {
  config.model.kind = "classifier";
  config.model.patch_size = reader.size("patch_size", 16);
  read_image_size(reader, config.data);
  reader.needs("qkv_bias", true);
  config.class_names = read_class_names(reader);
  config.data.classes = std::ssize(config.class_names);
  DataShape& data = config.data;
  const int64_t patch = config.model.patch_size;
  constexpr int64_t kLargest = 1 << 20;
  if (data.height % patch != 0 || data.width % patch != 0) {
    reader.add("\"patch_size\" is ", patch, ", which does not divide images of ", data.height,
               " x ", data.width, " pixels");
  } else if (data.height / patch > kLargest / (data.width / patch) ||
             patch > kLargest / patch / data.channels) {
    reader.add("has more patches, or larger ones, than any model: images of ", data.height, " x ",
               data.width, " pixels, patches of ", patch, " x ", patch);
  }
}

}  // namespace

absl::StatusOr<HuggingFaceConfig> parse_hugging_face_config(std::string_view text,
                                                            const std::string& source) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    const std::string mistake = json_mistake(text);
    return invalid_argument(
        source, mistake.empty() ? ": is not a JSON object" : ": is not JSON: ", mistake);
  }
  Reader reader(object, source);
  HuggingFaceConfig config;
  const json* type = reader.find("model_type");
  if (type && *type == "vit") {
    config.kind = HuggingFaceKind::kVit;
  } else if (!type || *type != "gpt2") {
    return invalid_argument(source, ": \"model_type\" is ", type ? shown(*type) : "missing",
                            "; qkv reads \"gpt2\" and \"vit\"");
  }
  const Names& names = names_of_kind(config.kind);
  for (const auto& [name, here, if_missing] : names.model) {
    config.model.*here = reader.size(name, if_missing);
  }
  for (const auto& [name, here, if_missing] : names.data) {
    config.data.*here = reader.size(name, if_missing);
  }
  constexpr int64_t kMostHeads = 1 << 16, kMostLayers = 4096;
  ModelOptions& model = config.model;
  if (model.d_model > kMostHeads || model.d_model % model.num_heads != 0) {
    reader.add("\"", names.model[1].name, "\" is ", model.d_model, ", which must be at most ",
               kMostHeads, " and a multiple of \"", names.model[2].name, "\", which is ",
               model.num_heads);
  }
  if (model.num_layers > kMostLayers) {
    reader.add("\"", names.model[0].name, "\" must be at most ", kMostLayers, ", not ",
               model.num_layers);
  }
  const auto read_more = config.kind == HuggingFaceKind::kGpt2 ? read_gpt2 : read_vit;
  read_more(reader, config);
  model.activation = reader.activation(names.activation, names.activation_if_missing);
  model.norm_epsilon = reader.number(names.epsilon, names.epsilon_if_missing, 1.0);
  if (model.norm_epsilon == 0) reader.add("\"", names.epsilon, "\" must be above 0");
  if (!reader.mistakes().empty()) return mistakes_error(reader.mistakes());
  return config;
}

std::string hugging_face_config_json(const HuggingFaceConfig& config, DType dtype, TextEnds ends) {
  const Names& names = names_of_kind(config.kind);
  const ModelOptions& model = config.model;
  nlohmann::ordered_json object;
  object["made_by"] = "qkv";
  object["architectures"] = {names.architecture};
  object["model_type"] = names.model_type;
  for (const auto& [name, here, if_missing] : names.model) object[name] = model.*here;
  for (const auto& [name, here, if_missing] : names.data) object[name] = config.data.*here;
  object[names.activation] =
      std::ranges::find(kActivations, model.activation, &std::pair<const char*, Activation>::second)
          ->first;
  object[names.epsilon] = model.norm_epsilon;
  for (const char* dropout : names.dropouts) object[dropout] = model.dropout;
  object["initializer_range"] = model.init_std;
  const auto token = [](int64_t number) {
    return number < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(number);
  };
  if (config.kind == HuggingFaceKind::kGpt2) {
    object["scale_attn_weights"] = model.scale_scores;
    object["scale_attn_by_inverse_layer_idx"] = false;
    object["tie_word_embeddings"] = model.tie_embeddings;
    object["bos_token_id"] = token(ends.first_token);
    object["eos_token_id"] = token(ends.last_token);
  } else if (config.kind == HuggingFaceKind::kVit) {
    object["patch_size"] = model.patch_size;
    object["image_size"] = {config.data.height, config.data.width};
    if (config.data.height == config.data.width) object["image_size"] = config.data.height;
    object["qkv_bias"] = true;
  } else {
    // The class token is one more token at one more position.
    object["max_position_embeddings"] = config.data.max_length + 1;
    object["vocab_size"] = config.data.vocabulary_size + 1;
    object["type_vocab_size"] = 2;
    object["cls_token_id"] = config.data.vocabulary_size;
  }
  for (size_t i = 0; i < config.class_names.size(); ++i) {
    object["id2label"][absl::StrCat(i)] = config.class_names[i];
    object["label2id"][config.class_names[i]] = i;
  }
  object["torch_dtype"] = dtype == DType::f64 ? "float64" : "float32";
  return object.dump(2) + "\n";
}

}  // namespace qkv
