// Every choice of [model] and [attention] is among the models whose gradients are checked.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "models/examples.h"
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

TEST(ModelExamplesTest, EveryChoiceOfAConfigIsInAnExampleThatReadsIt) {
  const std::map<std::string, std::set<std::string>> values = values_in_examples();
  Config defaults;
  for (const Field& field : config_fields(defaults)) {
    if (!is_of_models(field)) continue;
    ASSERT_TRUE(values.contains(field.key())) << field.key() << " is in no example";
    std::set<std::string> seen = values.at(field.key());
    if (std::holds_alternative<bool*>(field.value)) {
      EXPECT_EQ(seen.size(), 2u) << field.key();
    } else if (field.is_text()) {
      EXPECT_EQ(seen, std::set<std::string>(field.allowed.begin(), field.allowed.end()))
          << field.key();
    } else {
      seen.erase(field.to_string());
      EXPECT_FALSE(seen.empty()) << field.key() << " is what it is by default in all examples";
    }
  }
}

}  // namespace
}  // namespace qkv
