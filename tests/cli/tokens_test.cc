// Runs whose tokens are bytes, words or byte pairs: every verb knows them from the checkpoint.

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class TokensTest : public CommandLineFixture, public testing::WithParamInterface<std::string> {
 protected:
  TokensTest() {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      absl::StrAppend(&text, "das Öl und die ", i % 7 == 0 ? "Straße" : "Mühle", " ", i % 10, "\n");
    }
    write_bytes(folder_ / "text.txt", text);
    write_bytes(folder_ / "text.toml", config("text"));
    write_bytes(folder_ / "lines.toml", config("lines"));
  }

  static std::string config(const std::string& task) {
    const bool learned = GetParam() == "words" || GetParam() == "bpe";
    return absl::StrCat("name = \"", task, "\"\n[data]\ntask = \"", task,
                        "\"\npath = \"text.txt\"\ntokens = \"", GetParam(), "\"\n",
                        learned ? "vocabulary_size = 280\n" : "",
                        task == "text" ? "length = 8\n" : "",
                        "[model]\nnum_layers = 1\nd_model = 16\nnum_heads = 2\nd_ff = 32\n"
                        "[optimizer]\nlearning_rate = 1e-2\nwarmup_steps = 0\n[train]\nsteps = 8\n"
                        "batch_size = 4\neval_interval = 4\n");
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, TokensTest, testing::Values("bytes", "words", "bpe"),
                         [](const auto& each) { return each.param; });

TEST_P(TokensTest, ACheckpointAloneGeneratesAndIsEvaluated) {
  for (const std::string task : {"text", "lines"}) {
    const std::string run = absl::StrCat("runs/", task);
    expect_success(qkv({"train", absl::StrCat(task, ".toml")}));
    const std::string tokenizer = in(run + "/tokenizer.json");
    EXPECT_THAT(tokenizer, HasSubstr(GetParam() == "words" ? "WordLevel" : "BPE"));
    const ProcessResult all = qkv({"eval", run});
    expect_success(all);
    std::filesystem::remove(folder_ / (run + "/tokenizer.json"));
    std::filesystem::rename(folder_ / "text.txt", folder_ / "other.txt");
    const ProcessResult written = qkv({"generate", run, "--prompt", "das Öl", "--json", "-"});
    expect_success(written);
    const json texts = json::parse(written.output)["texts"];
    EXPECT_EQ(texts[0]["prompt"], "das Öl");
    expect_success(qkv({"generate", run, "--prompt", "", "--beam", "2"}));
    const json judged =
        json::parse(qkv({"eval", run, "--text", "other.txt", "--json", "-"}).output);
    EXPECT_EQ(judged.contains("bits_per_byte"), judged.value("unknown_tokens", 0) == 0);
    std::filesystem::rename(folder_ / "other.txt", folder_ / "text.txt");
  }
}

TEST_P(TokensTest, BitsPerByteCountBytes) {
  expect_success(qkv({"train", "text.toml"}));
  // The first token is a line end, and no target.
  const std::string text = "\ndas Öl und die Mühle 3\ndas Öl und die Straße 4\n";
  write_bytes(folder_ / "short.txt", text);
  const json e =
      json::parse(qkv({"eval", "runs/text", "--text", "short.txt", "--json", "-"}).output);
  EXPECT_NEAR(e["perplexity"].get<double>(), std::exp(e["loss"].get<double>()), 1e-9);
  const double bits = e["loss"].get<double>() * e["tokens"].get<double>() / std::log(2.0);
  EXPECT_NEAR(e["bits_per_byte"].get<double>() * static_cast<double>(text.size() - 1), bits, 1e-6);
}

TEST_P(TokensTest, AStoppedRunGoesOnToTheSameBits) {
  expect_success(qkv({"train", "text.toml"}));
  expect_success(
      qkv({"train", "text.toml", "--out", "runs/half", "--set", "train.max_minutes=1e-9"}));
  expect_success(qkv(
      {"train", "text.toml", "--out", "runs/half", "--resume", "--set", "train.max_minutes=0"}));
  EXPECT_EQ(in("runs/half/samples.txt"), in("runs/text/samples.txt"));
  EXPECT_EQ(in("runs/half/tokenizer.json"), in("runs/text/tokenizer.json"));
  expect_success(qkv({"train", "text.toml", "--out", "runs/more", "--from", "runs/text"}));
  EXPECT_THAT(qkv({"train", "text.toml", "--out", "runs/other", "--from", "runs/text", "--set",
                   "data.tokens=characters"})
                  .output,
              HasSubstr("(another vocabulary)"));
}

TEST_P(TokensTest, ItIsShownAndExplained) {
  expect_success(qkv({"train", "text.toml"}));
  const ProcessResult data = qkv({"data", "text.toml"});
  expect_success(data);
  EXPECT_THAT(data.output, HasSubstr("vocabulary   "));
  EXPECT_THAT(data.output, Not(HasSubstr(" tokens: ")));
  NEEDS_VERBS("explain", "info");
  EXPECT_THAT(qkv({"info", "runs/text"}).output, HasSubstr("tokenizer"));
  expect_success(qkv({"explain", "runs/text", "--prompt", "das Öl", "--out", "page.html"}));
}

}  // namespace
}  // namespace qkv
