#pragma once

#include <string>
#include <vector>

namespace qkv {

// data.path may be a list. One text holds it, with a path on each line: no path of a config has a
// line end.
std::vector<std::string> split_paths(const std::string& paths);
std::string join_paths(const std::vector<std::string>& paths);
inline bool is_list_of_paths(const std::string& paths) {
  return paths.find('\n') != std::string::npos;
}

std::string paths_to_show(const std::string& paths);  // "a.txt, b.txt"

}  // namespace qkv
