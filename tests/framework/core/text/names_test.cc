#include "framework/core/text/names.h"

#include <gtest/gtest.h>

#include <set>

#include "framework/nn/layer_options.h"
#include "framework/optim/optimizer_options.h"

namespace qkv {
namespace {

TEST(NamesTest, ANameStandsForItsValue) {
  EXPECT_EQ(name_of(Schedule::kLinear), "linear");
  EXPECT_EQ(value_of<Schedule>("linear"), Schedule::kLinear);
  EXPECT_EQ(value_of<OptimizerKind>("adamw"), OptimizerKind::kAdamW);
}

TEST(NamesTest, NothingIsCalledAsNoneIs) {
  EXPECT_EQ(value_of<Schedule>("step"), std::nullopt);
  EXPECT_EQ(value_of<Schedule>("Linear"), std::nullopt);
  EXPECT_EQ(value_of<Schedule>(""), std::nullopt);
}

TEST(NamesTest, TheNamesAreListedInTheOrderOfTheTable) {
  EXPECT_EQ(names_of<Position>(), (std::vector<std::string>{"none", "sinusoidal", "learned",
                                                            "rotary", "alibi", "relative"}));
}

TEST(NamesTest, AValueThatIsNoneOfItsEnumerationIsMisuse) {
  EXPECT_THROW(name_of(static_cast<Schedule>(-1)), Error);
}

template <class E>
void expect_each_once() {
  std::set<E> values;
  std::set<std::string> names;
  for (const Named<E>& entry : kNames<E>) {
    values.insert(entry.value);
    names.insert(entry.name);
  }
  EXPECT_EQ(values.size(), std::size(kNames<E>));
  EXPECT_EQ(names.size(), std::size(kNames<E>));
}

TEST(NamesTest, NoTwoValuesShareANameAndNoTwoNamesAValue) {
  expect_each_once<Activation>();
  expect_each_once<NormKind>();
  expect_each_once<NormPlace>();
  expect_each_once<Position>();
  expect_each_once<OptimizerKind>();
  expect_each_once<Schedule>();
}

}  // namespace
}  // namespace qkv
