#include "framework/core/memory/storage.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <thread>
#include <vector>

namespace qkv {
namespace {

TEST(StorageTest, IsAlignedTo64Bytes) {
  for (const size_t bytes : {0, 1, 63, 257, 1000, 4097, 100000}) {
    const Storage storage(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(storage.data()) % 64, 0u);
    std::memset(storage.data(), 1, bytes);  // sanitizers see whether it is all there
  }
}

TEST(StorageTest, CopiesShareTheirMemory) {
  const Storage a(8);
  EXPECT_FALSE(a.is_shared());
  std::optional<Storage> b(a);
  EXPECT_TRUE(a.is_shared());
  EXPECT_EQ(a.data(), b->data());
  b.reset();
  EXPECT_FALSE(a.is_shared());
  EXPECT_FALSE(static_cast<bool>(Storage()));
  EXPECT_EQ(Storage().data(), nullptr);
}

TEST(StorageTest, CountsWritesForEveryCopy) {
  Storage a(8);
  const Storage b = a;
  a.count_write();
  a.count_write();
  EXPECT_EQ(b.version(), 2u);
}

TEST(AllocatorTest, CountsWhatIsInUse) {
  const AllocatorStatistics before = allocator_statistics();
  reset_peak_bytes_in_use();
  {
    const Storage a(1 << 20), b(1 << 20);
    EXPECT_EQ(allocator_statistics().bytes_in_use - before.bytes_in_use, 2u << 20);
  }
  EXPECT_EQ(allocator_statistics().bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(allocator_statistics().peak_bytes_in_use - before.bytes_in_use, 2u << 20);
  reset_peak_bytes_in_use();
  EXPECT_EQ(allocator_statistics().peak_bytes_in_use, before.bytes_in_use);
}

TEST(AllocatorTest, WastesAtMostAFifthOfALargeBlock) {
  for (size_t bytes = 1000; bytes < 3000000; bytes = bytes * 17 / 16) {
    const uint64_t before = allocator_statistics().bytes_in_use;
    const Storage storage(bytes);
    const uint64_t taken = allocator_statistics().bytes_in_use - before;
    EXPECT_GE(taken, bytes);
    EXPECT_LE(taken - bytes, taken / 5 + 1) << bytes;
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // which turns the cache off, to see each allocation's end
#if !defined(__SANITIZE_THREAD__)   // whose own memory no limit leaves room for
// Lets the process have so many bytes more than it has.
void limit_memory(size_t more_bytes) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<size_t>(::getpagesize()) + more_bytes;
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

// Ends with status 0 when f throws bad_alloc and all that it took has been let go.
void run_out_of_memory(size_t bytes, const std::function<void()>& f) {
  const uint64_t before = allocator_statistics().bytes_in_use;
  limit_memory(bytes);
  try {
    f();
  } catch (const std::bad_alloc&) {
    ::_exit(allocator_statistics().bytes_in_use == before ? 0 : 1);
  }
  ::_exit(2);
}

TEST(AllocatorDeathTest, GivesBackWhatIsCachedBeforeItGivesUp) {
  const auto one_after_the_other = [] {
    for (const size_t mebibytes : {40, 48, 40, 56}) Storage(mebibytes << 20);
  };
  EXPECT_EXIT(run_out_of_memory(104 << 20,
                                [&] {
                                  one_after_the_other();
                                  const ThreadMemory memory;
                                  one_after_the_other();
                                  std::cerr << "so far";
                                  Storage(80 << 20);
                                }),
              testing::ExitedWithCode(0), "so far");
}

TEST(AllocatorDeathTest, LetsGoWhenThereIsNoMemoryToNoteIt) {
  const auto fill = [] {
    std::deque<Storage> all;
    try {
      while (true) all.emplace_back(300);
    } catch (const std::bad_alloc&) {
      while (std::malloc(16)) continue;
      throw;
    }
  };
  EXPECT_EXIT(run_out_of_memory(40 << 20, fill), testing::ExitedWithCode(0), "");
}

// The system alone would promise it, and end the program that writes to all of it.
TEST(AllocatorTest, GivesNoMoreThanTheMachineHas) {
  struct sysinfo info {};
  ASSERT_EQ(::sysinfo(&info), 0);
  EXPECT_THROW(Storage{(info.totalram + info.totalswap) * info.mem_unit}, std::bad_alloc);
}
#endif

TEST(AllocatorTest, HandsOutAgainWhatWasLetGo) {
  release_cached_memory();
  const auto step = [] {
    std::vector<Storage> all;
    for (size_t bytes = 1; bytes < 100000; bytes *= 3) all.emplace_back(bytes);
  };
  step();
  const AllocatorStatistics first = allocator_statistics();
  for (int i = 0; i < 10; ++i) step();
  const AllocatorStatistics last = allocator_statistics();
  EXPECT_EQ(last.system_calls, first.system_calls);
  EXPECT_EQ(last.bytes_cached, first.bytes_cached);
  EXPECT_GT(last.bytes_cached, 0u);
  release_cached_memory();
  EXPECT_EQ(allocator_statistics().bytes_cached, 0u);
  step();
  EXPECT_GT(allocator_statistics().system_calls, last.system_calls);
}

TEST(ThreadMemoryTest, KeepsWhatIsLetGoForItsThreadUntilItsEnd) {
  const auto address_of_a_block = [] { return Storage(100'000).data(); };
  release_cached_memory();
  const AllocatorStatistics before = allocator_statistics();
  const std::byte* mine = nullptr;
  {
    const ThreadMemory memory;
    mine = address_of_a_block();
    const std::byte* others = nullptr;
    std::thread([&] { others = address_of_a_block(); }).join();
    EXPECT_NE(others, mine);
    EXPECT_EQ(address_of_a_block(), mine);
    EXPECT_NE(Storage(200'000).data(), mine);
    EXPECT_GT(allocator_statistics().bytes_in_use, before.bytes_in_use);
    release_cached_memory();  // what is others'
  }
  EXPECT_EQ(allocator_statistics().bytes_in_use, before.bytes_in_use);
  const std::byte* again = nullptr;
  std::thread([&] { again = address_of_a_block(); }).join();
  EXPECT_EQ(again, mine);
}

TEST(ThreadMemoryTest, OneWithinAnotherEndsFirst) {
  const AllocatorStatistics before = allocator_statistics();
  {
    const ThreadMemory outer;
    const Storage kept(1000);
    try {
      const ThreadMemory inner;
      const Storage storage(1000);
      throw 1;
    } catch (int) {
    }
    const Storage storage(1000);
    EXPECT_NE(storage.data(), kept.data());
  }
  EXPECT_EQ(allocator_statistics().bytes_in_use, before.bytes_in_use);
}

TEST(ThreadMemoryTest, LetsGoWhatAnotherThreadMade) {
  const AllocatorStatistics before = allocator_statistics();
  {
    std::optional<Storage> storage(100'000);
    std::thread([&] {
      const ThreadMemory memory;
      storage.reset();
    }).join();
  }
  EXPECT_EQ(allocator_statistics().bytes_in_use, before.bytes_in_use);
}
#endif

}  // namespace
}  // namespace qkv
