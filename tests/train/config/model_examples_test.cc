// Every choice of [model] and [attention] that has an effect is among the models whose gradients
// are checked: it is in an example, which `qkv gradcheck` checks, or is checked here.

#include "models/model_examples.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "framework/gradcheck/gradcheck.h"
#include "models/model_examples.h"
#include "tests/train/config/parsed.h"
#include "tests/train/loop/key_effects.h"
#include "train/config/config_fields.h"

namespace qkv {
namespace {

bool is_of_models(const Field& field) {
  return field.table == "model" || field.table == "attention";
}

// Key to the values with which an example reads it.
std::map<std::string, std::set<std::string>> values_in_examples() {
  std::map<std::string, std::set<std::string>> values;
  for (const ModelOptions& options : options_of_model_examples()) {
    Config config;
    config.model = options;
    for (const Field& field : config_fields(config)) {
      if (!is_of_models(field) || !field.is_read) continue;
      values[field.key()].insert(field.is_text() ? field.text() : field.to_string());
    }
  }
  return values;
}

TEST(ModelExamplesTest, EveryValueThatHasAnEffectHasRightGradients) {
  std::map<std::string, std::set<std::string>> values = values_in_examples();
  Config defaults;
  const std::vector<Field> fields = config_fields(defaults);
  for (const KeyEffect& effect : effects()) {
    const Field& field = *field_named(fields, effect.key);
    if (!is_of_models(field)) continue;
    for (const std::string& value : effect.values.empty() ? field.allowed() : effect.values) {
      if (!values[effect.key].insert(value).second) continue;
      Overrides overrides = {"model.num_layers=1", "model.d_model=8", "model.d_ff=6"};
      overrides.insert(overrides.end(), effect.around.begin(), effect.around.end());
      if (!field.is_read) {
        overrides.push_back(absl::StrCat(field.decided_by, "=", field.readers.front()));
      }
      overrides.push_back(absl::StrCat(effect.key, "=", value));
      const OpExample example = model_example(parsed("", overrides).model);
      const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(1));
      EXPECT_TRUE(gradcheck(example.f, inputs, {.only_verdict = true}).passed())
          << overrides.back();
    }
  }
}

}  // namespace
}  // namespace qkv
