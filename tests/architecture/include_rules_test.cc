#include "tests/architecture/include_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace qkv {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// A source tree of its own for each test, gone when the test ends.
class IncludeRulesTest : public testing::Test {
 protected:
  IncludeRulesTest() {
    std::string name = testing::TempDir() + "qkv_include_rules_XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~IncludeRulesTest() override { fs::remove_all(root_); }

  void plant(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::vector<std::string> broken() const { return broken_include_rules(root_); }

 private:
  fs::path root_;
};

TEST(ArchitectureTest, TheSourcesKeepTheRules) {
  EXPECT_THAT(broken_include_rules(QKV_SOURCE_DIR), IsEmpty());
}

TEST(ArchitectureTest, TheSourcesAreFound) {
  ASSERT_TRUE(fs::exists(fs::path(QKV_SOURCE_DIR) / "framework/core/shape.h"));
}

TEST_F(IncludeRulesTest, IncludesThatPointDownAreFine) {
  plant("framework/core/shape.h", "#include <vector>\n");
  plant("framework/kernels/product/matmul.cc",
        "#include <omp.h>\n#include \"framework/core/shape.h\"\n");
  plant("framework/ops/ops.h", "#include \"framework/core/shape.h\"\nint compute();\n");
  plant("data/batch.h", "#include \"framework/core/shape.h\"\n");
  plant("models/decoder.h", "#include \"framework/ops/ops.h\"\n");
  plant("train/loop/trainer.cc", "#include \"data/batch.h\"\n#include \"models/decoder.h\"\n");
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(IncludeRulesTest, AnIncludeThatPointsUpIsFound) {
  plant("framework/core/shape.h", "\n#  include \"framework/ops/ops.h\"\n");
  plant("framework/ops/ops.h", "#include \"train/loop/trainer.h\"\n");
  plant("train/loop/trainer.h", "");
  EXPECT_THAT(
      broken(),
      ElementsAre("framework/core/shape.h:2: framework/core includes framework/ops, which is above",
                  "framework/ops/ops.h:1: framework/ops includes train/loop, which is above"));
}

TEST_F(IncludeRulesTest, NeighboursDoNotKnowEachOther) {
  plant("framework/graph/node.h", "#include \"framework/kernels/matmul.h\"\n");
  plant("framework/kernels/matmul.h", "");
  plant("data/batch.h", "#include \"models/decoder.h\"\n");
  plant("models/decoder.h", "");
  EXPECT_THAT(
      broken(),
      ElementsAre(
          "data/batch.h:1: data and models are neighbours",
          "framework/graph/node.h:1: framework/graph and framework/kernels are neighbours"));
}

TEST_F(IncludeRulesTest, TheFoldersOfARoomKnowIt) {
  plant("data/text/tokens.h", "#include \"data/file.h\"\n#include \"data/images/idx.h\"\n");
  plant("data/file.h", "");
  plant("data/images/idx.h", "");
  plant("data/dataset.h", "#include \"data/text/tokens.h\"\n");
  plant("framework/kernels/product/matmul.h",
        "#include \"framework/kernels/elementwise/vector.h\"\n");
  plant("framework/kernels/elementwise/vector.h", "#include <omp.h>\n");
  plant("framework/graph/node.h", "#include \"framework/kernels/product/matmul.h\"\n");
  EXPECT_THAT(
      broken(),
      ElementsAre("data/text/tokens.h:2: data/text and data/images are neighbours",
                  "framework/graph/node.h:1: framework/graph and framework/kernels/product are "
                  "neighbours"));
}

TEST_F(IncludeRulesTest, TheBookKnowsNoAppAndAnAppFewOthers) {
  plant("cli/train.cc", "#include \"apps/runs/plot.h\"\n");
  plant("apps/runs/plot.h",
        "#include \"apps/report/svg/svg.h\"\n#include \"train/loop/trainer.h\"\n");
  plant("apps/runs/replay/replay.cc",
        "#include \"apps/runs/plot.h\"\n#include \"apps/labs/kit/lab.h\"\n");
  plant("apps/labs/kit/lab.h", "#include \"apps/check/mutation/mutation.h\"\n");
  plant("apps/check/mutation/mutation.h", "");
  plant("apps/report/svg/svg.h", "");
  plant("train/loop/trainer.h", "");
  EXPECT_THAT(broken(),
              ElementsAre("apps/runs/replay/replay.cc:2: apps/runs includes apps/labs, another app",
                          "cli/train.cc:1: cli includes apps/runs, an app"));
}

TEST_F(IncludeRulesTest, OneDnnAndOpenMpOutsideTheKernelsAreFound) {
  plant("framework/core/shape.cc", "#include <dnnl.hpp>\n");
  plant("framework/ops/add.cc", "int compute();\n#pragma omp parallel for\n");
  plant("train/loop/trainer.cc", "int n = omp_get_max_threads();\n");
  EXPECT_THAT(broken(),
              ElementsAre("framework/core/shape.cc:1: dnnl is named outside framework/kernels",
                          "framework/ops/add.cc:2: omp is named outside framework/kernels",
                          "train/loop/trainer.cc:1: omp is named outside framework/kernels"));
}

TEST_F(IncludeRulesTest, ACycleIsFoundOnce) {
  plant("data/a.h", "#include \"data/b.h\"\n");
  plant("data/b.h", "#include \"data/c.h\"\n");
  plant("data/c.h", "#include \"data/a.h\"\n");
  EXPECT_THAT(broken(),
              ElementsAre("a cycle of includes: data/a.h -> data/b.h -> data/c.h -> data/a.h"));
}

TEST_F(IncludeRulesTest, AnIncludeThatIsNotWrittenFromTheRootIsFound) {
  plant("data/a.h", "");
  plant("data/b.h", "#include \"a.h\"\n");
  EXPECT_THAT(broken(), ElementsAre("data/b.h:1: \"a.h\" is not written from the root"));
}

TEST_F(IncludeRulesTest, AFolderThatNobodyPlacedIsFound) {
  plant("framework/attic/a.h", "");
  EXPECT_THAT(broken(), ElementsAre("framework/attic/a.h: the folder has no floor in the house"));
}

}  // namespace
}  // namespace qkv
