#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/exchange/hugging_face/folder.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::StartsWith;

// Keys of a small Vision Transformer, with others in their place; null: left out.
std::string vit_with(const json& others) {
  json keys = {{"model_type", "vit"},     {"num_hidden_layers", 3},   {"hidden_size", 8},
               {"image_size", {4, 6}},    {"num_attention_heads", 2}, {"intermediate_size", 20},
               {"patch_size", 2},         {"num_channels", 1},        {"layer_norm_eps", 1e-6},
               {"hidden_act", "gelu_new"}};
  keys.update(others);
  return keys.dump();
}

absl::StatusOr<HuggingFaceConfig> vit(const json& others) {
  return parse_hugging_face_config(vit_with(others), "config.json");
}

TEST(HuggingFaceConfigTest, AVisionTransformerHasItsSizes) {
  const auto config = vit({{"id2label", {{"0", "cat"}, {"1", "dog"}, {"2", "owl"}}}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->kind, HuggingFaceKind::kVit);
  EXPECT_EQ(config->model.num_layers, 3);
  EXPECT_EQ(config->model.d_model, 8);
  EXPECT_EQ(config->model.num_heads, 2);
  EXPECT_EQ(config->model.d_ff, 20);
  EXPECT_EQ(config->model.patch_size, 2);
  EXPECT_EQ(config->model.norm_epsilon, 1e-6);
  EXPECT_EQ(config->model.activation, Activation::kGeluTanh);
  EXPECT_EQ(config->data.channels, 1);
  EXPECT_EQ(config->data.height, 4);
  EXPECT_EQ(config->data.width, 6);
  EXPECT_EQ(config->data.classes, 3);
  EXPECT_THAT(config->class_names, ElementsAre("cat", "dog", "owl"));
}

TEST(HuggingFaceConfigTest, ClassesWithoutNamesAreNumbered) {
  EXPECT_THAT(vit(json::object())->class_names, ElementsAre("LABEL_0", "LABEL_1"));
  EXPECT_THAT(vit({{"num_labels", 1}})->class_names, ElementsAre("LABEL_0"));
  EXPECT_THAT(vit({{"id2label", {"a", "b", "c"}}})->class_names, ElementsAre("LABEL_0", "LABEL_1"))
      << "a list has no numbers";
}

TEST(HuggingFaceConfigTest, EachMistakeIsASentence) {
  const std::pair<json, const char*> mistakes[] = {
      {{{"id2label", {{"0", "a"}, {"2", "b"}}}}, "\"id2label\" has no name for class 1"},
      {{{"id2label", {{"0", 1}}}}, "\"id2label\" has no name for class 0"},
      {{{"id2label", json::object()}}, "\"id2label\" names no class"},
      {{{"image_size", {4, 5}}},
       "\"patch_size\" is 2, which does not divide images of 4 x 5 pixels"},
      {{{"image_size", {5, 4}}},
       "\"patch_size\" is 2, which does not divide images of 5 x 4 pixels"},
      {{{"image_size", {4}}}, "\"image_size\" must be an integer or two, not a list"},
      {{{"num_attention_heads", 3}},
       "\"hidden_size\" is 8, which must be at most 65536 and a multiple of "
       "\"num_attention_heads\", which is 3"},
      {{{"num_hidden_layers", 4097}}, "\"num_hidden_layers\" must be at most 4096, not 4097"},
      {{{"num_hidden_layers", 0}},
       "\"num_hidden_layers\" must be an integer from 1 to 1048576, not 0"},
      {{{"layer_norm_eps", 0}}, "\"layer_norm_eps\" must be above 0"},
      {{{"layer_norm_eps", 1}},
       "\"layer_norm_eps\" must be a number of at least 0 and below 1, not 1"},
      {{{"qkv_bias", false}}, "\"qkv_bias\" is false, where qkv has only true"},
      {{{"model_type", "bert"}}, "\"model_type\" is \"bert\"; qkv reads \"gpt2\" and \"vit\""},
      {{{"model_type", nullptr}}, "\"model_type\" is missing; qkv reads \"gpt2\" and \"vit\""}};
  for (const auto& [others, message] : mistakes) {
    EXPECT_THAT(std::string(vit(others).status().message()),
                StartsWith(std::string("config.json: ") + message));
  }
}

TEST(HuggingFaceConfigTest, WhatIsWrittenHasTheTokensThatBeginAndEndAText) {
  HuggingFaceConfig config;
  const auto written = [&](TextEnds ends) {
    return json::parse(hugging_face_config_json(config, DType::f32, ends));
  };
  EXPECT_EQ(written({.first_token = 3, .last_token = 0})["bos_token_id"], 3);
  EXPECT_EQ(written({.first_token = 3, .last_token = 0})["eos_token_id"], 0);
  EXPECT_TRUE(written({})["bos_token_id"].is_null());
  EXPECT_TRUE(written({})["eos_token_id"].is_null());
  config.kind = HuggingFaceKind::kVit;
  config.data.height = config.data.width = 4;
  EXPECT_EQ(written({})["image_size"], 4);
  config.data.width = 6;
  EXPECT_EQ(written({})["image_size"], (json{4, 6}));
  config.class_names = {"cat", "dog"};
  EXPECT_EQ(written({})["id2label"], (json{{"0", "cat"}, {"1", "dog"}}));
  EXPECT_EQ(written({})["label2id"], (json{{"cat", 0}, {"dog", 1}}));
}

}  // namespace
}  // namespace qkv
