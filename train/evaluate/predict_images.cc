#include "train/evaluate/predict_images.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "data/file.h"
#include "data/file_mistakes.h"
#include "data/image_files.h"

namespace qkv {
namespace {

// Adds the files that a path stands for. A folder is looked into once, whatever links lead to it.
// What cannot be read is told when its image is asked for; what is no image is left out of a
// folder.
void add_files(const std::string& path, std::set<std::filesystem::path>& seen,
               std::vector<std::string>& files, std::vector<std::string>& no_images) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (is_folder && !seen.insert(std::filesystem::canonical(path, ignored)).second) return;
  const absl::StatusOr<std::vector<FolderEntry>> entries =
      is_folder ? entries_of(path) : absl::InvalidArgumentError("is no folder to look into");
  if (!entries.ok()) {
    files.push_back(path);
    return;
  }
  for (const FolderEntry& entry : *entries) {
    if (!entry.is_folder && is_no_image(entry)) {
      no_images.push_back(entry.path);
    } else {
      add_files(entry.path, seen, files, no_images);
    }
  }
}

// The class that the folder of an image is named after.
std::optional<std::string> expected_class(const std::string& path,
                                          const std::vector<std::string>& classes) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(path, ignored).lexically_normal();
  const std::string name = class_of_folder(whole.parent_path().filename().string());
  const auto found = std::ranges::find(classes, name, nfc);  // an older run has others
  if (found == classes.end()) return std::nullopt;
  return *found;
}

Array pixels_of(const std::string& bytes, const DataShape& shape) {
  Array pixels({1, shape.channels, shape.height, shape.width}, DType::f32);
  std::ranges::transform(bytes, pixels.mutable_data<float>(), [](char byte) {
    return static_cast<float>(static_cast<unsigned char>(byte)) / 255.0F;
  });
  return pixels;
}

}  // namespace

absl::Status predict_images(const LoadedRun& run, const std::vector<std::string>& paths,
                            PredictionFormat format,
                            const std::function<bool(const std::string&)>& print,
                            const TellNote& tell) {
  const absl::StatusOr<Model> model = run.model();
  if (!model.ok()) return model.status();
  const DataShape& shape = run.checkpoint.data;
  const ImageLayout layout = {shape.channels, shape.height, shape.width,
                              run.checkpoint.config.data.fit};
  std::vector<std::string> files, no_images;
  for (const std::string& path : paths) {
    std::set<std::filesystem::path> seen;
    add_files(path, seen, files, no_images);
  }
  if (!no_images.empty()) tell(note_on_no_images(no_images));
  FileMistakes mistakes;
  for (const std::string& file : files) {
    Prediction prediction = {.question = file,
                             .asked = "file",
                             .expected = expected_class(file, run.checkpoint.answers())};
    const absl::StatusOr<std::string> bytes = read_image(file, layout);
    std::string line;
    if (bytes.ok()) {
      absl::Status status = classify(run, *model, pixels_of(*bytes, shape), prediction);
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat(run.path, ": ", status.message()));
      }
      line = prediction_line(prediction, format);
    } else {
      mistakes.add(file, 0, std::string(bytes.status().message()));
      line = unanswered_line(prediction, bytes.status(), format);
    }
    if (!print(line + "\n")) return absl::OkStatus();
  }
  return mistakes.status();
}

}  // namespace qkv
