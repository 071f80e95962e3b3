#include "train/distributed/rank_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "tests/train/distributed/thread_ranks.h"

namespace qkv {
namespace {

using std::chrono::milliseconds;

// A rank without a watch: hears the next sign of life of rank 0, and tells one.
LifeSign::What next_sign(Ranks& self, LifeSign::What own) {
  LifeSign heard, told = {.what = own};
  Ranks::Message message = self.receive(0, Ranks::kLife, bytes_of(std::span(&heard, 1)));
  // Few looks, so that the process uses hardly any time of the processor, as one that idles.
  for (int looks = 0; looks < 40 && !message.done(); ++looks) {
    self.poll(message);
    std::this_thread::sleep_for(milliseconds(200));
  }
  EXPECT_TRUE(message.done()) << "rank 0 gives no sign of life";
  self.send(0, Ranks::kLife, std::as_bytes(std::span(&told, 1)));
  return static_cast<LifeSign::What>(heard.what);
}

bool hears(Ranks& self, LifeSign::What wanted) {
  for (int signs = 0; signs < 10 && !testing::Test::HasFailure(); ++signs) {
    if (next_sign(self, LifeSign::kWaits) == wanted) return true;
  }
  return false;
}

TEST(RankWatchTest, TellsWhetherItsRankIdlesWaitsOrWorksAndEndsAfterTheOthers) {
  std::latch heard_that_it_idles(1);
  std::atomic<bool> heard_that_it_works = false, watch_has_ended = false;
  ThreadRanks(2).run([&](Ranks& self) {
    if (self.leads()) {
      {
        const RankWatch watch(self, {"rank 0", "rank 1"}, /*patience=*/5);
        heard_that_it_idles.wait();
        char byte = 0;
        Ranks::Message message = self.receive(1, Ranks::kTexts, bytes_of(std::span(&byte, 1)));
        self.wait(message);
        while (!heard_that_it_works) continue;
      }
      watch_has_ended = true;
      return;
    }
    EXPECT_TRUE(hears(self, LifeSign::kIdles));
    heard_that_it_idles.count_down();
    EXPECT_TRUE(hears(self, LifeSign::kWaits));
    const char byte = 0;
    self.send(0, Ranks::kTexts, std::as_bytes(std::span(&byte, 1)));
    EXPECT_TRUE(hears(self, LifeSign::kWorks));
    heard_that_it_works = true;
    EXPECT_TRUE(hears(self, LifeSign::kLeaves));
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_FALSE(watch_has_ended) << "while rank 1 is still there";
    const LifeSign last = {.what = LifeSign::kLeaves};
    self.send(0, Ranks::kLife, std::as_bytes(std::span(&last, 1)));
  });
}

TEST(PatienceTest, IsANumberOfSecondsUpToADays) {
  const auto patience_for = [](const char* said) {
    setenv("QKV_PATIENCE", said, 1);
    const auto patience = patience_with_ranks();
    unsetenv("QKV_PATIENCE");
    return patience.value_or(-1);
  };
  EXPECT_EQ(*patience_with_ranks(), 20);
  EXPECT_EQ(patience_for("0.5"), 0.5);
  EXPECT_EQ(patience_for("86400"), 86400);
  for (const char* wrong : {"", "0", "-1", "86401", "inf", "nan", "soon", "5 s"}) {
    EXPECT_EQ(patience_for(wrong), -1) << wrong;
  }
}

}  // namespace
}  // namespace qkv
