#include "apps/check/run_gradcheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

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

TEST(RunGradcheckTest, PointsFollowEachOtherFromTheFirst) {
  const absl::StatusOr<GradcheckOutcome> outcome = check_gradients(
      {.subjects = {.names = {"log"}}, .seed = 5, .seeds = 2, .verbose = true, .makes_page = true});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->text, AllOf(HasSubstr(", seed 5\n"), HasSubstr(", seed 6\n")));
  EXPECT_THAT(outcome->text, Not(AnyOf(HasSubstr(", seed 4\n"), HasSubstr(", seed 7\n"))));
  EXPECT_THAT(outcome->page, HasSubstr("seeds 5 to 6"));
}

}  // namespace
}  // namespace qkv
