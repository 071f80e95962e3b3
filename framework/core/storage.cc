#include "framework/core/storage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

namespace qkv {
namespace {

constexpr std::align_val_t kAlignment{64};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCache = false;  // let the sanitizer see each allocation's end
#else
constexpr bool kCache = true;
#endif

// Four classes to each doubling, so that at most a fifth of a block is unused.
constexpr size_t kSmallest = 256;
size_t size_class_of(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const size_t quarter = std::bit_floor(bytes - 1) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

// 0, 1, 2, … for the classes in the order of their sizes.
size_t index_of_class(size_t size_class) {
  const size_t doubling = std::bit_floor(size_class);
  const auto quarters = (size_class - doubling) / (doubling / 4);
  return 4 * static_cast<size_t>(std::countr_zero(doubling / kSmallest)) + quarters;
}
constexpr size_t kClasses = size_t{4} * 64;

struct Allocator {
  std::mutex mutex;
  std::array<std::vector<std::byte*>, kClasses> free_blocks;  // by class
  AllocatorStatistics statistics;

  void keep(std::byte* data, size_t size_class) {
    free_blocks[index_of_class(size_class)].push_back(data);
    statistics.bytes_cached += size_class;
  }
};

// Never destroyed: arrays with static lifetime may outlive any order of destruction.
Allocator& allocator() {
  static Allocator& instance = *new Allocator;
  return instance;
}

thread_local ThreadMemory* thread_memory = nullptr;

}  // namespace

Storage::Storage(size_t bytes) : block_(std::make_shared<Block>(bytes)) {}

Storage::Block::Block(size_t bytes) : size_class(size_class_of(bytes)) {
  data = thread_memory ? thread_memory->take(size_class) : nullptr;
  if (data) return;
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  std::vector<std::byte*>& blocks = a.free_blocks[index_of_class(size_class)];
  if (blocks.empty()) {
    data = static_cast<std::byte*>(::operator new(size_class, kAlignment));
    ++a.statistics.system_calls;
  } else {
    data = blocks.back();
    blocks.pop_back();
    a.statistics.bytes_cached -= size_class;
  }
  a.statistics.bytes_in_use += size_class;
  a.statistics.peak_bytes_in_use =
      std::max(a.statistics.peak_bytes_in_use, a.statistics.bytes_in_use);
}

Storage::Block::~Block() {
  if (thread_memory) {
    thread_memory->free_blocks_.push_back({data, size_class});
    return;
  }
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  a.statistics.bytes_in_use -= size_class;
  if (kCache) {
    a.keep(data, size_class);
  } else {
    ::operator delete(data, kAlignment);
  }
}

ThreadMemory::ThreadMemory() : outer_(thread_memory) {
  if (kCache) thread_memory = this;
}

ThreadMemory::~ThreadMemory() {
  thread_memory = outer_;
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  for (const auto& [data, size_class] : free_blocks_) {
    a.statistics.bytes_in_use -= size_class;
    a.keep(data, size_class);
  }
}

std::byte* ThreadMemory::take(size_t size_class) {
  const auto found =
      std::find_if(free_blocks_.rbegin(), free_blocks_.rend(),
                   [=](const FreeBlock& block) { return block.size_class == size_class; });
  if (found == free_blocks_.rend()) return nullptr;
  std::byte* data = found->data;
  *found = free_blocks_.back();
  free_blocks_.pop_back();
  return data;
}

AllocatorStatistics allocator_statistics() {
  std::lock_guard lock(allocator().mutex);
  return allocator().statistics;
}

void reset_peak_bytes_in_use() {
  std::lock_guard lock(allocator().mutex);
  allocator().statistics.peak_bytes_in_use = allocator().statistics.bytes_in_use;
}

void release_cached_memory() {
  std::lock_guard lock(allocator().mutex);
  for (std::vector<std::byte*>& blocks : allocator().free_blocks) {
    for (std::byte* block : blocks) ::operator delete(block, kAlignment);
    blocks.clear();
  }
  allocator().statistics.bytes_cached = 0;
}

}  // namespace qkv
