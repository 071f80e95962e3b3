#include "train/config/config_fields.h"

#include <gtest/gtest.h>

#include <set>

namespace qkv {
namespace {

// Converts to whatever a member of an options struct may be.
struct AnyMember {
  template <class T>
  operator T() const;
};

// How many members a plain struct has: how many values it can be made of.
template <class T, class... Members>
constexpr size_t count_members() {
  if constexpr (requires { T{Members()..., AnyMember()}; }) {
    return count_members<T, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

TEST(ConfigFieldsTest, NoOptionIsForgotten) {
  Config config;
  const auto count = [&config](const std::string& table) {
    size_t fields = 0;
    for (const Field& field : config_fields(config)) fields += field.table == table;
    return fields;
  };
  EXPECT_EQ(count(""), count_members<Config>() - 4);  // without the tables
  EXPECT_EQ(count("data"), count_members<DataOptions>());
  EXPECT_EQ(count("model"), count_members<ModelOptions>() - 1);  // without the table of attention
  EXPECT_EQ(count("attention"), count_members<AttentionChoices>());
  EXPECT_EQ(count("optimizer"), count_members<OptimizerOptions>());
  EXPECT_EQ(count("train"), count_members<TrainOptions>());
}

TEST(ConfigFieldsTest, NoTwoFieldsShareAKeyOrAPlace) {
  Config config;
  std::set<std::string> keys;
  std::set<FieldValue> values;
  const std::vector<Field> fields = config_fields(config);
  for (const Field& field : fields) {
    keys.insert(field.key());
    values.insert(field.value);
  }
  EXPECT_EQ(keys.size(), fields.size());
  EXPECT_EQ(values.size(), fields.size());
}

TEST(ConfigFieldsTest, EveryFieldIsDescribedInASentence) {
  Config config;
  for (const Field& field : config_fields(config)) {
    ASSERT_FALSE(field.description.empty()) << field.key();
    EXPECT_EQ(field.description.back(), '.') << field.key();
  }
}

TEST(ConfigFieldsTest, FloatsAreShortAndStayFloats) {
  EXPECT_EQ(float_to_toml(0.001), "0.001");
  EXPECT_EQ(float_to_toml(3), "3.0");
  EXPECT_EQ(float_to_toml(-0.0), "-0.0");
  EXPECT_EQ(float_to_toml(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(float_to_toml(1e-8), "1e-08");
  EXPECT_EQ(float_to_toml(1e300), "1e+300");
}

}  // namespace
}  // namespace qkv
