#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace qkv {

// Memory for arrays: 64-byte aligned and uninitialized. Freed memory is kept and reused, so that a
// training step in its steady state asks the system for none. Thread-safe.
class Storage {
 public:
  Storage() = default;
  // Throws std::bad_alloc where the system gives none, even after release_cached_memory(), or would
  // overcommit. The last 32 MiB are reserved for everything that is not an array.
  explicit Storage(size_t bytes);
  // Borrowed memory: `owner` keeps it alive and may be released on any thread. The caller knows its
  // size; it is aligned for its elements and never reused by the allocator.
  Storage(std::byte* data, std::shared_ptr<const void> owner);

  std::byte* data() const { return block_ ? block_->data : nullptr; }
  explicit operator bool() const { return block_ != nullptr; }
  bool is_shared() const { return block_.use_count() > 1 || (block_ && block_->owner); }

  class Weak;  // remembers the memory without keeping it

  // Counts the writes in place since creation. Backward compares it, so that a tensor changed
  // between its use and the backward walk is an error and not a wrong gradient.
  uint64_t version() const { return block_ ? block_->version : 0; }
  void count_write() {
    if (block_) ++block_->version;
  }

 private:
  struct Block {
    explicit Block(size_t bytes);
    Block(std::byte* memory, std::shared_ptr<const void> its_owner);
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    std::byte* data;
    size_t size_class;
    uint64_t version = 0;
    std::shared_ptr<const void> owner = nullptr;  // nullptr: the memory is the block's own
  };

  std::shared_ptr<Block> block_;
};

class Storage::Weak {
 public:
  Weak() = default;
  explicit Weak(const Storage& storage) : block_(storage.block_) {}
  Storage lock() const {  // empty where nobody has kept it
    Storage storage;
    storage.block_ = block_.lock();
    return storage;
  }

 private:
  std::weak_ptr<Block> block_;
};

// While one lives, its thread keeps the memory that it frees and reuses it without a lock: for
// threads that make many small arrays at once, and would pass the lock and each other's memory to
// and fro. At its end, other threads may use what it kept.
class ThreadMemory {
 public:
  ThreadMemory();
  ~ThreadMemory();
  ThreadMemory(const ThreadMemory&) = delete;
  ThreadMemory& operator=(const ThreadMemory&) = delete;

 private:
  friend class Storage;
  struct FreeBlock {
    std::byte* data;
    size_t size_class;
  };

  std::byte* take(size_t size_class);  // null: it has none
  void give_back();                    // what it keeps, to the system; those outside of it, too

  std::vector<FreeBlock> free_blocks_;  // so few that they are looked through one by one
  ThreadMemory* outer_;
};

struct AllocatorStatistics {
  uint64_t system_calls = 0;  // how often the system was asked for memory
  uint64_t bytes_in_use = 0;  // with what a ThreadMemory keeps
  uint64_t peak_bytes_in_use = 0;
  uint64_t bytes_cached = 0;  // freed and kept
};

AllocatorStatistics allocator_statistics();
void reset_peak_bytes_in_use();
void release_cached_memory();  // gives the cache back to the system

// Throws std::bad_alloc where the system has no 32 MiB more. For use before code that aborts
// without memory. Costs two system calls.
void require_spare_memory();

}  // namespace qkv
