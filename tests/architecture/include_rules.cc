#include "tests/architecture/include_rules.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace qkv {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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

}  // namespace qkv
