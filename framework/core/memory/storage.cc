#include "framework/core/memory/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "framework/core/memory/out_of_memory.h"

namespace qkv {
namespace {

constexpr std::align_val_t kAlignment{64};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCache = false;  // let the sanitizer see each allocation's end

// Memory that can't be had is an error like any other, and not the sanitizer's.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#else
constexpr bool kCache = true;
#endif

// Four classes to each doubling, so that at most a fifth of a block is unused.
constexpr size_t kSmallest = 256;
size_t size_class_of(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes > std::numeric_limits<ptrdiff_t>::max()) throw std::bad_alloc();
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

// Notes a freed block, unless there is no memory for the note itself.
template <class Block>
bool noted(std::vector<Block>& blocks, const Block& block) noexcept {
  try {
    blocks.push_back(block);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

constexpr size_t kSpare = 32 << 20;  // reserved for all but arrays

bool has_spare_addresses() {
  if (!kCache) return true;  // too slow where every array asks the system
  void* spare = ::mmap(nullptr, kSpare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return spare != MAP_FAILED && ::munmap(spare, kSpare) == 0;
}

struct Allocator {
  std::mutex mutex;
  std::array<std::vector<std::byte*>, kClasses> free_blocks;  // by class
  AllocatorStatistics statistics;

  void keep(std::byte* data, size_t size_class) {
    if (kCache && noted(free_blocks[index_of_class(size_class)], data)) {
      statistics.bytes_cached += size_class;
    } else {
      give_back(data);
    }
  }

  static void give_back(std::byte* data) { ::operator delete(data, kAlignment); }

  void give_back_all() {
    for (std::vector<std::byte*>& blocks : free_blocks) {
      for (std::byte* block : blocks) give_back(block);
      blocks.clear();
    }
    statistics.bytes_cached = 0;
  }

  // Linux overcommits, and kills the program that writes to all of it. So the free memory is read
  // from a file again whenever half of the spare memory was handed out.
  bool is_there(size_t size_class) {
    handed_out_unasked_ += size_class;
    if (!kCache || handed_out_unasked_ < kSpare / 2) return true;
    handed_out_unasked_ = 0;
    const uint64_t available = available_memory();
    return available >= kSpare && size_class <= available - kSpare;
  }

  std::byte* ask_system(size_t size_class) {  // null: it has none
    ++statistics.system_calls;
    if (!is_there(size_class)) return nullptr;
    return static_cast<std::byte*>(::operator new(size_class, kAlignment, std::nothrow));
  }

 private:
  size_t handed_out_unasked_ = 0;
};

// Never destroyed: arrays with static lifetime may outlive any order of destruction.
Allocator& allocator() {
  static Allocator& instance = *new Allocator;
  return instance;
}

thread_local ThreadMemory* thread_memory = nullptr;

}  // namespace

Storage::Storage(size_t bytes) : block_(std::make_shared<Block>(bytes)) {}

Storage::Storage(std::byte* data, std::shared_ptr<const void> owner)
    : block_(std::make_shared<Block>(data, std::move(owner))) {}

Storage::Block::Block(std::byte* memory, std::shared_ptr<const void> its_owner)
    : data(memory), size_class(0), owner(std::move(its_owner)) {}

Storage::Block::Block(size_t bytes) : size_class(size_class_of(bytes)) {
  data = thread_memory ? thread_memory->take(size_class) : nullptr;
  if (data) return;
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  std::vector<std::byte*>& blocks = a.free_blocks[index_of_class(size_class)];
  if (blocks.empty()) {
    data = a.ask_system(size_class);
    if (!data) {
      if (thread_memory) thread_memory->give_back();
      a.give_back_all();
      data = a.ask_system(size_class);
    }
    if (!data) throw std::bad_alloc();
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
  if (owner) return;
  if (thread_memory && noted(thread_memory->free_blocks_, {data, size_class})) return;
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  a.statistics.bytes_in_use -= size_class;
  a.keep(data, size_class);
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

// Called by whoever holds the allocator's lock.
void ThreadMemory::give_back() {
  for (const auto& [data, size_class] : free_blocks_) {
    allocator().statistics.bytes_in_use -= size_class;
    Allocator::give_back(data);
  }
  free_blocks_.clear();
  if (outer_) outer_->give_back();
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

void require_spare_memory() {
  if (has_spare_addresses()) return;
  release_cached_memory();
  if (!has_spare_addresses()) throw std::bad_alloc();
}

void release_cached_memory() {
  std::lock_guard lock(allocator().mutex);
  allocator().give_back_all();
}

}  // namespace qkv
