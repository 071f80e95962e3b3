#include "framework/core/error.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/framework/testing.h"

namespace qkv {
namespace {

TEST(ScopeTest, ErrorsNameThePlaceInTheModel) {
  expect_error("matmul: no", [] { fail("matmul: no"); });
  const Scope block("blocks.2");
  {
    const Scope attention("attention");
    expect_error("matmul: no (in blocks.2.attention)", [] { fail("matmul: no"); });
  }
  expect_error("matmul: no (in blocks.2)", [] { fail("matmul: no"); });
}

TEST(ScopeTest, IsLeftByAnException) {
  expect_error("no (in block)", [] {
    const Scope block("block");
    fail("no");
  });
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
