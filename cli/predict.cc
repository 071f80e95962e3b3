#include "train/run/predict.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/verbs.h"

namespace qkv {
namespace {

void add_predict_options(OptionList& options) {
  options.text("format", "FORMAT",
               "text: the answers; tsv: questions and answers; json: JSON lines", "text");
  options.choices("format", names_of<PredictionFormat>);
}

absl::Status run_predict(const std::string& name, const GivenOptions& given) {
  const std::string path = given.arguments()[1];
  const std::optional<PredictionFormat> format = value_of<PredictionFormat>(given.text("format"));
  absl::Status options = reject(
      {{!format, absl::StrCat("--format: there is no \"", given.text("format"), "\"; there are ",
                              absl::StrJoin(names_of<PredictionFormat>(), ", "))}});
  if (!options.ok()) return options;
  std::ifstream opened;
  std::error_code ignored;
  if (path != "-") {
    if (std::filesystem::is_directory(path, ignored)) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is a folder; predict reads a file"));
    }
    opened.open(path);
    if (!opened) {
      return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
    }
  }
  const absl::StatusOr<LoadedRun> run = load_run(name);
  if (!run.ok()) return run.status();
  const auto print_line = [&](const std::string& line) {
    print(line);
    std::fflush(stdout);
    return std::ferror(stdout) == 0;
  };
  return predict_file(*run, path == "-" ? "standard input" : path, path == "-" ? std::cin : opened,
                      *format, print_line);
}

}  // namespace

Verb predict_verb() {
  return {{"predict", "RUN FILE", "answers the questions of a file; -: standard input"},
          add_predict_options,
          run_predict};
}

}  // namespace qkv
