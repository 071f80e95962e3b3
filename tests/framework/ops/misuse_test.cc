// Every function of ops.h, with what nobody should give it, makes what it should, or throws an
// error that names it: those with other arguments than tensors by a list, the others by examples.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "framework/core/memory/out_of_memory.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/op_examples.h"
#include "tests/framework/ops/misuse_arguments.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::ContainsRegex;
using testing::StartsWith;

class MisuseTest : public testing::TestWithParam<Call> {};

TEST_P(MisuseTest, MakesWhatItShouldOrThrowsAnErrorThatNamesTheOp) {
  const Call& call = GetParam();
  int made = 0, refused = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    std::optional<ComposedOnly> composed;
    if (draw.with_probability(0.3)) composed.emplace();
    try {
      const Made result = call.f(draw);
      ASSERT_TRUE(result.y.defined());
      ASSERT_EQ(dims(result.y), result.shape);
      ++made;
      differentiate(result.y, draw.with_probability(0.3));
      continue;
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), StartsWith(call.op + ": "));
    } catch (const OutOfMemory& error) {  // of the op, or of one that it is composed of
      ASSERT_THAT(error.what(), ContainsRegex("^[a-z_]+: there is not enough memory for "));
    }
    ++refused;
  }
  EXPECT_GT(made, 20);
  EXPECT_GT(refused, 20);
}

INSTANTIATE_TEST_SUITE_P(All, MisuseTest, testing::ValuesIn(listed_calls()), [](const auto& test) {
  return test.param.op + "_" + std::to_string(test.index);
});

// The prototypes of ops.h, "Tensor scale(const Tensor& x, double factor)".
std::vector<std::string> prototypes() {
  std::ifstream header(QKV_SOURCE_DIR "/framework/ops/ops.h");
  std::vector<std::string> all;
  for (std::string line; std::getline(header, line);) {
    if (!line.starts_with("Tensor ") && !line.starts_with("std::vector<Tensor> ")) continue;
    for (std::string more; line.find(");") == std::string::npos && std::getline(header, more);) {
      line += more;
    }
    all.push_back(line.substr(0, line.find(");") + 1));
  }
  return all;
}

TEST(MisuseListTest, HasEveryPrototypeThatTakesMoreThanTensors) {
  std::map<std::string, int> listed, declared;
  int of_tensors = 0;
  for (const Call& call : listed_calls()) ++listed[call.op];
  for (const std::string& prototype : prototypes()) {
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(prototype, parts, std::regex("(\\S+) (\\w+)\\((.*)\\)")))
        << prototype;
    if (std::regex_match(parts[3].str(), std::regex("(const Tensor& \\w+(, )?)+"))) {
      ++of_tensors;
    } else {
      ++declared[parts[2]];
    }
  }
  EXPECT_GT(of_tensors, 20);
  EXPECT_EQ(listed, declared);
}

TEST(MisuseListTest, EveryOpIsGivenOtherTensorsThanThoseOfItsExamples) {
  for (const OpExamples& op : op_examples()) call_with_strange_tensors(op);
}

}  // namespace
}  // namespace qkv
