#include "framework/core/error.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/framework/testing.h"

namespace qkv {
namespace {

TEST(ScopeTest, ErrorsNameThePlaceInTheModel) {
  EXPECT_EQ(error_of([] { fail("matmul: no"); }), "matmul: no");
  const Scope block("blocks.2");
  {
    const Scope attention("attention");
    EXPECT_EQ(error_of([] { fail("matmul: no"); }), "matmul: no (in blocks.2.attention)");
  }
  EXPECT_EQ(error_of([] { fail("matmul: no"); }), "matmul: no (in blocks.2)");
}

TEST(ScopeTest, IsLeftByAnException) {
  EXPECT_EQ(error_of([] {
              const Scope block("block");
              fail("no");
            }),
            "no (in block)");
  EXPECT_EQ(Scope::current(), "");
}

TEST(ScopeTest, AnotherPlaceStandsInForTheWholeChain) {
  const Scope train("train");
  {
    const ScopeAt forward("blocks.1");
    const Scope inner("norm");
    EXPECT_EQ(Scope::current(), "blocks.1.norm");
  }
  EXPECT_EQ(Scope::current(), "train");
}

TEST(ScopeTest, EachThreadHasItsOwnChain) {
  const Scope scope("here");
  std::string there = "?";
  std::thread([&] { there = Scope::current(); }).join();
  EXPECT_EQ(there, "");
}

}  // namespace
}  // namespace qkv
