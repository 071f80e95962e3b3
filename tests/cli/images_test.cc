// ./qkv data of images.

#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

constexpr char kShapes[] = R"(name = "shapes"
[data]
task = "shapes"
[model]
kind = "classifier"
)";

class ImagesTest : public CommandLineFixture {
 protected:
  ImagesTest() { write_bytes(folder_ / "shapes.toml", kShapes); }
};

TEST_F(ImagesTest, DataDrawsThemWithoutColoursWhereThereIsNoTerminal) {
  const ProcessResult data = qkv({"data", "shapes.toml", "--samples", "2"});
  expect_success(data);
  EXPECT_NE(data.output.find("images       16 x 16 pixels, grey\n"), std::string::npos)
      << data.output;
  EXPECT_EQ(data.output.find('\x1b'), std::string::npos) << data.output;
  EXPECT_EQ(std::count(data.output.begin(), data.output.end(), '\n'), 5 + 16 / 2 + 1)
      << data.output;
}

TEST_F(ImagesTest, DataWritesAPictureOfThem) {
  const ProcessResult data =
      qkv({"data", "shapes.toml", "--split", "train", "--samples", "9", "--export", "a.PNG"});
  expect_success(data);
  EXPECT_EQ(data.output.find("wrote a.PNG, images of\n"), 0u) << data.output;
  EXPECT_EQ(std::count(data.output.begin(), data.output.end(), '\n'), 4) << data.output;
  EXPECT_EQ(in("a.PNG").substr(0, 8), "\x89PNG\r\n\x1a\n");
}

TEST_F(ImagesTest, DataExportsTheirBatches) {
  expect_success(qkv({"data", "shapes.toml", "--export", "b.safetensors", "--batches", "1"}));
  NEEDS_VERBS("info");
  const ProcessResult info = qkv({"info", "b.safetensors"});
  expect_success(info);
  EXPECT_NE(info.output.find("f32[64, 1, 16, 16]"), std::string::npos) << info.output;
  EXPECT_NE(info.output.find("i64[64]"), std::string::npos) << info.output;
}

TEST_F(ImagesTest, ARunLearnsClassesAndIsJudgedByImages) {
  const std::vector<std::string> smaller = {"--set", "train.steps=4",
                                            "--set", "train.eval_interval=2",
                                            "--set", "model.d_model=8",
                                            "--set", "model.num_layers=1",
                                            "--set", "data.validation_examples=20"};
  std::vector<std::string> command = {"train", "shapes.toml"};
  command.insert(command.end(), smaller.begin(), smaller.end());
  const ProcessResult trained = qkv(command);
  expect_success(trained);
  EXPECT_NE(trained.output.find("  val loss "), std::string::npos) << trained.output;
  EXPECT_NE(in("runs/shapes/samples.txt").find("  expected "), std::string::npos);
  command.emplace_back("--resume");
  expect_success(qkv(command));

  const ProcessResult judged = qkv({"eval", "runs/shapes"});
  expect_success(judged);
  EXPECT_NE(judged.output.find(" over 20 images\n"), std::string::npos) << judged.output;
  EXPECT_NE(judged.output.find(" of 20 images right, F1 "), std::string::npos) << judged.output;
  const std::string checkpoint = "runs/shapes/checkpoints/best.safetensors";
  expect_error(qkv({"eval", "runs/shapes", "--set", "data.image_size=20"}), 2,
               checkpoint + ": the model reads images of 16 x 16 pixels, but these have 20 x 20");
  expect_error(qkv({"generate", "runs/shapes", "--prompt", "circle"}), 2,
               checkpoint + ": the model classifies images; it writes no text");
}

TEST_F(ImagesTest, WhatCannotBeAPictureIsAMistake) {
  expect_error(qkv({"data", "tiny.toml", "--export", "c.png"}), 2,
               "--export: c.png would be a picture, but the data have no images");
  expect_error(qkv({"data", "shapes.toml", "--export", "c.png", "--samples", "0"}), 2,
               "--samples must be 1 … 10000 when they become one picture");
  write_bytes(folder_ / "there.png", "mine");
  expect_error(qkv({"data", "shapes.toml", "--export", "there.png"}), 2,
               "--export: there.png exists; remove it or choose another name");
  EXPECT_EQ(in("there.png"), "mine");
  expect_error(qkv({"data", "shapes.toml", "--export", "none/c.png"}), 2,
               "cannot write none/c.png: No such file or directory");
}

TEST_F(ImagesTest, KeysOfImagesAreAMistakeWithoutImages) {
  expect_error(
      qkv({"data", "tiny.toml", "--set", "data.image_size=32"}), 2,
      "--set data.image_size=32: \"data.image_size\" is read by shapes and image_folder, not by "
      "reverse");
  expect_error(qkv({"data", "shapes.toml", "--set", "data.path=x"}), 2,
               "--set data.path=x: \"data.path\" is read by text, lines, pairs, classes, idx and "
               "image_folder, not by shapes");
  expect_error(qkv({"data", "shapes.toml", "--set", "data.image_size=8"}), 2,
               "--set data.image_size=8: \"data.image_size\" must be 12 … 256, not 8");
}

TEST_F(ImagesTest, FilesThatAreNotThereAreAMistake) {
  write_bytes(folder_ / "idx.toml",
              "[data]\ntask = \"idx\"\npath = \"nowhere\"\n[model]\nkind = \"classifier\"\n");
  expect_error(qkv({"data", "idx.toml"}), 2,
               "cannot read nowhere/train-images-idx3-ubyte: No such file or directory");
  write_bytes(folder_ / "train-images-idx3-ubyte", "no images");
  expect_error(
      qkv({"data", "idx.toml", "--set", "data.path=."}), 2,
      "./train-images-idx3-ubyte: is not an IDX file (the format of MNIST): it begins with "
      "6E 6F 20 69");
}

}  // namespace
}  // namespace qkv
