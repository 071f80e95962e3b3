#pragma once

#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "framework/core/text/names.h"
#include "train/folder/loaded_run.h"

namespace qkv {

enum class PredictionFormat { kText, kTabs, kJsonLines };
template <>
inline constexpr Named<PredictionFormat> kNames<PredictionFormat>[] = {
    {"text", PredictionFormat::kText},
    {"tsv", PredictionFormat::kTabs},
    {"json", PredictionFormat::kJsonLines}};

// Answers the questions that come out of `file` one after the other, as the run's task has them in
// its files (data/records/records.h; `path` says the format), always with the most likely tokens.
// A question without an answer gets an empty line, or a JSON object that says why, and is named in
// the end with its place. `print` gets each line at once, and returns whether to continue.
absl::Status predict_file(const LoadedRun& run, const std::string& path, std::istream& file,
                          PredictionFormat format,
                          const std::function<bool(const std::string&)>& print);

// Predicts the classes of PNG and JPEG files with a run that has learned from images, in the layout
// that its model reads. A folder stands for the files in it and in its folders. Where the folder of
// an image has the name of a class, that one is expected. An image without an answer gets an empty
// line, or a JSON object that says why, and is named in the end. `print` gets each line at once,
// and returns whether to continue.
absl::Status predict_images(const LoadedRun& run, const std::vector<std::string>& paths,
                            PredictionFormat format,
                            const std::function<bool(const std::string&)>& print,
                            const TellNote& tell);

}  // namespace qkv
