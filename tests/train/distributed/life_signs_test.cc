#include "train/distributed/life_signs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qkv {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kThree = {"rank 0 (on a)", "rank 1 (on b)", "rank 2 (on c)"};
constexpr LifeSign kWorking = {LifeSign::kWorks, 0}, kWaiting = {LifeSign::kWaits, 0},
                   kIdling = {LifeSign::kIdles, 0}, kLeaving = {LifeSign::kLeaves, 0};

// The seconds, up to 100, until something is wrong, and the sentence.
struct Verdict {
  int seconds = 0;
  std::string what;
};
template <class Tell>
Verdict watch(LifeSigns signs, Tell tell) {
  for (int second = 1; second <= 100; ++second) {
    tell(signs, second);
    if (std::string what = signs.pass(1); !what.empty()) return {second, what};
  }
  return {};
}

TEST(LifeSignsTest, LongWorkIsNotWrong) {
  const Verdict verdict = watch(LifeSigns(0, kThree, 20), [](LifeSigns& signs, int) {
    signs.note_own(kWaiting);
    signs.heard(1, kWorking);
    signs.heard(2, kWaiting);
  });
  EXPECT_EQ(verdict.what, "");
}

TEST(LifeSignsTest, ASilentRankIsNamed) {
  const Verdict verdict = watch(LifeSigns(0, kThree, 20), [](LifeSigns& signs, int second) {
    signs.note_own(kWorking);
    signs.heard(1, kWorking);
    if (second <= 10) signs.heard(2, kWorking);
  });
  EXPECT_THAT(verdict.what, HasSubstr("rank 2 (on c) has given no sign of life for 20 s"));
  EXPECT_EQ(verdict.seconds, 30);
}

TEST(LifeSignsTest, ThePieceOfALongMessageIsASignOfLife) {
  const Verdict verdict = watch(LifeSigns(0, kThree, 20), [](LifeSigns& signs, int second) {
    signs.note_own(kWorking);
    signs.heard(1, kWorking);
    if (second % 10 == 0) signs.heard(2);
  });
  EXPECT_EQ(verdict.what, "");
}

TEST(LifeSignsTest, OthersHearRank0Alone) {
  const auto silent = [](LifeSigns& signs, int) { signs.note_own(kWaiting); };
  const Verdict first = watch(LifeSigns(1, kThree, 20), silent);
  const Verdict second = watch(LifeSigns(2, kThree, 20), silent);
  EXPECT_THAT(first.what, HasSubstr("rank 0 (on a) has given no sign of life"));
  EXPECT_EQ(first.seconds, 23);
  EXPECT_GT(second.seconds, first.seconds);  // one of them says it
  const Verdict heard =
      watch(LifeSigns(2, kThree, 20), [](LifeSigns& signs, int) { signs.heard(0, kIdling); });
  EXPECT_EQ(heard.what, "");  // which is rank 0's own affair
}

TEST(LifeSignsTest, ARankThatIsBlockedIsNamedAndRank0Too) {
  for (const int blocked : {0, 1}) {
    const Verdict verdict = watch(LifeSigns(0, kThree, 20), [&](LifeSigns& signs, int) {
      for (const int rank : {0, 1, 2}) signs.heard(rank, rank == blocked ? kIdling : kWaiting);
    });
    EXPECT_THAT(verdict.what, HasSubstr("has done nothing for 20 s"));
    EXPECT_THAT(verdict.what, HasSubstr(kThree[static_cast<size_t>(blocked)]));
  }
}

TEST(LifeSignsTest, AllThatWaitForOneAnotherAreAMistakeUnlessSomethingArrives) {
  const Verdict stuck = watch(LifeSigns(0, kThree, 20), [](LifeSigns& signs, int) {
    for (const int rank : {0, 1, 2}) signs.heard(rank, kWaiting);
  });
  EXPECT_THAT(stuck.what, HasSubstr("all ranks have waited for one another"));
  const Verdict slow = watch(LifeSigns(0, kThree, 20), [](LifeSigns& signs, int second) {
    for (const int rank : {0, 1, 2}) signs.heard(rank, {LifeSign::kWaits, second / 10});
  });
  EXPECT_EQ(slow.what, "");
}

TEST(LifeSignsTest, WhoHasLeftMayBeSilent) {
  LifeSigns signs(0, kThree, 20);
  const Verdict verdict = watch(signs, [](LifeSigns& s, int second) {
    s.note_own(kWorking);
    if (second == 1) s.heard(1, kLeaving);
    if (second == 2) s.heard(2, kLeaving);
    EXPECT_EQ(s.alone(), second >= 2);
  });
  EXPECT_EQ(verdict.what, "");
}

}  // namespace
}  // namespace qkv
