#include "apps/runs/sweep/sweep_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qkv {
namespace {

using testing::ElementsAre;

TEST(ValuesOfListTest, ACommaInBracketsOrQuotesBelongsToTheValue) {
  EXPECT_THAT(values_of_list("1,2"), ElementsAre("1", "2"));
  EXPECT_THAT(values_of_list(""), ElementsAre(""));
  EXPECT_THAT(values_of_list("[0.9,0.95],[1,[2,3]],4"),
              ElementsAre("[0.9,0.95]", "[1,[2,3]]", "4"));
  EXPECT_THAT(values_of_list(R"("a,b",'c,"d',e)"), ElementsAre(R"("a,b")", R"('c,"d')", "e"));
  EXPECT_THAT(values_of_list(R"("a\",b",c)"), ElementsAre(R"("a\",b")", "c"))
      << "an escaped quote ends nothing";
  EXPECT_THAT(values_of_list(R"('a\',b)"), ElementsAre(R"('a\')", "b"))
      << "between single quotes nothing is escaped";
  EXPECT_THAT(values_of_list(R"( "a,b",c)"), ElementsAre(R"( "a,b")", "c"));
  EXPECT_THAT(values_of_list(R"(a"b,c")"), ElementsAre(R"(a"b)", R"(c")"))
      << "a value that does not begin with a quote has none";
}

}  // namespace
}  // namespace qkv
