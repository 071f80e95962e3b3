#include "apps/check/run_gradcheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

using testing::HasSubstr;

// All that `qkv gradcheck` prints, but for the time.
std::string text_with(int threads, const GradcheckRequest& request) {
  kernels::set_num_threads(threads);
  const absl::StatusOr<GradcheckOutcome> outcome = check_gradients(request);
  kernels::set_num_threads(0);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  if (!outcome.ok()) return "";
  return outcome->text.substr(0, outcome->text.rfind(", in "));
}

TEST(RunGradcheckTest, AnyNumberOfThreadsGivesTheSameText) {
  const GradcheckRequest request = {
      .subjects = {.names = {"softmax", "log", "Linear"}}, .seeds = 2, .verbose = true};
  const std::string text = text_with(1, request);
  EXPECT_THAT(text, HasSubstr("formula, order 1: agrees to "));
  EXPECT_EQ(text, text_with(3, request));
}

}  // namespace
}  // namespace qkv
