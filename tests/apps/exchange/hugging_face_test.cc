// ./qkv export --hf, ./qkv import, and what the run that it makes is for: train --from and eval.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

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
  EXPECT_EQ(weights("in"), weights("run"));
  EXPECT_EQ(imported().output, "wrote in\n");
  EXPECT_EQ(in("in/checkpoints/last.safetensors"), in("in/checkpoints/best.safetensors"));
  const ProcessResult back = train("back", keep_, "in");
  expect_success(back);
  EXPECT_THAT(
      back.output,
      HasSubstr(
          "begins with 20 of its 20 parameters from in/checkpoints/best.safetensors, step 0\n"));
  EXPECT_THAT(back.output, Not(HasSubstr("differs")));
  EXPECT_EQ(weights("back"), weights("run"));
  EXPECT_EQ(weights("back").size(), 20u);
  for (const char* run : {"back", "in"}) {
    expect_success(qkv({"export", run, "--hf", "again"}));
    for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
      EXPECT_EQ(in(std::string("again/") + file), in(std::string("there/") + file)) << file;
    }
  }
}

TEST_F(HuggingFaceTest, WhatWasImportedIsARunLikeAnyOther) {
  export_tiny();
  expect_success(qkv({"import", "there/"}));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "runs/there/checkpoints/best.safetensors"));
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"info", "in"},
                                             {"explain", "in", "--prompt", "the c", "--text"},
                                             {"export", "in", "--onnx", "x.onnx"},
                                             {"runs", "runs"},
                                             {"eval", "in", "--set", "data.path=text.txt"}}) {
    if (!has_verb(command[0])) continue;
    const ProcessResult result = qkv(command);
    EXPECT_EQ(result.exit_status, 0) << command[0] << result.errors;
  }
  const std::string best = "in/checkpoints/best.safetensors";
  expect_error(qkv({"eval", "in"}), 2,
               best +
                   ": holds weights without the data that they learned from; judge a text with "
                   "--text FILE");
  expect_error(qkv({"train", "in", "--resume", "--set", "data.path=text.txt"}), 2,
               "in/checkpoints/last.safetensors: was imported; begin a run with --from in");
  expect_error(qkv({"import", "there", "--out", "in"}), 2,
               "in holds another run; continue it with --resume, choose another folder with --out, "
               "or remove it");
  expect_error(qkv({"import", "run"}), 2, "cannot read run/config.json: No such file or directory");
  const std::string instead =
      "there holds no run; if it is a model of another program, qkv import there makes a run of it";
  expect_error(qkv({"eval", "there"}), 2, instead);
  expect_error(train("none", {}, "there"), 2, "train.from: " + instead);
}

TEST_F(HuggingFaceTest, ImagesComeInAndNamesOfClassesMayBeOfSeveralWords) {
  expect_success(
      qkv({"train", "tiny.toml", "--out", "run", "--set", "data.task=shapes", "--set",
           "model.kind=classifier", "--set", "train.steps=3", "--set", "model.patch_size=4"}));
  expect_success(qkv({"export", "run", "--hf", "there"}));
  EXPECT_EQ(imported().output, "wrote in\n");
  EXPECT_EQ(weights("in"), weights("run"));
  expect_error(qkv({"eval", "in"}), 2,
               "in/checkpoints/best.safetensors: holds weights without the data that they learned "
               "from; name some with --set data.path=FOLDER, or begin a run with them: qkv train "
               "CONFIG --from RUN");
  json labels = json::parse(in("there/config.json"))["id2label"];
  labels["0"] = "a shape";
  labels["1"] = "a shape";
  change_config("id2label", labels);
  expect_success(imported());
  expect_success(qkv({"export", "in", "--hf", "again"}));
  EXPECT_EQ(json::parse(in("again/config.json"))["id2label"], labels);
}

TEST_F(HuggingFaceTest, AFolderIsJudgedOnATextAndWritesOne) {
  export_tiny();
  const auto loss = [&](const std::string& run) {
    return json::parse(qkv({"eval", run, "--text", "text.txt", "--json", "-"}).output)["loss"];
  };
  EXPECT_NEAR(loss("in").get<double>(), loss("run").get<double>(), 1e-6);
  const auto written = [&](const std::string& run) {
    return qkv({"generate", run, "--prompt", "the c", "--seed", "3"}).output;
  };
  EXPECT_EQ(written("in"), written("run"));
  write_bytes(folder_ / "other.txt",
              "a dog and a frog and a log and a bog and another dog and so on.");
  const ProcessResult other =
      train("other", {"data.path=other.txt", "data.train_fraction=0.5"}, "in");
  expect_success(other);
  EXPECT_THAT(unfolded(other.output),
              HasSubstr("not taken from there: token_embedding.weight (another vocabulary)"));
  std::filesystem::remove(folder_ / "there/tokenizer.json");
  expect_error(imported(), 2,
               "there: holds no tokenizer.json, which says what its 11 tokens are; in Python, from "
               "transformers import AutoTokenizer, and "
               "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)");
}

TEST_F(HuggingFaceTest, ARunTakesTheTokensOfTheFolder) {
  export_tiny({"data.tokens=bpe", "data.vocabulary_size=260"});
  EXPECT_EQ(in("there/tokenizer.json"), in("run/tokenizer.json"));
  EXPECT_EQ(in("in/tokenizer.json"), in("run/tokenizer.json"));
  // Another text, whose own byte pairs are others.
  write_bytes(folder_ / "text.txt",
              "a dog and a frog and a log and a bog and another dog and so on.");
  std::vector<std::string> settings = keep_;
  settings.insert(settings.end(), {"data.tokens=tokenizer", "data.tokenizer=in/tokenizer.json",
                                   "data.train_fraction=0.5"});
  const ProcessResult next = train("next", settings, "in");
  expect_success(next);
  EXPECT_THAT(next.output, Not(HasSubstr("not taken")));
  EXPECT_EQ(weights("next"), weights("run"));
  const ProcessResult judged = qkv({"eval", "in", "--text", "text.txt"});
  expect_success(judged);
  EXPECT_THAT(judged.output, HasSubstr("bits per byte"));
  expect_success(qkv({"eval", "next"}));
  expect_error(train("none", {"data.tokens=tokenizer"}), 2,
               "--set data.task=text: \"data.tokenizer\" is missing: data.tokens = "
               "\"tokenizer\" reads the tokens from a file; give one with --set "
               "data.tokenizer=FILE");
  const std::string
      wrong = R"({"model":{"type":"BPE"}})",
      why =
          "/tokenizer.json: tokenizer: \"pre_tokenizer.type\" is null, where qkv has only "
          "\"ByteLevel\"; make a tokenizer with that";
  for (const char* folder : {"in", "there"}) {
    write_bytes(folder_ / (std::string(folder) + "/tokenizer.json"), wrong);
  }
  expect_error(train("none", settings), 2, "in" + why);
  expect_error(imported(), 2, "there" + why);
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
  expect_error(
      train("wide", {"model.d_model=32", "data.length=12"}, "in"), 2,
      "in/checkpoints/best.safetensors: token_embedding.weight is f32[11, 16] there, but f32[11, "
      "32] in this model; what would fit: data.length = 8, model.d_model = 16");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "wide"));
  const ProcessResult other = train("heads", {"model.num_heads=4"}, "in");
  expect_success(other);
  EXPECT_THAT(other.output, HasSubstr("\nthe model differs: model.num_heads is 4, but was 2\n"));
}

TEST_F(HuggingFaceTest, EveryMistakeOfAConfigIsNamed) {
  export_tiny();
  change_config("n_layer", 0);
  change_config("n_head", 5);
  change_config("activation_function", "quick_gelu");
  change_config("scale_attn_by_inverse_layer_idx", true);
  const ProcessResult result = imported();
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
  expect_error(imported(), 2,
               "there/config.json: \"model_type\" is \"llama\"; qkv reads \"gpt2\" and \"vit\"");
  write_bytes(folder_ / "there/config.json", "{");
  expect_error(imported(), 2,
               "there/config.json: is not JSON: at line 1, column 2: unexpected end of input; "
               "expected string literal");
}

TEST_F(HuggingFaceTest, WeightsThatAreNotThoseOfTheConfigAreNamed) {
  export_tiny();
  change_weights([](TensorFile& file) {
    file.tensors.push_back({"h.0.attn.masked_bias", Array::full({}, DType::f32, -1e4)});
  });
  expect_success(imported());
  change_config("n_positions", 9);
  expect_error(imported(), 1,
               "there/model.safetensors: transformer.wpe.weight is f32[8, 16], but config.json "
               "says [9, 16]");
  change_config("n_positions", 8);
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

  // The bits of a multiple of 2^-10 below 2.
  static uint16_t half_of(double number) {
    if (number == 0) return 0;
    int exponent = 0;
    const double fraction = std::frexp(std::abs(number), &exponent);
    return static_cast<uint16_t>((number < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                                 static_cast<int>((2 * fraction - 1) * 1024));
  }

  // Multiples of 2^-10, in F32 or F16.
  void round_weights(bool in_halves) {
    std::string data;
    json header = json::object();
    const auto add = [&](const NamedArray& named, const char* type, const std::string& bytes) {
      const std::vector<int64_t> shape(named.array.shape().begin(), named.array.shape().end());
      header[named.name] = {{"dtype", type},
                            {"shape", shape},
                            {"data_offsets", {data.size(), data.size() + bytes.size()}}};
      data += bytes;
    };
    const TensorFile file = read_safetensors(folder_ / kWeights).value();
    for (const NamedArray& named : file.tensors) {
      std::string bytes;
      for (const double number : named.array.to_vector()) {
        const double rounded = std::round(number * 1024) / 1024;
        const auto wide = static_cast<float>(rounded);
        const uint16_t half = half_of(rounded);
        bytes += in_halves ? std::string(reinterpret_cast<const char*>(&half), sizeof half)
                           : std::string(reinterpret_cast<const char*>(&wide), sizeof wide);
      }
      add(named, in_halves ? "F16" : "F32", bytes);
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    write_bytes(folder_ / kWeights,
                std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data);
  }
};

TEST_F(PublishedFolderTest, HalvesAreWidened) {
  export_tiny();
  round_weights(false);
  const double wide = loss();
  round_weights(true);
  const ProcessResult halves = judged();
  expect_success(halves);
  EXPECT_EQ(json::parse(halves.output)["loss"].get<double>(), wide);
  NEEDS_VERBS("info");
  const ProcessResult told = qkv({"info", kWeights});
  EXPECT_EQ(told.exit_status, 0);
  EXPECT_EQ(told.errors, "note: tensors of the type F16 are shown as f32\n");
  EXPECT_THAT(told.output, HasSubstr("transformer.wte.weight"));
}

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
  change_config("vocab_size", 10);
  expect_error(judged(), 2,
               "there/tokenizer.json: has 11 tokens, but \"vocab_size\" of config.json is 10");
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

TEST_F(PublishedFolderTest, AFolderWithAPickleSaysHowToConvertIt) {
  export_tiny();
  std::filesystem::remove(folder_ / kWeights);
  expect_error(judged(), 2, "cannot read there/model.safetensors: No such file or directory");
  write_bytes(folder_ / "there/pytorch_model.bin", std::string("PK\3\4\0\0\b\b", 8) + "and so on");
  const std::string why =
      "there/pytorch_model.bin: not a safetensors file: it is a pickle of PyTorch, which is a "
      "program; in Python, from safetensors.torch import save_file, and "
      "save_file(torch.load(FILE, weights_only=True), NEW_FILE)";
  expect_error(judged(), 1, why);
  NEEDS_VERBS("info");
  expect_error(qkv({"info", "there/pytorch_model.bin"}), 1, why);
}

TEST_F(PublishedFolderTest, TensorsThatNobodyNeedsAreNotLookedAt) {
  export_tiny();
  const double before = loss();
  change_weights([](TensorFile& file) {
    file.tensors.push_back({"h.0.attn.bias", Array::full({2}, DType::f32, NAN)});
    file.tensors.push_back({"adapter.weight", Array::full({2}, DType::boolean, 1)});
  });
  // A type that qkv does not know, in a header without checksums.
  round_weights(false);
  std::string bytes = in(kWeights);
  bytes.replace(bytes.find("\"F32\"", bytes.find("\"adapter.weight\"")), 5, "\"I32\"");
  write_bytes(folder_ / kWeights, bytes);
  const ProcessResult now = judged();
  expect_success(now);
  EXPECT_NEAR(json::parse(now.output)["loss"].get<double>(), before, 1e-3);
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

TEST_F(PublishedFolderTest, AFieldThatIsNotDoneIsRefusedByItsName) {
  export_tiny({"data.tokens=bpe", "data.vocabulary_size=260"});
  json tokenizer = json::parse(in("there/tokenizer.json"));
  tokenizer["normalizer"] = {{"type", "Lowercase"}};
  write_bytes(folder_ / "there/tokenizer.json", tokenizer.dump());
  expect_error(
      judged(), 2,
      "there/tokenizer.json: tokenizer: \"normalizer.type\" is \"Lowercase\", where qkv has "
      "only null; make a tokenizer with that");
}

TEST_F(PublishedFolderTest, ATextShorterThanTheContextNamesTheWayOut) {
  export_tiny();
  write_bytes(folder_ / "short.txt", "the cat");
  expect_error(qkv({"eval", "in", "--text", "short.txt"}), 2,
               "short.txt: is too short: 7 of its 7 tokens are for validation, but a window of "
               "data.length = 8 needs 9; use a longer text, or --set data.length=6 or less");
  expect_success(qkv({"eval", "in", "--text", "short.txt", "--set", "data.length=6"}));
}

TEST_F(PublishedFolderTest, NoFileIsWaitedFor) {
  export_tiny({"data.tokens=bpe", "data.vocabulary_size=260"});
  const auto replace_by_pipe = [&](const std::string& name) {
    std::filesystem::rename(folder_ / name, folder_ / "kept");
    ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
  };
  const auto put_back = [&](const std::string& name) {
    std::filesystem::rename(folder_ / "kept", folder_ / name);
  };
  for (const std::string name : {"there/config.json", "there/tokenizer.json", kWeights}) {
    replace_by_pipe(name);
    expect_error(judged(), 1, "cannot read " + name + ": it is not a regular file");
    put_back(name);
  }
  const std::string name = "there/tokenizer.json";
  replace_by_pipe(name);
  expect_error(train("next", {"data.tokens=tokenizer", "data.tokenizer=" + name}), 1,
               "cannot read " + name + ": it is not a regular file");
  std::filesystem::create_directory(folder_ / "folder");
  expect_error(train("next", {"data.tokens=tokenizer", "data.tokenizer=folder"}), 2,
               "cannot read folder: Is a directory");
  expect_error(train("next", {"data.tokens=tokenizer", "data.tokenizer=/dev/zero"}), 1,
               "cannot read /dev/zero: it is not a regular file");
  put_back(name);
  ASSERT_EQ(::mkfifo((folder_ / "pipe.toml").c_str(), 0600), 0);
  expect_error(qkv({"config", "pipe.toml"}), 1,
               "cannot read pipe.toml: it is a pipe that nobody writes to");
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
