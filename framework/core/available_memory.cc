#include "framework/core/available_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace qkv {
namespace {

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
  while (file >> word) {
    uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes << 10;
  }
  return kUnknown;
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

}  // namespace

uint64_t available_memory() {
  return std::min({left_on_machine(), left_in_control_group(), left_of_addresses()});
}

}  // namespace qkv
