// Runs of the tasks "pairs" and "classes": train, eval and predict, from files of the user's.

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class PredictTest : public CommandLineFixture {
 protected:
  PredictTest() {
    // The answer is the question; the class is its first letter.
    std::string pairs, texts;
    const std::string letters = "abc";
    for (int i = 0; i < 81; ++i) {
      const std::string word = {letters[i % 3], letters[i / 3 % 3], letters[i / 9 % 3],
                                letters[i / 27]};
      absl::StrAppend(&pairs, word, "\t", word.substr(0, 2 + i % 3), "\n");
      absl::StrAppend(&texts, "begins with ", word.substr(0, 1), "\t", word, "\n");
    }
    std::filesystem::create_directory(folder_ / "data");
    write_bytes(folder_ / "data/pairs.tsv", pairs);
    write_bytes(folder_ / "data/texts.tsv", texts);
    write_bytes(folder_ / "data/pairs.toml", config("pairs", "pairs.tsv", "decoder"));
    write_bytes(folder_ / "data/texts.toml", config("classes", "texts.tsv", "classifier"));
  }

  static std::string config(const std::string& task, const std::string& path,
                            const std::string& kind) {
    return absl::StrCat("name = \"", task, "\"\n[data]\ntask = \"", task, "\"\npath = \"", path,
                        "\"\ntrain_fraction = 0.7\n[model]\nkind = \"", kind,
                        "\"\nnum_layers = 1\nd_model = 16\nnum_heads = 2\nd_ff = 32\n[optimizer]\n"
                        "learning_rate = 1e-2\nwarmup_steps = 0\n[train]\nsteps = 60\n"
                        "batch_size = 16\neval_interval = 30\n");
  }

  std::vector<std::string> lines_of(const std::string& text) {
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }
};

TEST_F(PredictTest, APathBeginsAtTheConfigAndIsFoundFromEveryFolder) {
  expect_success(qkv({"train", "data/pairs.toml"}));
  EXPECT_THAT(in("runs/pairs/config.toml"), HasSubstr("path = \"data/pairs.tsv\""));
  const ProcessResult here = qkv({"eval", "runs/pairs", "--json", "-"});
  expect_success(here);
  std::filesystem::create_directory(folder_ / "elsewhere");
  ProcessOptions elsewhere;
  elsewhere.folder = folder_ / "elsewhere";
  const ProcessResult there =
      run_process({QKV_BINARY, "eval", folder_ / "runs/pairs", "--json", "-"}, elsewhere);
  expect_success(there);
  EXPECT_EQ(json::parse(here.output)["loss"], json::parse(there.output)["loss"]);
  // from there it goes on, too; the path is another one, but the file is the same
  const ProcessResult resumed =
      run_process({QKV_BINARY, "train", folder_ / "data/pairs.toml", "--out",
                   folder_ / "runs/pairs", "--resume", "--set", "train.steps=61"},
                  elsewhere);
  expect_success(resumed);
  EXPECT_THAT(resumed.output, HasSubstr("continuing after step 60"));
  std::filesystem::rename(folder_ / "data", folder_ / "gone");
  EXPECT_EQ(qkv({"eval", "runs/pairs"}).exit_status, 2);
  expect_success(qkv({"eval", "runs/pairs", "--text", "gone/pairs.tsv"}));
}

TEST_F(PredictTest, ClassesAreToldFromTextsAndTheirConfusionIsShown) {
  expect_success(qkv({"train", "data/texts.toml"}));
  const json e = json::parse(qkv({"eval", "runs/classes", "--json", "-"}).output);
  EXPECT_EQ(e["classes"], (json{"begins with a", "begins with b", "begins with c"}));
  int64_t all = 0, right = 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) all += e["confusion"][i][j].get<int64_t>();
    right += e["confusion"][i][i].get<int64_t>();
  }
  EXPECT_EQ(all, e["sequences"].get<int64_t>());
  EXPECT_DOUBLE_EQ(static_cast<double>(right) / static_cast<double>(all),
                   e["sequence_accuracy"].get<double>());
  EXPECT_FALSE(e.contains("top5_accuracy"));
  const std::string text = qkv({"eval", "runs/classes"}).output;
  EXPECT_THAT(text, HasSubstr("  class          examples  precision"));
  EXPECT_THAT(text, HasSubstr("  answered:      begins with a  begins with b  begins with c\n"));
  // The file itself as questions: predict is right as often as eval says.
  const json whole =
      json::parse(qkv({"eval", "runs/classes", "--text", "data/texts.tsv", "--json", "-"}).output);
  int64_t predicted = 0;
  for (const std::string& line :
       lines_of(qkv({"predict", "runs/classes", "data/texts.tsv", "--format", "json"}).output)) {
    predicted += json::parse(line)["right"].get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(whole["sequences"], 81);
  EXPECT_NEAR(static_cast<double>(predicted) / 81.0, whole["sequence_accuracy"].get<double>(),
              1e-12);
  write_bytes(folder_ / "plain.txt", "abca\ncab\n");
  EXPECT_EQ(lines_of(qkv({"predict", "runs/classes", "plain.txt"}).output).size(), 2u);
  expect_error(qkv({"generate", "runs/classes", "--prompt", "abc"}), 2,
               "runs/classes/checkpoints/best.safetensors: the model classifies texts; qkv predict "
               "RUN FILE asks it for their classes");
  write_bytes(folder_ / "other.tsv", "good\tabc\nbegins with a\txyz\n");
  EXPECT_THAT(qkv({"eval", "runs/classes", "--text", "other.tsv"}).errors,
              HasSubstr("other.tsv:1: unknown class \"good\""));
}

TEST_F(PredictTest, AnotherTextIsJudgedWhole) {
  write_bytes(folder_ / "text.txt", std::string(300, 'a') + std::string(300, 'b'));
  write_bytes(folder_ / "other.txt", "abab\nx");
  expect_success(qkv({"train", "tiny.toml", "--set", "data.task=text", "--set",
                      "data.path=text.txt", "--set", "data.alphabet=10"}));
  write_bytes(folder_ / "short.txt", "abababab");
  const json e =
      json::parse(qkv({"eval", "runs/tiny", "--text", "short.txt", "--json", "-"}).output);
  EXPECT_EQ(e["tokens"], 7);
  EXPECT_NEAR(e["perplexity"].get<double>(), std::exp(e["loss"].get<double>()), 1e-9);
  EXPECT_NEAR(e["bits_per_byte"].get<double>(), e["loss"].get<double>() / std::log(2.0), 1e-9);
  EXPECT_THAT(qkv({"eval", "runs/tiny", "--text", "other.txt"}).errors,
              HasSubstr("other.txt:1: unknown character 5: \"\\n\""));
  expect_error(qkv({"eval", "runs/tiny", "--text", "short.txt", "--split", "train"}), 2,
               "--text and --split train exclude each other: nothing was trained on the text");
}

}  // namespace
}  // namespace qkv
