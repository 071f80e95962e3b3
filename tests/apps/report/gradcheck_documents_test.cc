#include "apps/report/gradcheck/gradcheck_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "framework/ops/ops.h"
#include "tests/framework/gradcheck/planted.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

using testing::HasSubstr;

TEST(GradcheckDocumentsTest, ABackwardErrorIsInThePageAndInTheDocument) {
  const Tensor x = constant({2, 3}, {1, 2, 3, 4, 5, 6}, DType::f64);
  const GradcheckReport report = check_planted(
      [](auto in) { return in[0]; },
      [](const Tensor&, const Tensor& dy) { return transpose(dy, 0, 1); }, x, {.names = {"x"}});
  const std::string sentence = "planted: backward gave f128[3, 2] for input 0 f128[2, 3]";
  const auto json = nlohmann::json::parse(gradcheck_json(report));
  EXPECT_EQ(json["verdict"], "FAIL");
  EXPECT_EQ(json["backward_error"], sentence);
  EXPECT_EQ(json["inputs"][0]["note"], sentence);
  const std::string page = gradcheck_html(report, "a < b");
  EXPECT_EQ(first_wrong_tag(page), "");
  EXPECT_EQ(outside_reference(page), "");
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b</title>"));
  EXPECT_THAT(page, HasSubstr("<pre>" + report.to_text() + "</pre>"));
}

}  // namespace
}  // namespace qkv
