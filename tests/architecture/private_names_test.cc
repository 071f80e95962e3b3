// The files of a folder are compiled together. A constant of an anonymous namespace that has the
// name of one in a header would there stand for it, without a word of the compiler.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>

namespace qkv {
namespace {

namespace fs = std::filesystem;

// The constants at the level of a namespace, with their files; specializations of a template aside.
std::multimap<std::string, std::string> constants(const std::string& extension) {
  static const std::regex kConstant(R"(^(?:inline )?constexpr [^=({]*\b(k[A-Z]\w*)\b(?!<).*)");
  std::multimap<std::string, std::string> found;
  for (const char* top : {"framework", "models", "data", "train", "cli", "apps"}) {
    if (!fs::exists(fs::path(QKV_SOURCE_DIR) / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(QKV_SOURCE_DIR) / top)) {
      if (entry.path().extension() != extension) continue;
      std::ifstream file(entry.path());
      std::smatch match;
      for (std::string line; std::getline(file, line);) {
        if (std::regex_match(line, match, kConstant)) {
          found.emplace(match[1], fs::relative(entry.path(), QKV_SOURCE_DIR).string());
        }
      }
    }
  }
  return found;
}

TEST(PrivateNamesTest, NoConstantOfAFileHasTheNameOfOneInAHeader) {
  const auto public_names = constants(".h");
  ASSERT_GT(public_names.size(), 0u);
  for (const auto& [name, file] : constants(".cc")) {
    const auto found = public_names.find(name);
    EXPECT_TRUE(found == public_names.end())
        << file << " and " << found->second << " both have a " << name;
  }
}

}  // namespace
}  // namespace qkv
