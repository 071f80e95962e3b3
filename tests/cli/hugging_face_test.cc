// ./qkv export --hf, and what reads such a folder: train --from and eval.

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "framework/io/safetensors.h"
#include "tests/cli/command_line_fixture.h"

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

  std::map<std::string, std::vector<double>> weights(const std::string& run) {
    std::map<std::string, std::vector<double>> all;
    const auto file = read_safetensors(folder_ / (run + "/checkpoints/best.safetensors"));
    if (!file.ok()) return all;
    for (const auto& [name, array] : file->tensors) {
      if (!name.starts_with("optimizer.")) all[name] = array.to_vector();
    }
    return all;
  }

  const std::vector<std::string> keep_ = {"optimizer.learning_rate=0", "train.steps=1"};
};

TEST_F(HuggingFaceTest, WhatWasExportedComesBackWithTheSameBits) {
  export_tiny();
  const ProcessResult back = train("back", keep_, "there");
  expect_success(back);
  EXPECT_THAT(back.output,
              HasSubstr("begins with 20 of its 20 parameters from there/model.safetensors\n"));
  EXPECT_THAT(back.output, Not(HasSubstr("differs")));
  EXPECT_EQ(weights("back"), weights("run"));
  EXPECT_EQ(weights("back").size(), 20u);
  expect_success(qkv({"export", "back", "--hf", "again"}));
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
    EXPECT_EQ(in(std::string("again/") + file), in(std::string("there/") + file)) << file;
  }
}

TEST_F(HuggingFaceTest, AFolderIsJudgedOnATextAndWritesOne) {
  export_tiny();
  const auto loss = [&](const std::string& run) {
    return json::parse(qkv({"eval", run, "--text", "text.txt", "--json", "-"}).output)["loss"];
  };
  EXPECT_NEAR(loss("there").get<double>(), loss("run").get<double>(), 1e-6);
  const auto written = [&](const std::string& run) {
    return qkv({"generate", run, "--prompt", "the c", "--seed", "3"}).output;
  };
  EXPECT_EQ(written("there"), written("run"));
  expect_error(qkv({"eval", "there"}), 2,
               "there: holds weights without the data that they learned from; judge a text with "
               "--text FILE");
  std::filesystem::remove(folder_ / "there/tokenizer.json");
  expect_error(qkv({"eval", "there", "--text", "text.txt"}), 2,
               "there: holds no tokenizer.json, which says what its 11 tokens are");
  const ProcessResult other = train("other", keep_, "there");
  expect_success(other);
  EXPECT_THAT(unfolded(other.output),
              HasSubstr("not taken from there: token_embedding.weight (another vocabulary)"));
}

TEST_F(HuggingFaceTest, ARunTakesTheTokensOfTheFolder) {
  export_tiny({"data.tokens=bpe", "data.vocabulary_size=260"});
  EXPECT_EQ(in("there/tokenizer.json"), in("run/tokenizer.json"));
  // Another text, whose own byte pairs are others.
  write_bytes(folder_ / "text.txt",
              "a dog and a frog and a log and a bog and another dog and so on.");
  std::vector<std::string> settings = keep_;
  settings.insert(settings.end(), {"data.tokens=tokenizer", "data.tokenizer=there/tokenizer.json",
                                   "data.train_fraction=0.5"});
  const ProcessResult next = train("next", settings, "there");
  expect_success(next);
  EXPECT_THAT(next.output, Not(HasSubstr("not taken")));
  EXPECT_EQ(weights("next"), weights("run"));
  const ProcessResult judged = qkv({"eval", "there", "--text", "text.txt"});
  expect_success(judged);
  EXPECT_THAT(judged.output, HasSubstr("bits per byte"));
  expect_success(qkv({"eval", "next"}));
  expect_error(train("none", {"data.tokens=tokenizer"}), 2,
               "--set data.task=text: \"data.tokenizer\" is missing: data.tokens = "
               "\"tokenizer\" reads the tokens from a file; give one with --set "
               "data.tokenizer=FILE");
  write_bytes(folder_ / "there/tokenizer.json", R"({"pre_tokenizer":{},"model":{"type":"BPE"}})");
  expect_error(train("none", settings), 2,
               "there/tokenizer.json: tokenizer: its model is neither BPE nor WordLevel with a "
               "vocab");
}

TEST_F(HuggingFaceTest, AModelThatIsNotThereIsRefusedWithAllKeysInTheWay) {
  expect_success(train("run", {"model.norm=post", "model.position=rotary", "attention.window=3",
                               "model.bias=false"}));
  expect_error(qkv({"export", "run", "--hf", "there"}), 2,
               "run/checkpoints/best.safetensors: Hugging Face has no such model: model.position "
               "is \"rotary\", where \"learned\" would do; model.norm is \"post\", where \"pre\" "
               "would do; model.bias is false, where true would do; attention.window is 3, where "
               "0 would do");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "there"));
  expect_success(
      qkv({"train", "tiny.toml", "--out", "mean", "--set", "data.task=parity", "--set",
           "data.length=6", "--set", "model.kind=classifier", "--set", "model.pool=mean"}));
  expect_error(qkv({"export", "mean", "--hf", "there"}), 2,
               "mean/checkpoints/best.safetensors: Hugging Face has no such model: model.pool is "
               "\"mean\", where \"class_token\" would do");
}

TEST_F(HuggingFaceTest, ShapesThatClashAreNamedWithWhatWouldFit) {
  export_tiny();
  expect_error(train("wide", {"model.d_model=32", "data.length=12"}, "there"), 2,
               "there/model.safetensors: token_embedding.weight is f32[11, 16] there, but f32[11, "
               "32] in this model; what would fit: data.length = 8, model.d_model = 16");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "wide"));
  const ProcessResult other = train("heads", {"model.num_heads=4"}, "there");
  expect_success(other);
  EXPECT_THAT(other.output, HasSubstr("\nthe model differs: model.num_heads is 4, but was 2\n"));
}

TEST_F(HuggingFaceTest, EveryMistakeOfAConfigIsNamed) {
  export_tiny();
  change_config("n_layer", 0);
  change_config("n_head", 5);
  change_config("activation_function", "quick_gelu");
  change_config("scale_attn_by_inverse_layer_idx", true);
  const ProcessResult result = qkv({"eval", "there", "--text", "text.txt"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_EQ(result.errors,
            "error: there/config.json: \"n_layer\" must be an integer from 1 to 1048576, not 0\n"
            "error: there/config.json: \"n_embd\" is 16, which must be at most 65536 and a "
            "multiple of \"n_head\", which is 5\n"
            "error: there/config.json: \"scale_attn_by_inverse_layer_idx\" is true, where qkv has "
            "only false\n"
            "error: there/config.json: \"activation_function\" is \"quick_gelu\", where qkv has "
            "only \"gelu\", \"gelu_new\", \"gelu_pytorch_tanh\", \"relu\", \"silu\", \"swish\"\n");
  change_config("model_type", "llama");
  expect_error(train("run2", {}, "there"), 2,
               "there/config.json: \"model_type\" is \"llama\"; qkv reads \"gpt2\" and \"vit\"");
  write_bytes(folder_ / "there/config.json", "{");
  expect_error(train("run2", {}, "there"), 2, "there/config.json: is not a JSON object");
}

TEST_F(HuggingFaceTest, WeightsThatAreNotThoseOfTheConfigAreNamed) {
  export_tiny();
  change_weights([](TensorFile& file) {
    file.tensors.push_back({"h.0.attn.masked_bias", Array::full({}, DType::f32, -1e4)});
  });
  expect_success(qkv({"eval", "there", "--text", "text.txt"}));
  change_weights([](TensorFile& file) {
    file.tensors.push_back({"adapter.weight", Array::full({2}, DType::f32, 0.0)});
  });
  change_config("n_positions", 9);
  expect_error(qkv({"eval", "there", "--text", "text.txt"}), 1,
               "there/model.safetensors: transformer.wpe.weight is f32[8, 16], but config.json "
               "says [9, 16]; adapter.weight is not known");
  change_config("n_positions", 8);
  change_weights([](TensorFile& file) {
    std::erase_if(file.tensors, [](const NamedArray& named) {
      return named.name == "adapter.weight" || named.name == "transformer.ln_f.bias";
    });
  });
  expect_error(qkv({"eval", "there", "--text", "text.txt"}), 1,
               "there/model.safetensors: its config describes a larger model than the file holds");
  const ProcessResult part = train("part", keep_, "there");
  expect_success(part);
  EXPECT_THAT(part.output, HasSubstr("\nnot there, so they begin anew: final_norm.bias\n"));
}

TEST_F(HuggingFaceTest, AFolderOfAnotherProgramIsNotWrittenTo) {
  expect_success(train("run"));
  std::filesystem::create_directories(folder_ / "there");
  write_bytes(folder_ / "there/config.json", "{\n  \"architectures\": []}");
  expect_error(qkv({"export", "run", "--hf", "there"}), 2,
               "--hf: there/config.json exists and is a file of another kind, which would be lost; "
               "choose another name");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "there/model.safetensors"));
  write_bytes(folder_ / "file", "x");
  expect_error(qkv({"export", "run", "--hf", "file"}), 2,
               "cannot write file/config.json: Not a directory");
}

}  // namespace
}  // namespace qkv
