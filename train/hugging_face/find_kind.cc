#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/model.h"
#include "train/config/config_fields.h"
#include "train/hugging_face/config_json.h"

namespace qkv {
namespace {

// A key, and the values with which Hugging Face has the model, as in a config.
struct Need {
  const char* key;
  std::vector<std::string> values;
};

std::vector<Need> needs_of(const Config& config) {
  const bool is_decoder = form_of(config.model.kind) == DataForm::kSequence;
  const bool is_classifier = form_of(config.model.kind) == DataForm::kClass;
  std::vector<Need> needs = {
      {"model.kind", {"\"decoder\"", "\"classifier\""}},
      {"model.mixer", {"\"attention\""}},
      {"model.position", {"\"learned\""}},
      {"model.norm", {"\"pre\""}},
      {"model.norm_kind", {"\"layer\""}},
      {"model.bias", {"true"}},
      {"attention.projections", {"\"separate\""}},
      {"attention.heads", {"\"split\""}},
      {"attention.num_key_value_heads", {"0", absl::StrCat(config.model.num_heads)}},
      {"attention.window", {"0"}},
      {"attention.scale", {"0.0"}}};
  if (is_decoder) needs.push_back({"attention.causal", {"true"}});
  if (is_classifier) {
    needs.push_back({"model.pool", {"\"class_token\""}});
    needs.push_back({"model.scale_scores", {"true"}});
  }
  return needs;
}

}  // namespace

absl::StatusOr<HuggingFaceKind> find_hugging_face_kind(const Config& config,
                                                       const DataShape& data) {
  Config copy = config;
  const std::vector<Field> fields = config_fields(copy);
  std::vector<std::string> in_the_way;
  for (const Need& need : needs_of(config)) {
    const auto field =
        std::ranges::find_if(fields, [&](const Field& f) { return f.key() == need.key; });
    const std::string value = field->to_string();
    if (!field->is_read || std::ranges::count(need.values, value) > 0) continue;
    in_the_way.push_back(
        absl::StrCat(need.key, " is ", value, ", where ", need.values.front(), " would do"));
  }
  if (!in_the_way.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("Hugging Face has no such model: ", absl::StrJoin(in_the_way, "; ")));
  }
  if (form_of(config.model.kind) == DataForm::kSequence) return HuggingFaceKind::kGpt2;
  return data.is_image() ? HuggingFaceKind::kVit : HuggingFaceKind::kMegatronBert;
}

}  // namespace qkv
