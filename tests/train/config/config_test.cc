#include "train/config/config.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/temporary_folder.h"
#include "tests/train/config/parsed.h"

namespace qkv {
namespace {

TEST(ConfigTest, AnEmptyFileIsTheDefaults) {
  EXPECT_EQ(config_changes(parsed(""), Config()), Overrides{});
}

TEST(ConfigTest, ReadsEveryKindOfValue) {
  const Config config = parsed(R"(
name = "tiny"
seed = 9_223_372_036_854_775_807
[data]
task = "text"
path = "some/file.txt"
[model]
num_layers = 3
tie_embeddings = false
[optimizer]
betas = [0.5, 0.25]
learning_rate = 1e-4
)");
  EXPECT_EQ(config.name, "tiny");
  EXPECT_EQ(config.seed, 9223372036854775807u);
  EXPECT_EQ(config.data.task, "text");
  EXPECT_EQ(config.data.path, "some/file.txt");
  EXPECT_EQ(config.model.num_layers, 3);
  EXPECT_FALSE(config.model.tie_embeddings);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.5, 0.25}));
  EXPECT_EQ(config.optimizer.learning_rate, 1e-4);
}

TEST(ConfigTest, DottedKeysInlineTablesAndAByteOrderMarkAreTomlToo) {
  EXPECT_EQ(parsed("model.d_ff = 32").model.d_ff, 32);
  EXPECT_EQ(parsed("model = { d_ff = 33 }").model.d_ff, 33);
  EXPECT_EQ(parsed("\xef\xbb\xbf[model]\r\nd_ff = 34\r\n").model.d_ff, 34);
}

TEST(ConfigTest, AnIntegerIsAFloatWhereOneIsExpected) {
  const Config config = parsed("[optimizer]\ngrad_clip = 2\nbetas = [0, 0.5]");
  EXPECT_EQ(config.optimizer.grad_clip, 2.0);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.0, 0.5}));
}

TEST(ConfigTest, OverridesWinAndTheLastOneCounts) {
  const Config config = parsed("[model]\nd_model = 32\n",
                               {"model.d_model=128", "optimizer.betas=[0.5,0.75]", "name=a",
                                "model.d_model=256", " model.bias = false", "data.length=4"});
  EXPECT_EQ(config.model.d_model, 256);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.5, 0.75}));
  EXPECT_EQ(config.name, "a");
  EXPECT_FALSE(config.model.bias);
  EXPECT_EQ(config.data.length, 4);
}

TEST(ConfigTest, AnOverriddenStringNeedsNoQuotes) {
  const auto path = [](const std::string& text) {
    return parsed("[data]\ntask = \"text\"", {"data.path=" + text}).data.path;
  };
  EXPECT_EQ(path("/usr/share/a b.txt"), "/usr/share/a b.txt");
  EXPECT_EQ(path("\"in quotes\""), "in quotes");
  EXPECT_EQ(path("'as it is\\'"), "as it is\\");
  EXPECT_EQ(path("7"), "7");
  EXPECT_EQ(path("true"), "true");
  EXPECT_EQ(path("a=b#c\"d\\e"), "a=b#c\"d\\e");
  const Config lines =
      parsed("[data]\ntask = \"pairs\"\npath = \"x\"", {"data.question_key=1\nseed = 3"});
  EXPECT_EQ(lines.data.question_key, "1\nseed = 3");
  EXPECT_EQ(path(std::string(2000, '.')), std::string(2000, '.'));
}

TEST(LoadConfigTest, ReadsAFile) {
  const TemporaryFolder folder;
  write_bytes(folder / "c.toml", "name = \"x\"\nsead = 1");
  const absl::StatusOr<LoadedConfig> wrong = load_config(folder / "c.toml");
  EXPECT_EQ(wrong.status().message(),
            (folder / "c.toml") + ":2:1: unknown key \"sead\"; did you mean \"seed\"?");
  write_bytes(folder / "c.toml", "name = \"x\"");
  const absl::StatusOr<LoadedConfig> right = load_config(folder / "c.toml", {"seed=3"});
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_EQ(right->config.name, "x");
  EXPECT_EQ(right->config.seed, 3u);
}

TEST(LoadConfigTest, AFileThatIsNoConfigIsAnError) {
  const TemporaryFolder folder;
  EXPECT_EQ(load_config(folder / "none.toml").status().message(),
            "cannot read " + (folder / "none.toml") + ": No such file or directory");
  EXPECT_EQ(load_config(folder.path()).status().message(),
            "cannot read " + folder.path() + ": Is a directory");
  EXPECT_EQ(load_config("/proc/self/mem").status().message(),
            "cannot read /proc/self/mem: Input/output error");
  EXPECT_EQ(load_config("/dev/zero").status().message(),
            "/dev/zero: is not a config: it has more than 65536 bytes; a config is a short TOML "
            "file, which "
            "names data with data.path");
  write_bytes(folder / "binary", std::string("\x7f"
                                             "ELF\0\0\0",
                                             7));
  EXPECT_FALSE(load_config(folder / "binary").ok());
}

}  // namespace
}  // namespace qkv
