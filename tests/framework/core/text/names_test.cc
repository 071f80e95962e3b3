#include "framework/core/text/names.h"

#include <gtest/gtest.h>

#include <set>

#include "framework/nn/layer_options.h"
#include "framework/optim/optimizer_options.h"

namespace qkv {
namespace {

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
