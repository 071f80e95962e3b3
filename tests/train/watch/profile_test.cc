#include "train/watch/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/graph/middleware.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// y = x Wᵀ of [2, 3] and [5, 3], and its gradients.
void small_step() {
  const Tensor x = parameter(Array::full({2, 3}, DType::f32, 1.0));
  const Tensor w = parameter(Array::full({5, 3}, DType::f32, 1.0));
  const ObservedSection section("step");
  const Scope scope("model");
  const Tensor loss = in_section("forward", [&] { return sum(linear(x, w, Tensor())); });
  backward(loss);
}

ProfileRow row_of(const Profiler& profiler, const std::string& part, const std::string& name) {
  const std::vector<ProfileRow> rows = profiler.rows();
  const auto found = std::ranges::find_if(
      rows, [&](const ProfileRow& row) { return row.part == part && row.name == name; });
  if (found != rows.end()) return *found;
  ADD_FAILURE() << "no row " << part << " " << name << " in\n" << profile_table(rows, 1);
  return {};
}

TEST(ProfilerTest, CountsCallsBytesAndOperationsForwardAndBackwardApart) {
  Profiler profiler;
  for (int i = 0; i < 3; ++i) small_step();
  const ProfileRow forward = row_of(profiler, "forward", "linear");
  EXPECT_EQ(forward.calls, 3);
  EXPECT_EQ(forward.flops, 3 * 60);                 // 2 * 2 * 3 * 5
  EXPECT_EQ(forward.bytes, 3 * 4 * (6 + 15 + 10));  // x, W, y
  const ProfileRow products = row_of(profiler, "backward", "linear: matmul");
  EXPECT_EQ(products.calls, 6);  // dx and dW
  EXPECT_EQ(products.flops, 3 * 120);
  EXPECT_EQ(row_of(profiler, "backward", "linear").flops, 0) << "they are those of its products";
  EXPECT_EQ(row_of(profiler, "backward", "linear").bytes, 0) << "they are those of its products";
  EXPECT_EQ(row_of(profiler, "rest", "step").calls, 3);
  EXPECT_EQ(row_of(profiler, "rest", "backward").calls, 3);
}

TEST(ProfilerTest, ABackwardOfOneKernelMovesItsOutputAndItsGradient) {
  Profiler profiler;
  const Tensor x = parameter(Array::full({2, 3}, DType::f32, 1.0));
  const ObservedSection section("step");
  backward(sum(softmax(x)));
  EXPECT_EQ(row_of(profiler, "backward", "softmax").bytes, 4 * (6 + 6));
}

TEST(ProfilerTest, WhatOnlyGivesANewShapeMovesNothing) {
  Profiler profiler;
  const Tensor x = parameter(Array::full({2, 3}, DType::f32, 1.0));
  in_section("step", [&] { return reshape(x, {6}); });
  EXPECT_EQ(row_of(profiler, "forward", "reshape").bytes, 0);
}

TEST(ProfilerTest, WhatIsOutsideOfEverySectionDoesNotCount) {
  const Profiler profiler;
  sum(full({2, 3}, 1.0));
  EXPECT_TRUE(profiler.rows().empty());
}

TEST(ProfilerTest, RowsAreSortedAndAddUpToTheWhole) {
  Profiler profiler(/*keep_trace=*/true);
  small_step();
  const std::vector<ProfileRow> rows = profiler.rows();
  EXPECT_TRUE(std::ranges::is_sorted(rows, std::greater(), &ProfileRow::ms));
  double sum = 0;
  for (const ProfileRow& row : rows) sum += row.ms;
  const TraceEvent& step = profiler.trace().back();
  EXPECT_EQ(step.name, "step");
  EXPECT_NEAR(sum, step.duration_us / 1e3, 1e-9);
}

TEST(ProfilerTest, TheTraceIsWhatChromeReads) {
  Profiler profiler(/*keep_trace=*/true);
  small_step();
  const auto trace = nlohmann::json::parse(chrome_trace(profiler.trace()));
  const auto& events = trace["traceEvents"];
  const auto named = [&](const std::string& name, const std::string& category) {
    for (const auto& event : events) {
      if (event["name"] == name && event["cat"] == category) return event;
    }
    ADD_FAILURE() << "no " << category << " " << name;
    return nlohmann::json();
  };
  const auto within = [](const nlohmann::json& inner, const nlohmann::json& outer) {
    const double begin = inner["ts"], end = begin + double(inner["dur"]);
    const double outer_begin = outer["ts"], outer_end = outer_begin + double(outer["dur"]);
    return outer_begin <= begin && end <= outer_end + 1e-9;
  };
  for (const auto& event : events) EXPECT_EQ(event["ph"], "X");
  const auto step = named("step", "rest");
  const auto forward = named("forward", "rest"), backward = named("backward", "rest");
  const auto linear = named("linear", "backward"), matmul = named("matmul", "backward");
  EXPECT_TRUE(within(named("linear", "forward"), forward));
  EXPECT_TRUE(within(forward, step) && within(backward, step));
  EXPECT_TRUE(within(linear, backward) && within(matmul, linear));
  EXPECT_FALSE(within(linear, forward));
  EXPECT_EQ(linear["args"]["scope"], "model");
}

}  // namespace
}  // namespace qkv
