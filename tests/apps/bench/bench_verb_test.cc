// How long something takes is not asserted: only that it is measured.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/process.h"

namespace qkv {
namespace {

ProcessResult qkv_bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {QKV_BINARY, "bench"});
  return run_process(arguments);
}

// The row of numbers of a shape.
nlohmann::json measured(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--shape");
  arguments.insert(arguments.end(), {"--json", "-"});
  const ProcessResult result = qkv_bench(arguments);
  EXPECT_EQ(result.exit_status, 0) << result.errors;
  return nlohmann::json::parse(result.output);
}

void expect_flops(const nlohmann::json& row, double flops) {
  EXPECT_NEAR(double(row["gflops"]) * double(row["ms_per_step"]) * 1e6, flops, 1);
  EXPECT_NEAR(double(row["floor_gflops"]) * double(row["floor_ms"]) * 1e6, flops, 1);
}

// Linear maps: three products each of 2 B T (C (3 C + C) + 2 C F) for each layer and 2 B T C V of
// the head; attention: three times 2 products of 2 B T² C for each layer.
TEST(BenchTest, AShapeGivesARowOfNumbersWithEveryProductOfTheStep) {
  const auto row = measured({"toy", "--steps", "3"});
  EXPECT_EQ(row["name"], "toy");
  EXPECT_EQ(row["precision"], "f32");
  EXPECT_EQ(row["steps"], 3);
  EXPECT_EQ(row["parameters"], 106304);
  EXPECT_GT(double(row["peak_bytes"]), 0);
  const double ms = row["ms_per_step"];
  EXPECT_LE(double(row["ms_lower_quartile"]), ms);
  EXPECT_LE(ms, double(row["ms_upper_quartile"]));
  EXPECT_NEAR(double(row["ratio"]), ms / double(row["floor_ms"]), 1e-9);
  EXPECT_NEAR(double(row["tokens_per_second"]), 64 * 32 / ms * 1e3, 1e-6);
  const double b = 64, t = 32, c = 64, f = 256, v = 65, layers = 2;
  expect_flops(row, 3 * 2 * b * t * (layers * (4 * c * c + 2 * c * f + 2 * t * c) + c * v));
  // The profile has forward, backward and the rest, the costliest first.
  double before = HUGE_VAL;
  std::vector<std::string> found;
  for (const auto& part : row["profile"]) {
    EXPECT_LE(double(part["ms"]), before);
    before = part["ms"];
    EXPECT_GE(double(part["bytes"]), 0);
    EXPECT_GE(double(part["calls"]), 1);
    found.push_back(part["part"].get<std::string>() + " " + part["op"].get<std::string>());
  }
  for (const char* name :
       {"forward linear", "forward layer_norm", "forward cross_entropy", "backward linear",
        "rest data", "rest optimizer", "rest gradient norm", "rest backward"}) {
    EXPECT_TRUE(std::ranges::count(found, name)) << name;
  }
}

// Each block has four linear maps in attention, and two of d_ff; those of the decoder have four
// more, two of which read the source.
TEST(BenchTest, TheFloorOfAnEncoderDecoderHasEveryProductOfTheStep) {
  const auto row = measured({"seq2seq", "--steps", "1"});
  const double b = 64, s = 17, t = 16, c = 64, f = 256, v = 65, layers = 2;
  const double encoder = s * (4 * c * c + 2 * c * f + 2 * s * c);
  const double decoder = t * (4 * c * c + 2 * c * f + 2 * t * c);
  const double cross = (2 * t + 2 * s) * c * c + 2 * t * s * c;
  expect_flops(row, 3 * 2 * b * (layers * (encoder + decoder + cross) + t * c * v));
  EXPECT_NEAR(double(row["tokens_per_second"]), b * (s + t) / double(row["ms_per_step"]) * 1e3,
              1e-6);
}

// 49 patches of 16 pixels, which are no parameters, so that backward has two products of the first
// map and three of every other; and a class token.
TEST(BenchTest, TheFloorOfAVisionTransformerHasEveryProductOfTheStep) {
  const auto row = measured({"vit", "--steps", "1"});
  const double b = 64, n = 49, p = 16, t = 50, c = 64, f = 128, classes = 10, layers = 4;
  const double blocks = layers * t * (4 * c * c + 2 * c * f + 2 * t * c);
  expect_flops(row, 2 * b * (3 * blocks + 2 * n * p * c + 3 * c * classes));
  EXPECT_NEAR(double(row["tokens_per_second"]), b / double(row["ms_per_step"]) * 1e3, 1e-6);
}

TEST(BenchTest, MeasuresInAnyPrecisionThatTrains) {
  for (const char* precision : {"f64", "bf16"}) {
    const auto row =
        measured({"toy", "--precision", precision, "--steps", "1", "--set", "train.batch_size=2"});
    EXPECT_EQ(row["precision"], precision);
  }
}

TEST(BenchTest, MeasuresHowFastAModelWrites) {
  for (const auto& [shape, length] : {std::pair("toy", 32), std::pair("seq2seq", 16)}) {
    const auto row = measured({shape, "--generation"});
    EXPECT_EQ(row["length"], length);
    EXPECT_GT(double(row["tokens_per_second"]), 0);
    EXPECT_GT(double(row["tokens_per_second_without_cache"]), 0);
  }
}

TEST(BenchTest, SaysWhatItCannotMeasure) {
  const auto error_of = [](const std::vector<std::string>& arguments) {
    const ProcessResult result = qkv_bench(arguments);
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_EQ(result.output, "");
    return result.errors;
  };
  EXPECT_EQ(error_of({}),
            "error: bench takes one of CONFIG, --shape and --suite; see qkv bench --help\n");
  EXPECT_EQ(error_of({"--shape", "huge"}),
            "error: --shape: there is no \"huge\"; there are \"toy\", \"small\", \"mini\", "
            "\"seq2seq\" and \"vit\"\n");
  EXPECT_EQ(error_of({"--suite", "--shape", "toy"}),
            "error: --suite and --shape exclude each other: the suite measures everything\n");
  EXPECT_EQ(error_of({"--suite", "--precision", "f64"}),
            "error: --suite and --precision exclude each other: the suite measures everything\n");
  EXPECT_EQ(error_of({"tiny.toml", "--shape", "toy"}),
            "error: --shape and CONFIG exclude each other: both say what is measured\n");
  EXPECT_EQ(error_of({"--shape", "toy", "--steps", "0"}), "error: --steps must be 1 or more\n");
  EXPECT_EQ(error_of({"--shape", "toy", "--set", "data.length=3"}),
            "error: --set data.length=3: --shape fixes the model.kind, and its data are random\n");
  EXPECT_EQ(error_of({"--shape", "toy", "--set", "model.kind=classifier"}),
            "error: --set model.kind=classifier: --shape fixes the model.kind, and its data are "
            "random\n");
  EXPECT_EQ(error_of({"--shape", "vit", "--set", "model.patch_size=5"}),
            "error: \"model.patch_size\" is 5, which does not divide images of 28 x 28 pixels\n");
  EXPECT_EQ(error_of({"--shape", "vit", "--generation"}),
            "error: --generation: the model classifies images; it writes no text\n");
}

}  // namespace
}  // namespace qkv
