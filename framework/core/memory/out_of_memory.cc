#include "framework/core/memory/out_of_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/error.h"
#include "framework/core/memory/storage.h"

namespace qkv {
namespace {

std::string place() {  // " (in blocks.0.attention)"
  return Scope::current().empty() ? "" : absl::StrCat(" (in ", Scope::current(), ")");
}

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

// The first number of a file; kUnknown where there is none ("max").
uint64_t number_in(const std::string& path) {
  uint64_t number = 0;
  return std::ifstream(path) >> number ? number : kUnknown;
}

uint64_t left_of(uint64_t limit, uint64_t used) {
  if (limit == kUnknown || used == kUnknown) return kUnknown;
  return limit > used ? limit - used : 0;
}

uint64_t left_on_machine() {
  std::ifstream file("/proc/meminfo");  // "MemAvailable:   12345 kB"
  std::string word;
  uint64_t kibibytes = 0;
  while (file >> word && word != "MemAvailable:") {
  }
  return file >> kibibytes ? kibibytes << 10 : kUnknown;
}

// Reads cgroup v2; a group's limit holds for all groups below it.
uint64_t left_in_control_group() {
  std::ifstream file("/proc/self/cgroup");
  std::string line, group;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  uint64_t left = kUnknown;
  while (!group.empty()) {
    const std::string folder = "/sys/fs/cgroup" + group;
    left = std::min(
        left, left_of(number_in(folder + "/memory.max"), number_in(folder + "/memory.current")));
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  return left;
}

uint64_t left_of_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  const uint64_t pages = number_in("/proc/self/statm");
  if (pages == kUnknown) return limit.rlim_cur;
  return left_of(limit.rlim_cur, pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
}

// QKV_MEMORY, in bytes, which whoever starts a program may set.
uint64_t most_memory() {
  const char* const said = std::getenv("QKV_MEMORY");
  return said ? std::strtoull(said, nullptr, 10) : kUnknown;
}

}  // namespace

OutOfMemory::OutOfMemory()
    : text_(std::make_shared<const std::string>("there is not enough memory")) {}

OutOfMemory::OutOfMemory(const std::string& array)
    : text_(std::make_shared<const std::string>(
          absl::StrCat("there is not enough memory for ", array, ", beside ",
                       describe_bytes(allocator_statistics().bytes_in_use), " in use", place()))),
      names_place_(!Scope::current().empty()) {}

OutOfMemory OutOfMemory::of(const std::bad_alloc& error) {
  const auto* told = dynamic_cast<const OutOfMemory*>(&error);
  return told ? *told : OutOfMemory();
}

OutOfMemory OutOfMemory::in_op(std::string_view op) const {
  if (names_op_) return *this;
  OutOfMemory result = *this;
  result.text_ = std::make_shared<const std::string>(
      absl::StrCat(std::string(op), ": ", *text_, names_place_ ? "" : place()));
  result.names_op_ = result.names_place_ = true;
  return result;
}

std::string describe_bytes(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double count = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; count >= 1023.5 && unit + 1 < kUnits.size(); ++unit) count /= 1024;
  return absl::StrFormat("%.*f %s", count < 9.95 ? 1 : 0, count, kUnits[unit]);
}

uint64_t available_memory() {
  return std::min({left_on_machine(), left_in_control_group(), left_of_addresses(), most_memory()});
}

}  // namespace qkv
