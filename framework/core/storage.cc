#include "framework/core/storage.h"

#include <algorithm>
#include <bit>
#include <map>
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
size_t size_class_of(size_t bytes) {
  constexpr size_t kSmallest = 256;
  if (bytes <= kSmallest) return kSmallest;
  const size_t quarter = std::bit_floor(bytes - 1) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

struct Allocator {
  std::mutex mutex;
  std::map<size_t, std::vector<std::byte*>> free_blocks;  // by size class
  AllocatorStatistics statistics;
};

// Never destroyed: arrays with static lifetime may outlive any order of destruction.
Allocator& allocator() {
  static Allocator& instance = *new Allocator;
  return instance;
}

}  // namespace

Storage::Storage(size_t bytes) : block_(std::make_shared<Block>(bytes)) {}

Storage::Block::Block(size_t bytes) : size_class(size_class_of(bytes)) {
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  std::vector<std::byte*>& blocks = a.free_blocks[size_class];
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
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  a.statistics.bytes_in_use -= size_class;
  if (kCache) {
    a.free_blocks[size_class].push_back(data);
    a.statistics.bytes_cached += size_class;
  } else {
    ::operator delete(data, kAlignment);
  }
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
  for (auto& [size_class, blocks] : allocator().free_blocks) {
    for (std::byte* block : blocks) ::operator delete(block, kAlignment);
    blocks.clear();
  }
  allocator().statistics.bytes_cached = 0;
}

}  // namespace qkv
