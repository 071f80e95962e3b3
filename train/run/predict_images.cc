#include "train/run/predict_images.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/file_mistakes.h"
#include "data/image_files.h"

namespace qkv {
namespace {

// Adds the files that a path stands for; `above` are the folders that it is in. What cannot be
// read, or is a link back to one of these, is told when its image is asked for.
void add_files(const std::string& path, std::vector<std::filesystem::path>& above,
               std::vector<std::string>& files) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::canonical(path, ignored);
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const absl::StatusOr<std::vector<FolderEntry>> entries =
      is_folder && std::ranges::count(above, whole) == 0
          ? entries_of(path)
          : absl::InvalidArgumentError("is no folder to look into");
  if (!entries.ok()) {
    files.push_back(path);
    return;
  }
  above.push_back(whole);
  for (const FolderEntry& entry : *entries) add_files(entry.path, above, files);
  above.pop_back();
}

// The class that the folder of an image is named after.
std::optional<std::string> expected_class(const std::string& path,
                                          const std::vector<std::string>& classes) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(path, ignored).lexically_normal();
  const std::string name = class_of_folder(whole.parent_path().filename().string());
  if (std::ranges::count(classes, name) == 0) return std::nullopt;
  return name;
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
                            const std::function<bool(const std::string&)>& print) {
  const absl::StatusOr<Model> model = run.model();
  if (!model.ok()) return model.status();
  const DataShape& shape = run.checkpoint.data;
  const ImageLayout layout = {shape.channels, shape.height, shape.width,
                              run.checkpoint.config.data.fit};
  std::vector<std::string> files;
  std::vector<std::filesystem::path> above;
  for (const std::string& path : paths) add_files(path, above, files);
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
