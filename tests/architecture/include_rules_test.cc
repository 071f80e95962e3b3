#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/temporary_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The floors of the book, from the ground up. A room is a folder named here, with the folders in
// it. It may include itself and what is on a floor below it.
const std::vector<std::vector<std::string>> kFloors = {
    {"framework/core"},                                        //
    {"framework/graph", "framework/kernels", "framework/io"},  // an op is where the first two meet
    {"framework/ops"},                                         //
    {"framework/autograd"},                                    //
    {"framework/nn", "framework/gradcheck"},                   //
    {"framework/optim"},                // takes the parameters that a module lists
    {"models", "data"},                 // the trainer is where they meet
    {"data/tasks"},                     //
    {"train/config"},                   //
    {"train/folder"},                   //
    {"train/watch", "train/generate"},  //
    {"train/evaluate"},                 //
    {"train/loop"},                     //
    {"cli"},
};

// The folders of one room know the room, but each other by these arrows alone.
const std::set<std::pair<std::string, std::string>> kArrowsInRooms = {
    {"framework/kernels/product", "framework/kernels/elementwise"},    //
    {"framework/kernels/attention", "framework/kernels/elementwise"},  //
    {"framework/kernels/attention", "framework/kernels/product"},      //
};

// The shelf: an app may include the book, itself, apps/report, and other apps by these arrows.
const std::set<std::pair<std::string, std::string>> kArrowsOfApps = {
    {"apps/labs", "apps/check"},     //
    {"apps/labs", "apps/lesson"},    //
    {"apps/python", "apps/labs"},    // labs and lessons in a notebook
    {"apps/python", "apps/lesson"},  //
    {"apps/runs", "apps/lesson"},    // the attention of a run, on its page
};

struct Include {
  int line;
  std::string target;
};

struct SourceFile {
  std::vector<Include> includes;  // those in quotes
  std::vector<std::string> foreign_names;
};

using Sources = std::map<std::string, SourceFile>;  // by path from the root

// The folder of a file of the book; the app of a file in one.
std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.starts_with("apps/") ? folder.substr(0, folder.find('/', 5)) : folder;
}

std::string top_of(const std::string& folder) { return folder.substr(0, folder.find('/')); }

bool is_app(const std::string& folder) { return folder.starts_with("apps/"); }

// The room that a folder is, or is in; "": none.
std::string room_of(const std::string& folder) {
  for (const auto& floor : kFloors) {
    if (std::ranges::count(floor, folder)) return folder;
  }
  const size_t slash = folder.rfind('/');
  return slash == folder.npos ? "" : room_of(folder.substr(0, slash));
}

size_t floor_of(const std::string& room) {
  return std::ranges::find_if(kFloors,
                              [&](const auto& floor) { return std::ranges::count(floor, room); }) -
         kFloors.begin();
}

bool is_identifier_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whether `name` stands in the line as a word or begins one that goes on with '_':
// omp_get_max_threads names omp, compute does not.
bool names(std::string_view line, std::string_view name) {
  for (size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !is_identifier_character(line[at - 1]);
    const bool ends = end == line.size() || line[end] == '_' || !is_identifier_character(line[end]);
    if (begins && ends) return true;
  }
  return false;
}

// The target of a line #include "target".
std::optional<std::string> quoted_include(std::string_view line) {
  const size_t hash = line.find_first_not_of(" \t");
  if (hash == line.npos || line[hash] != '#') return std::nullopt;
  const size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == line.npos || !line.substr(word).starts_with("include")) return std::nullopt;
  const size_t open = line.find('"', word);
  if (open == line.npos) return std::nullopt;
  return std::string(line.substr(open + 1, line.find('"', open + 1) - open - 1));
}

SourceFile read_source(const fs::path& path, const std::string& name) {
  SourceFile source;
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (auto target = quoted_include(line)) source.includes.push_back({number, *target});
    if (line.find("<mpi.h>") != line.npos && !name.starts_with("apps/cluster/mpi/")) {
      source.foreign_names.push_back(name + ":" + std::to_string(number) +
                                     ": MPI is used outside apps/cluster/mpi");
    }
    for (const char* foreign : {"dnnl", "DNNL", "omp"}) {
      if (room_of(folder_of(name)) != "framework/kernels" && names(line, foreign)) {
        source.foreign_names.push_back(name + ":" + std::to_string(number) + ": " + foreign +
                                       " is named outside framework/kernels");
      }
    }
  }
  return source;
}

Sources read_sources(const fs::path& root) {
  Sources sources;
  for (const char* top : {"framework", "models", "data", "train", "cli", "apps"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      const std::string name = entry.path().lexically_relative(root).generic_string();
      sources[name] = read_source(entry.path(), name);
    }
  }
  return sources;
}

// What is wrong with one include, if anything.
std::optional<std::string> broken_rule(const Sources& sources, const std::string& from,
                                       const std::string& to) {
  const std::string above = folder_of(from);
  if (sources.contains(above + "/" + to)) return "\"" + to + "\" is not written from the root";
  if (!sources.contains(to)) return std::nullopt;  // a library's
  const std::string below = folder_of(to);
  if (above == below) return std::nullopt;
  if (is_app(below)) {
    if (is_app(above) && (below == "apps/report" || kArrowsOfApps.contains({above, below})))
      return std::nullopt;
    return above + " includes " + below + (is_app(above) ? ", another app" : ", an app");
  }
  if (is_app(above)) return std::nullopt;
  const std::string room = room_of(above), room_below = room_of(below);
  if (room == room_below) {
    if (above == room || below == room || kArrowsInRooms.contains({above, below}))
      return std::nullopt;
    return above + " and " + below + " are neighbours";
  }
  const bool strangers = (top_of(above) == "models" && top_of(below) == "data") ||
                         (top_of(above) == "data" && top_of(below) == "models");
  if (strangers || floor_of(room_below) == floor_of(room))
    return above + " and " + below + " are neighbours";
  if (floor_of(room_below) > floor_of(room))
    return above + " includes " + below + ", which is above";
  return std::nullopt;
}

// Follows the includes in depth, and reports the path to a file that is met on its own path.
class CycleSearch {
 public:
  CycleSearch(const Sources& sources, std::vector<std::string>& broken)
      : sources_(sources), broken_(broken) {}

  void visit(const std::string& name) {
    if (const auto start = std::ranges::find(path_, name); start != path_.end()) {
      std::string cycle;
      for (auto file = start; file != path_.end(); ++file) cycle += *file + " -> ";
      broken_.push_back("a cycle of includes: " + cycle + name);
      return;
    }
    if (!sources_.contains(name) || !visited_.insert(name).second) return;
    path_.push_back(name);
    for (const Include& include : sources_.at(name).includes) visit(include.target);
    path_.pop_back();
  }

 private:
  const Sources& sources_;
  std::vector<std::string>& broken_;
  std::vector<std::string> path_;
  std::set<std::string> visited_;
};

// Reads every .h and .cc below framework, models, data, train, cli and apps in `root`, and returns
// a sentence for each place that breaks a rule of the house, in the order of the file names:
//
// - an #include points down, by the floors of docs/architecture.md; neighbours do not know each
//   other;
// - an #include of a file of the project is written from the root;
// - oneDNN and OpenMP are named in framework/kernels only;
// - no file includes itself, by whatever detour.
std::vector<std::string> broken_include_rules(const fs::path& root) {
  const Sources sources = read_sources(root);
  std::vector<std::string> broken;
  for (const auto& [name, source] : sources) {
    if (!is_app(name) && room_of(folder_of(name)).empty()) {
      broken.push_back(name + ": the folder has no floor in the house");
    }
  }
  if (!broken.empty()) return broken;

  CycleSearch cycles(sources, broken);
  for (const auto& [name, source] : sources) {
    for (const Include& include : source.includes) {
      if (const auto reason = broken_rule(sources, name, include.target)) {
        broken.push_back(name + ":" + std::to_string(include.line) + ": " + *reason);
      }
    }
    broken.insert(broken.end(), source.foreign_names.begin(), source.foreign_names.end());
    cycles.visit(name);
  }
  return broken;
}

TEST(ArchitectureTest, TheSourcesKeepTheRules) {
  ASSERT_TRUE(fs::exists(QKV_SOURCE_DIR "/framework/core/shape.h"));
  EXPECT_THAT(broken_include_rules(QKV_SOURCE_DIR), IsEmpty());
}

TEST(IncludeRulesTest, EachThatIsBrokenIsNamed) {
  const std::pair<const char*, const char*> files[] = {
      {"apps/check/mutation/mutation.h", ""},
      {"apps/labs/kit/lab.h", "#include \"apps/check/mutation/mutation.h\"\n"},
      {"apps/report/svg/svg.h", ""},
      {"apps/runs/plot.h", "#include \"apps/report/svg/svg.h\"\n#include \"cli/kit.h\"\n"},
      {"apps/runs/replay/replay.cc",
       "#include \"apps/runs/plot.h\"\n#include \"apps/labs/kit/lab.h\"\n"},
      {"cli/kit.h", ""},
      {"cli/train.cc", "#include \"apps/runs/plot.h\"\n"},
      {"data/a.h", "#include \"data/b.h\"\n"},
      {"data/b.h", "#include \"data/c.h\"\n"},
      {"data/batch.h", "#include \"models/decoder.h\"\n"},
      {"data/c.h", "#include \"data/a.h\"\n"},
      {"data/dataset.h", "#include \"data/text/tokens.h\"\n#include \"batch.h\"\n"},
      {"data/images/idx.h", ""},
      {"data/text/tokens.h", "#include \"data/batch.h\"\n#include \"data/images/idx.h\"\n"},
      {"framework/core/shape.cc", "#include <dnnl.hpp>\n"},
      {"framework/core/shape.h", "\n#  include \"framework/ops/ops.h\"\n"},
      {"framework/graph/node.h", "#include \"framework/kernels/product/matmul.h\"\n"},
      {"framework/kernels/elementwise/vector.h", "#include <omp.h>\n"},
      {"framework/kernels/product/matmul.h",
       "#include \"framework/kernels/elementwise/vector.h\"\n"},
      {"framework/ops/add.cc", "int compute();\n#pragma omp parallel for\n"},
      {"framework/ops/ops.h", ""},
      {"models/decoder.h", ""},
      {"train/loop/trainer.cc", "int n = omp_get_max_threads();\n"}};
  const TemporaryFolder folder;
  for (const auto& [name, text] : files) {
    fs::create_directories(fs::path(folder / name).parent_path());
    write_bytes(folder / name, text);
  }
  EXPECT_THAT(
      broken_include_rules(folder.path()),
      UnorderedElementsAre(
          "a cycle of includes: data/a.h -> data/b.h -> data/c.h -> data/a.h",
          "apps/runs/replay/replay.cc:2: apps/runs includes apps/labs, another app",
          "cli/train.cc:1: cli includes apps/runs, an app",
          "data/batch.h:1: data and models are neighbours",
          "data/dataset.h:2: \"batch.h\" is not written from the root",
          "data/text/tokens.h:2: data/text and data/images are neighbours",
          "framework/core/shape.cc:1: dnnl is named outside framework/kernels",
          "framework/core/shape.h:2: framework/core includes framework/ops, which is above",
          "framework/graph/node.h:1: framework/graph and framework/kernels/product are neighbours",
          "framework/ops/add.cc:2: omp is named outside framework/kernels",
          "train/loop/trainer.cc:1: omp is named outside framework/kernels"));
}

TEST(IncludeRulesTest, AFolderThatNobodyPlacedIsFound) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "framework/attic");
  write_bytes(folder / "framework/attic/a.h", "");
  EXPECT_THAT(broken_include_rules(folder.path()),
              ElementsAre("framework/attic/a.h: the folder has no floor in the house"));
}

// The files of a folder are compiled together. A constant of an anonymous namespace that has the
// name of one in a header would there stand for it, without a word of the compiler.

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
