// ./qkv export --hf, ./qkv import, and what the run that it makes is for: train --from and eval.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "apps/exchange/hugging_face/folder.h"
#include "framework/io/safetensors.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class HuggingFaceTest : public CommandLineFixture {
 protected:
  HuggingFaceTest() {
    std::string text;
    for (int i = 0; i < 30; ++i) text += "the cat sat on the mat. ";
    write_bytes(folder_ / "text.txt", text);
  }

  ProcessResult imported(const std::string& out = "in") {
    std::filesystem::remove_all(folder_ / out);
    return qkv({"import", "there", "--out", out});
  }

  ProcessResult train(const std::string& out, std::vector<std::string> settings = {},
                      const std::string& from = "") {
    std::vector<std::string> command = {"train", "tiny.toml", "--out", out};
    settings.insert(settings.begin(), {"data.task=text", "data.path=text.txt", "data.alphabet=10",
                                       "data.length=8", "train.steps=3"});
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    if (!from.empty()) command.insert(command.end(), {"--from", from});
    return qkv(command);
  }

  void export_tiny(const std::vector<std::string>& settings = {}) {
    expect_success(train("run", settings));
    expect_success(qkv({"export", "run", "--hf", "there"}));
    expect_success(imported());
  }

  void change_config(const std::string& key, const json& value) {
    json config = json::parse(in("there/config.json"));
    config[key] = value;
    write_bytes(folder_ / "there/config.json", config.dump());
  }

  void change_weights(const std::function<void(TensorFile&)>& change) {
    const std::string path = folder_ / "there/model.safetensors";
    absl::StatusOr<TensorFile> file = read_safetensors(path);
    ASSERT_TRUE(file.ok()) << file.status();
    change(*file);
    ASSERT_TRUE(write_safetensors(path, *file).ok());
  }

  const std::vector<std::string> keep_ = {"optimizer.learning_rate=0", "train.steps=1"};
};

TEST_F(HuggingFaceTest, WeightsThatAreNotThoseOfTheConfigAreNamed) {
  export_tiny();
  change_weights([](TensorFile& file) {
    file.tensors.push_back({"h.0.attn.masked_bias", Array::full({}, DType::f32, -1e4)});
  });
  expect_success(imported());
  change_weights([](TensorFile& file) {
    std::erase_if(file.tensors,
                  [](const NamedArray& named) { return named.name == "transformer.ln_f.bias"; });
  });
  expect_success(imported());
  expect_error(
      qkv({"eval", "in", "--text", "text.txt"}), 1,
      "in/checkpoints/best.safetensors: its config describes a larger model than the file holds");
  const ProcessResult part = train("part", keep_, "in");
  expect_success(part);
  EXPECT_THAT(part.output, HasSubstr("\nnot there, so they begin anew: final_norm.bias\n"));
}

// ---- folders as others publish them -------------------------------------------------------------

class PublishedFolderTest : public HuggingFaceTest {
 protected:
  static constexpr char kWeights[] = "there/model.safetensors";

  // What import says where it fails, and eval where it does not.
  ProcessResult judged() {
    ProcessResult import = imported();
    if (import.exit_status != 0) return import;
    return qkv({"eval", "in", "--text", "text.txt", "--json", "-"});
  }
  double loss() { return json::parse(judged().output)["loss"].get<double>(); }
};

TEST_F(PublishedFolderTest, RowsWithoutTokensAreLeftOut) {
  export_tiny({"model.tie_embeddings=false"});
  const double before = loss();
  const auto written = [&] {
    return qkv({"generate", "in", "--prompt", "the c", "--seed", "3"}).output;
  };
  const std::string text = written();
  change_config("vocab_size", 16);
  change_weights([](TensorFile& file) {
    for (auto& [name, array] : file.tensors) {
      if (name != "transformer.wte.weight" && name != "lm_head.weight") continue;
      std::vector<double> rows = array.to_vector();
      rows.resize(size_t{16} * 16, 9.0);
      array = Array::of({16, 16}, DType::f32, rows);
    }
  });
  const std::string note =
      "note: there/model.safetensors: the last 5 of 16 rows of the token embedding are left out: "
      "tokenizer.json has 11 tokens\n";
  EXPECT_EQ(imported().errors, note);
  EXPECT_EQ(loss(), before);
  EXPECT_EQ(written(), text);
  std::vector<std::string> settings = keep_;
  settings.emplace_back("model.tie_embeddings=false");
  const ProcessResult next = train("next", settings, "in");
  expect_success(next);
  EXPECT_THAT(next.output, Not(HasSubstr("not taken")));
}

TEST_F(PublishedFolderTest, SeveralFilesAreFoundByTheirIndex) {
  export_tiny();
  const double before = loss();
  const TensorFile whole = read_safetensors(folder_ / kWeights).value();
  TensorFile files[2];
  json map = json::object();
  for (size_t i = 0; i < whole.tensors.size(); ++i) {
    files[i % 2].tensors.push_back(whole.tensors[i]);
    map[whole.tensors[i].name] = i % 2 ? "model-2.safetensors" : "model-1.safetensors";
  }
  for (const size_t i : {0, 1}) {
    const std::string name = "there/model-" + std::to_string(i + 1) + ".safetensors";
    ASSERT_TRUE(write_safetensors(folder_ / name, files[i]).ok());
  }
  std::filesystem::remove(folder_ / kWeights);
  const std::string index = "there/model.safetensors.index.json";
  write_bytes(folder_ / index,
              json({{"metadata", {{"total_size", 1}}}, {"weight_map", map}}).dump());
  const ProcessResult now = judged();
  expect_success(now);
  EXPECT_EQ(json::parse(now.output)["loss"].get<double>(), before);
  std::filesystem::remove(folder_ / "there/model-2.safetensors");
  expect_error(judged(), 2, "cannot read there/model-2.safetensors: No such file or directory");
  map[whole.tensors[0].name] = "../model.safetensors";
  write_bytes(folder_ / index, json({{"weight_map", map}}).dump());
  expect_error(judged(), 1,
               index + ": the file of \"" + whole.tensors[0].name +
                   "\" is \"../model.safetensors\", which is not the name of a file beside it");
  write_bytes(folder_ / index, "{}");
  expect_error(judged(), 1, index + ": is not a JSON object with a weight_map");
}

TEST_F(PublishedFolderTest, TensorsThatNobodyNeedsAreNotLookedAt) {
  export_tiny();
  const double before = loss();
  change_weights([](TensorFile& file) {
    file.tensors.push_back({"h.0.attn.bias", Array::full({2}, DType::f32, NAN)});
    file.tensors.push_back({"adapter.weight", Array::full({2}, DType::f32, 1)});
  });
  // A type that qkv does not know, in a header as other programs write it, without checksums.
  const std::string bytes = in(kWeights);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  json header = json::parse(bytes.substr(sizeof length, length));
  const std::string numbers = bytes.substr(sizeof length + length);
  header.erase("__metadata__");
  header["adapter.weight"]["dtype"] = "I32";
  const std::string text = header.dump();
  length = text.size();
  write_bytes(folder_ / kWeights,
              std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + numbers);
  const ProcessResult now = judged();
  expect_success(now);
  EXPECT_EQ(json::parse(now.output)["loss"].get<double>(), before);
  NEEDS_VERBS("info");
  const ProcessResult told = qkv({"info", kWeights});
  EXPECT_EQ(told.errors, "note: tensors of the type I32 are left out\n");
}

// As OpenAI's GPT-2: without a type of the model, with a token that ends a text.
TEST_F(PublishedFolderTest, TheTokenizerOfGpt2IsRead) {
  export_tiny({"data.tokens=bpe", "data.vocabulary_size=260"});
  const double before = loss();
  json tokenizer = json::parse(in("there/tokenizer.json"));
  json& model = tokenizer["model"];
  model = {{"dropout", nullptr},       {"unk_token", nullptr},
           {"fuse_unk", false},        {"continuing_subword_prefix", ""},
           {"end_of_word_suffix", ""}, {"vocab", model["vocab"]},
           {"merges", model["merges"]}};
  tokenizer["post_processor"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};
  for (const char* step : {"pre_tokenizer", "decoder"}) tokenizer[step].erase("use_regex");
  write_bytes(folder_ / "there/tokenizer.json", tokenizer.dump());
  EXPECT_EQ(loss(), before);
  // One more token, which is found in a text and written as it is.
  tokenizer["added_tokens"] = {{{"id", 260},
                                {"special", true},
                                {"content", "<|end|>"},
                                {"single_word", false},
                                {"lstrip", false},
                                {"rstrip", false},
                                {"normalized", true}}};
  write_bytes(folder_ / "there/tokenizer.json", tokenizer.dump());
  change_config("vocab_size", 261);
  change_weights([](TensorFile& file) {
    for (auto& [name, array] : file.tensors) {
      if (name != "transformer.wte.weight") continue;
      std::vector<double> rows = array.to_vector();
      rows.resize(rows.size() + 16, 0.5);
      array = Array::of({261, 16}, DType::f32, rows);
    }
  });
  expect_success(imported());
  write_bytes(folder_ / "ended.txt", in("text.txt") + "<|end|>" + in("text.txt"));
  const auto tokens = [&](const std::string& text) {
    return json::parse(qkv({"eval", "in", "--text", text, "--json", "-"}).output)["tokens"]
        .get<int64_t>();
  };
  EXPECT_EQ(tokens("ended.txt"), 2 * tokens("text.txt") + 2);
  const ProcessResult written =
      qkv({"generate", "in", "--prompt", "the<|end|>", "--max-new-tokens", "0"});
  EXPECT_THAT(written.output, HasSubstr("the<|end|>"));
}

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
      {{{"image_size", {4}}}, "\"image_size\" must be an integer or two, not a list"},
      {{{"num_hidden_layers", 4097}}, "\"num_hidden_layers\" must be at most 4096, not 4097"},
      {{{"layer_norm_eps", 0}}, "\"layer_norm_eps\" must be above 0"},
      {{{"layer_norm_eps", 1}},
       "\"layer_norm_eps\" must be a number of at least 0 and below 1, not 1"},
      {{{"qkv_bias", false}}, "\"qkv_bias\" is false, where qkv has only true"},
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
