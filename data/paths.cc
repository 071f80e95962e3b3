#include "data/paths.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/core/mistakes.h"

namespace qkv {

std::vector<std::string> split_paths(const std::string& paths) {
  if (paths.empty()) return {};
  return absl::StrSplit(paths, '\n');
}

std::string join_paths(const std::vector<std::string>& paths) { return absl::StrJoin(paths, "\n"); }

std::string paths_to_show(const std::string& paths) { return listed(split_paths(paths)); }

}  // namespace qkv
