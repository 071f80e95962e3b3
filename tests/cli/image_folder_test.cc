// Runs of the task "image_folder", and predict for images, through the program.

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "framework/core/random.h"
#include "tests/command_line_fixture.h"
#include "tests/data/images/image_files.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr char kColours[] = R"(name = "colours"
[data]
task = "image_folder"
path = "all"
image_size = 8
channels = 3
train_fraction = 0.7
[model]
kind = "classifier"
num_layers = 1
d_model = 8
num_heads = 2
d_ff = 16
[optimizer]
learning_rate = 1e-2
warmup_steps = 0
[train]
steps = 40
batch_size = 16
eval_interval = 20
)";

class ImageFolderRunTest : public CommandLineFixture {
 protected:
  ImageFolderRunTest() {
    RandomStream random(1);
    for (const char* folder : {"pictures/all", "more"}) {
      for (int i = 0; i < 60; ++i) {
        const bool is_red = i % 2 == 0;
        const int64_t height = 8 + i % 5, width = 8 + i % 7;
        std::string pixels;
        for (int64_t pixel = 0; pixel < height * width; ++pixel) {
          for (const bool bright : {is_red, false, !is_red}) {
            pixels += static_cast<char>((bright ? 150 : 0) + random.below(100));
          }
        }
        const std::string in = absl::StrCat(folder, is_red ? "/red" : "/blue");
        fs::create_directories(folder_ / in);
        write_bytes(folder_ / absl::StrCat(in, "/", i, ".png"), png_bytes(pixels, height, width));
      }
    }
    write_bytes(folder_ / "pictures/colours.toml", kColours);
  }

  std::vector<std::string> lines_of(const std::string& text) {
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }
};

TEST_F(ImageFolderRunTest, ARunIsTrainedResumedJudgedAndShown) {
  expect_success(qkv({"train", "pictures/colours.toml", "--set", "train.threads=1"}));
  // stopped on the way and with other threads: the same bits
  for (const char* steps : {"20", "40"}) {
    std::vector<std::string> half = {"train", "pictures/colours.toml",
                                     "--out", "runs/half",
                                     "--set", absl::StrCat("train.steps=", steps),
                                     "--set", "optimizer.schedule=constant",
                                     "--set", "train.threads=2"};
    if (std::string(steps) == "40") half.emplace_back("--resume");
    expect_success(qkv(half));
  }
  expect_success(qkv({"train", "pictures/colours.toml", "--out", "runs/whole", "--set",
                      "optimizer.schedule=constant", "--set", "train.threads=1"}));
  const auto loss_of = [&](const std::string& run) {
    return json::parse(qkv({"eval", run, "--json", "-"}).output)["loss"];
  };
  EXPECT_EQ(loss_of("runs/half"), loss_of("runs/whole"));

  const json judged = json::parse(qkv({"eval", "runs/colours", "--json", "-"}).output);
  EXPECT_EQ(judged["classes"], (json{"blue", "red"}));
  EXPECT_EQ(judged["sequence_accuracy"], 1.0);
  EXPECT_THAT(in("runs/colours/samples.txt"), HasSubstr("  expected red  answered red  right"));
  EXPECT_THAT(qkv({"data", "pictures/colours.toml", "--samples", "3"}).output,
              HasSubstr("images       8 x 8 pixels, in colour; below they are drawn in grey\n"));

  // all of another folder, and those that are left out in this one
  const json other =
      json::parse(qkv({"eval", "runs/colours", "--text", "more", "--json", "-"}).output);
  EXPECT_EQ(other["sequences"], 60);
  EXPECT_EQ(other["sequence_accuracy"], 1.0);
  expect_error(qkv({"eval", "runs/colours", "--text", "pictures"}), 2,
               "pictures/all: is an unknown class; the classes are blue, red");
  const std::string checkpoint = "runs/colours/checkpoints/best.safetensors";
  expect_error(qkv({"eval", "runs/colours", "--set", "data.channels=1"}), 2,
               checkpoint + ": the model reads images of 3 channels, but these have 1");
  NEEDS_VERBS("compare", "explain", "report");
  EXPECT_EQ(qkv({"compare", "runs/half", "runs/whole"}).exit_status, 0);
  expect_success(qkv({"explain", "runs/colours", "--out", "page.html"}));
  EXPECT_THAT(in("page.html"), HasSubstr("<title>colours</title>"));
  expect_success(qkv({"report", "runs/colours", "--out", "report.html"}));
}

TEST_F(ImageFolderRunTest, PredictTellsClassesOfFilesAndFolders) {
  NEEDS_VERBS("predict");
  expect_success(qkv({"train", "pictures/colours.toml"}));
  fs::copy_file(folder_ / "more/red/2.png", folder_ / "a.png");
  expect_success(qkv({"predict", "runs/colours", "a.png"}));
  EXPECT_EQ(qkv({"predict", "runs/colours", "a.png", "more/blue/1.png"}).output, "red\nblue\n");
  EXPECT_EQ(qkv({"predict", "runs/colours", "a.png", "--format", "tsv"}).output, "a.png\tred\n");
  ProcessOptions list;
  list.input = "more/blue/3.png\na.png\n";
  EXPECT_EQ(qkv({"predict", "runs/colours", "-"}, list).output, "blue\nred\n");

  const std::vector<std::string> objects =
      lines_of(qkv({"predict", "runs/colours", "more", "a.png", "--format", "json"}).output);
  ASSERT_EQ(objects.size(), 61u);
  const json first = json::parse(objects.front()), last = json::parse(objects.back());
  EXPECT_EQ(first["file"], "more/blue/1.png");
  EXPECT_EQ(first["class"], "blue");
  EXPECT_EQ(first["expected"], "blue");
  EXPECT_EQ(first["right"], true);
  EXPECT_GT(first["probability"], 0.5);
  EXPECT_FALSE(last.contains("expected"));

  // What is no image leaves its line, and is named.
  write_bytes(folder_ / "notes.png", "notes");
  const ProcessResult mixed = qkv({"predict", "runs/colours", "notes.png", "a.png", "no.png"});
  EXPECT_EQ(mixed.exit_status, 2);
  EXPECT_EQ(mixed.output, "\nred\n\n");
  EXPECT_EQ(mixed.errors,
            "error: no.png: cannot be read: No such file or directory\n"
            "error: notes.png: is neither a PNG nor a JPEG file: it begins with 6E 6F 74 65\n");
  const json wrong = json::parse(
      lines_of(qkv({"predict", "runs/colours", "notes.png", "--format", "json"}).output).front());
  EXPECT_EQ(wrong,
            (json{{"file", "notes.png"},
                  {"error", "is neither a PNG nor a JPEG file: it begins with 6E 6F 74 65"}}));
}

}  // namespace
}  // namespace qkv
