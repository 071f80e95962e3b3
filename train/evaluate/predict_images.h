#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "train/evaluate/predict.h"

namespace qkv {

// Tells the classes of PNG and JPEG files with a run that has learned from images, in the layout
// that its model reads. A folder stands for the files in it and in its folders. Where the folder of
// an image has the name of a class, that one is expected. What cannot be answered gets an empty
// line, or a JSON object that says why, and is named in the end. `print` gets each line as soon as
// it is known, and returns whether to go on.
absl::Status predict_images(const LoadedRun& run, const std::vector<std::string>& paths,
                            PredictionFormat format,
                            const std::function<bool(const std::string&)>& print,
                            const TellNote& tell);

}  // namespace qkv
