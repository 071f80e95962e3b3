#include "apps/exchange/predict.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/kit.h"

namespace qkv {
namespace {

void add_predict_options(OptionList& options) {
  options.text("format", "FORMAT",
               "text: the answers; tsv: questions or files, and answers; json: JSON lines", "text");
  options.one_of("format", names_of<PredictionFormat>);
}

bool print_line(const std::string& line) {
  print(line);
  std::fflush(stdout);
  return std::ferror(stdout) == 0;
}

absl::Status predict_questions(const LoadedRun& run, const std::vector<std::string>& paths,
                               PredictionFormat format) {
  if (paths.size() > 1) {
    return absl::InvalidArgumentError("predict answers the questions of one file at a time");
  }
  const std::string& path = paths.front();
  if (path == "-") return predict_file(run, "standard input", std::cin, format, print_line);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a folder; predict reads a file"));
  }
  std::ifstream opened(path);
  if (!opened) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  }
  return predict_file(run, path, opened, format, print_line);
}

// "-" stands for the paths that standard input has, a line each.
std::vector<std::string> paths_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    if (argument != "-") paths.push_back(argument);
    for (std::string line; argument == "-" && std::getline(std::cin, line);) {
      if (!line.empty()) paths.push_back(line);
    }
  }
  return paths;
}

absl::Status run_predict(const std::string& name, const GivenOptions& given) {
  const auto format = given.value<PredictionFormat>("format");
  const absl::StatusOr<LoadedRun> run = load_run(name);
  if (!run.ok()) return run.status();
  std::vector<std::string> files = given.arguments();
  files.erase(files.begin());
  if (!run->checkpoint.data.is_image()) return predict_questions(*run, files, format);
  return predict_images(*run, paths_of(files), format, print_line, say_note);
}

}  // namespace

Verb predict_verb() {
  return {{"predict", "RUN FILE…", "answers files of questions or images; -: standard input"},
          add_predict_options,
          run_predict};
}

}  // namespace qkv
