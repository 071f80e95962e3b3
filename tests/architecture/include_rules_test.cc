#include "tests/architecture/include_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "tests/temporary_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(ArchitectureTest, TheSourcesKeepTheRules) {
  ASSERT_TRUE(fs::exists(QKV_SOURCE_DIR "/framework/core/shape.h"));
  EXPECT_THAT(broken_include_rules(QKV_SOURCE_DIR), IsEmpty());
}

TEST(IncludeRulesTest, EachThatIsBrokenIsNamed) {
  const std::pair<const char*, const char*> files[] = {
      {"apps/check/mutation/mutation.h", ""},
      {"apps/labs/kit/lab.h", "#include \"apps/check/mutation/mutation.h\"\n"},
      {"apps/report/svg/svg.h", ""},
      {"apps/runs/plot.h", "#include \"apps/report/svg/svg.h\"\n#include \"cli/kit.h\"\n"},
      {"apps/runs/replay/replay.cc",
       "#include \"apps/runs/plot.h\"\n#include \"apps/labs/kit/lab.h\"\n"},
      {"cli/kit.h", ""},
      {"cli/train.cc", "#include \"apps/runs/plot.h\"\n"},
      {"data/a.h", "#include \"data/b.h\"\n"},
      {"data/b.h", "#include \"data/c.h\"\n"},
      {"data/batch.h", "#include \"models/decoder.h\"\n"},
      {"data/c.h", "#include \"data/a.h\"\n"},
      {"data/dataset.h", "#include \"data/text/tokens.h\"\n#include \"batch.h\"\n"},
      {"data/images/idx.h", ""},
      {"data/text/tokens.h", "#include \"data/batch.h\"\n#include \"data/images/idx.h\"\n"},
      {"framework/core/shape.cc", "#include <dnnl.hpp>\n"},
      {"framework/core/shape.h", "\n#  include \"framework/ops/ops.h\"\n"},
      {"framework/graph/node.h", "#include \"framework/kernels/product/matmul.h\"\n"},
      {"framework/kernels/elementwise/vector.h", "#include <omp.h>\n"},
      {"framework/kernels/product/matmul.h",
       "#include \"framework/kernels/elementwise/vector.h\"\n"},
      {"framework/ops/add.cc", "int compute();\n#pragma omp parallel for\n"},
      {"framework/ops/ops.h", ""},
      {"models/decoder.h", ""},
      {"train/loop/trainer.cc", "int n = omp_get_max_threads();\n"}};
  const TemporaryFolder folder;
  for (const auto& [name, text] : files) {
    fs::create_directories(fs::path(folder / name).parent_path());
    write_bytes(folder / name, text);
  }
  EXPECT_THAT(
      broken_include_rules(folder.path()),
      UnorderedElementsAre(
          "a cycle of includes: data/a.h -> data/b.h -> data/c.h -> data/a.h",
          "apps/runs/replay/replay.cc:2: apps/runs includes apps/labs, another app",
          "cli/train.cc:1: cli includes apps/runs, an app",
          "data/batch.h:1: data and models are neighbours",
          "data/dataset.h:2: \"batch.h\" is not written from the root",
          "data/text/tokens.h:2: data/text and data/images are neighbours",
          "framework/core/shape.cc:1: dnnl is named outside framework/kernels",
          "framework/core/shape.h:2: framework/core includes framework/ops, which is above",
          "framework/graph/node.h:1: framework/graph and framework/kernels/product are neighbours",
          "framework/ops/add.cc:2: omp is named outside framework/kernels",
          "train/loop/trainer.cc:1: omp is named outside framework/kernels"));
}

TEST(IncludeRulesTest, AFolderThatNobodyPlacedIsFound) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "framework/attic");
  write_bytes(folder / "framework/attic/a.h", "");
  EXPECT_THAT(broken_include_rules(folder.path()),
              ElementsAre("framework/attic/a.h: the folder has no floor in the house"));
}

}  // namespace
}  // namespace qkv
