// ./qkv report: the page of a run.

#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

using testing::HasSubstr;
using testing::Not;

class ReportTest : public CommandLineFixture {
 protected:
  void train(const std::vector<std::string>& settings) {
    expect_success(train_tiny("runs/a", settings));
  }

  // What a reader sees of the page, whose tags are all closed.
  std::string page(const std::string& run = "runs/a") {
    const ProcessResult result = qkv({"report", run, "--html", "-"});
    EXPECT_EQ(result.exit_status, 0) << result.errors;
    const size_t begin = result.output.find("<main>"), end = result.output.find("<script");
    std::string main = result.output.substr(begin, end - begin);
    EXPECT_EQ(first_wrong_tag(main), "");
    EXPECT_EQ(outside_reference(main), "");
    return main;
  }
};

TEST_F(ReportTest, APageHasAllOfARun) {
  train({"train.detail_interval=10"});
  const std::string html = page();
  for (const char* const each :
       {"<td>finished</td>", "decoder, attention", "learning_rate = ", "# default",
        "steps = 40                       # set; the default is ", "Loss", "Learning rate",
        "validation, whole answers", "Step 40", "The evaluation before", "blocks.0.attention",
        "h = 1", "Norm of the update", "Entropy of the attention weights", "token_embedding.weight",
        "update / weights"}) {
    EXPECT_THAT(html, HasSubstr(each));
  }
  EXPECT_THAT(html, Not(HasSubstr("h = 2"))) << "there are two heads";
  const std::string samples = in("runs/a/samples.txt");
  const std::string first = samples.substr(samples.find("\n  ") + 1, 7);
  EXPECT_THAT(html, HasSubstr(first)) << "what was asked first";
}

TEST_F(ReportTest, OfManyEvaluationsSomeAreShownFromTheFirstToTheLast) {
  train({"train.eval_interval=1", "train.steps=30"});
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("24 of the 29 evaluations before"));
  for (const int step : {1, 2, 29, 30}) {
    EXPECT_THAT(html, HasSubstr(absl::StrCat("Step ", step, "<"))) << "the last is shown above";
  }
  train_tiny("runs/b", {"train.eval_interval=10"});
  EXPECT_THAT(page("runs/b"), HasSubstr("The 3 evaluations before"));
}

TEST_F(ReportTest, WithoutDetailsTheGradientIsThatOfABatch) {
  train({});
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("By one backward pass over training"));
  EXPECT_THAT(html, HasSubstr("<figcaption>Norm of the gradient</figcaption>"));
  EXPECT_THAT(html, Not(HasSubstr("update / weights")));
}

TEST_F(ReportTest, AModelWithoutAttentionIsOneToo) {
  train({"model.mixer=recurrence"});
  EXPECT_THAT(page(), HasSubstr("This model has no attention: its mixer is recurrence."));
}

TEST_F(ReportTest, WhereThereIsNoCheckpointYetThePageSaysSo) {
  std::filesystem::create_directories(folder_ / "runs/a");
  write_bytes(folder_ / "runs/a/config.toml", "name = \"<b>&\"\n" + kTinyRun + "steps = 40\n");
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("<h1>&lt;b&gt;&amp;</h1>"));
  EXPECT_THAT(html, HasSubstr("This run has no metrics yet."));
  EXPECT_THAT(html, HasSubstr("This run has no samples"));
  EXPECT_THAT(html, HasSubstr("There is no attention to show: "));
  EXPECT_THAT(html, HasSubstr("There is no model to measure: "));
}

TEST_F(ReportTest, MistakesAreASentence) {
  train({});
  expect_error(qkv({"report", "runs/a"}), 2, "report needs --html FILE, the page to write");
  expect_error(qkv({"report", "runs/b", "--html", "-"}), 2,
               "runs/b holds no run: it has no config.toml");
  expect_error(qkv({"report", "runs/a", "--html", "-", "--lang", "fr"}), 2,
               "--lang: there is no \"fr\"; there are en, zh");
  write_bytes(folder_ / "runs/a/metrics.jsonl", "{\n");
  expect_error(qkv({"report", "runs/a", "--html", "-"}), 1,
               "runs/a is damaged: runs/a/metrics.jsonl:1: not a JSON object");
}

}  // namespace
}  // namespace qkv
