// Runs of the tasks "pairs" and "classes": train, eval and predict, from files of the user's.

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace qkv
