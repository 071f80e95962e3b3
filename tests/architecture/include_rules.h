#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace qkv {

// Reads every .h and .cc below framework, models, data, train, cli and apps in `root`, and returns
// a sentence for each place that breaks a rule of the house, in the order of the file names:
//
// - an #include points down, by the floors of docs/architecture.md; neighbours do not know each
//   other;
// - an #include of a file of the project is written from the root;
// - oneDNN and OpenMP are named in framework/kernels only;
// - no file includes itself, by whatever detour.
std::vector<std::string> broken_include_rules(const std::filesystem::path& root);

}  // namespace qkv
