// ./qkv report: the page of a run.

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"
#include "tests/data/images/image_files.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

// The texts of a page that stand between two others.
std::vector<std::string> texts_between(const std::string& html, const std::string& before,
                                       const std::string& after) {
  std::vector<std::string> texts;
  for (size_t at = html.find(before); at != std::string::npos; at = html.find(before, at + 1)) {
    const size_t begin = at + before.size();
    texts.push_back(html.substr(begin, html.find(after, begin) - begin));
  }
  return texts;
}

class ReportTest : public CommandLineFixture {
 protected:
  void train(const std::vector<std::string>& settings) {
    expect_success(train_tiny("runs/a", settings));
  }

  // What a reader sees of the page, whose tags are all closed.
  std::string page(const std::string& run = "runs/a") {
    const ProcessResult result = qkv({"report", run, "--out", "-"});
    EXPECT_EQ(result.exit_status, 0) << result.errors;
    std::string main = main_of(result.output);
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

// Two heads; the source is a token longer than the target.
TEST_F(ReportTest, AMapHasACellForEachQueryAndKey) {
  train({"model.kind=encoder_decoder"});
  const std::string html = page();
  std::map<std::string, size_t> cells;
  for (const std::string& figure : texts_between(html, "<figcaption>", "</figure>")) {
    const std::string name = figure.substr(0, figure.find('<'));
    if (name.find("blocks") == std::string::npos) continue;
    cells[name] += texts_between(figure, "</title></path>", "\n").size();
  }
  EXPECT_THAT(cells, ElementsAre(Pair("decoder.blocks.0.attention", 2 * 3 * 3),
                                 Pair("decoder.blocks.0.cross_attention", 2 * 3 * 4),
                                 Pair("encoder.blocks.0.attention", 2 * 4 * 4)));
}

// Red images, where one of 16 patches has green columns, and the layers of a model that a page has
// room for.
class ImageReportTest : public ReportTest {
 protected:
  std::string page_of_images(int channels, const std::string& pool) {
    for (const int number : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const std::string name = number % 2 == 0 ? "images/a" : "images/b";
      std::string pixels;
      const char bright = static_cast<char>(255 - number);
      for (int i = 0; i < 64 * 64; ++i) {
        const bool is_green = i / (16 * 64) == 1 && i % 64 / 16 == 1 && i % 16 < 5;
        pixels += is_green ? std::string{0, bright, 0} : std::string{bright, 0, 0};
      }
      std::filesystem::create_directories(folder_ / name);
      write_bytes(folder_ / absl::StrCat(name, "/", number, ".png"), png_bytes(pixels, 64, 64));
    }
    write_bytes(folder_ / "tiny.toml",
                "data = {task = \"image_folder\", path = \"images\", image_size = 64, "
                "train_fraction = 0.5}\n"
                "model = {kind = \"classifier\", patch_size = 16, num_layers = 6, d_model = 8, "
                "num_heads = 2, d_ff = 8, position = \"none\", init_std = 1}\n"
                "train = {steps = 1, batch_size = 2}\n");
    const std::string run = absl::StrCat("runs/", channels, pool);
    expect_success(train_tiny(
        run, {absl::StrCat("data.channels=", channels), absl::StrCat("model.pool=", pool)}));
    return page(run);
  }
};

TEST_F(ImageReportTest, AnImageIsTheMeanOfItsColours) {
  const std::string html = page_of_images(3, "mean");
  EXPECT_THAT(texts_between(html, "class=\"pixel\" style=\"--share: ", "%"), Each("33"));
  EXPECT_THAT(html, HasSubstr("1 of 6 layers are shown"));
  EXPECT_THAT(texts_between(html, "<figcaption>blocks.", ".attention"), ElementsAre("5"));
}

TEST_F(ImageReportTest, PatchesShareTheAttentionOfEachLayer) {
  for (const char* const pool : {"mean", "class_token"}) {
    const std::string html = page_of_images(1, pool);
    EXPECT_THAT(html, HasSubstr("4 of 6 layers are shown"));
    EXPECT_THAT(texts_between(html, "<figcaption>blocks.", ".attention"),
                ElementsAre("0", "1", "3", "5"));
    std::vector<double> weights;
    for (const std::string& each : texts_between(html, "class=\"patch\"", "</title>")) {
      weights.push_back(std::stod(each.substr(each.find("<title>") + 7)));
    }
    ASSERT_EQ(weights.size(), 4u * 16);
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(std::abs(weights[i] - weights[i / 16 * 16]) > 1e-3, i % 16 == 5)
          << pool << " " << i;
    }
    const double all = std::accumulate(weights.begin(), weights.end(), 0.);
    EXPECT_EQ(all > 4 - 1e-2, std::string(pool) == "mean") << all;
  }
}

// ./qkv plot: its files. What it says stands in tests/cli/transcripts.

using testing::StartsWith;

class PlotTest : public CommandLineFixture {};

TEST_F(PlotTest, FilesNeedNothingElseAndReplaceNothingElse) {
  const std::filesystem::path run = folder_ / "runs/<b>&\"'";
  std::filesystem::create_directories(run);
  write_bytes(run / "config.toml", kConfig);
  write_bytes(run / "metrics.jsonl", "{\"step\":10,\"loss\":2.25}\n{\"step\":20,\"loss\":0.1}\n");
  const ProcessResult result =
      qkv({"plot", "runs/<b>&\"'", "--svg", "a.svg", "--out", "a.html", "--csv", "a.csv", "--log"});
  expect_success(result);
  EXPECT_THAT(result.output, HasSubstr("wrote a.svg\nwrote a.html\nwrote a.csv\n"));
  const std::string svg = in("a.svg"), html = in("a.html");
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  EXPECT_EQ(first_wrong_tag(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("var(")));
  EXPECT_THAT(svg, HasSubstr("runs/&lt;b&gt;&amp;"));
  EXPECT_EQ(first_wrong_tag(main_of(html)), "");
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  expect_success(qkv({"plot", "runs", "--svg", "a.svg"}));
}

}  // namespace
}  // namespace qkv
