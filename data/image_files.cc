#include "data/image_files.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/core/available_memory.h"
#include "framework/core/out_of_memory.h"
#include "framework/io/files.h"
#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostImageBytes = 1 << 28;
constexpr int64_t kImagesAtOnce = 256;  // between two words of how far it is

}  // namespace

absl::StatusOr<std::vector<FolderEntry>> entries_of(const std::string& folder) {
  std::error_code error, ignored;
  std::vector<FolderEntry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) continue;
    const bool is_folder = fs::is_directory(at->path(), ignored);
    entries.push_back({name, (fs::path(folder) / name).string(), is_folder});
  }
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read ", folder));
  }
  std::ranges::sort(entries, {}, &FolderEntry::name);
  return entries;
}

std::string class_of_folder(std::string name) {
  std::ranges::replace_if(name, absl::ascii_isspace, '_');
  return name;
}

absl::StatusOr<std::string> read_image(const std::string& path, const ImageLayout& layout) {
  std::error_code ignored;
  if (const uintmax_t size = fs::file_size(path, ignored);
      size > kMostImageBytes && size != static_cast<uintmax_t>(-1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is too large: it has ", size, " bytes, but at most ", kMostImageBytes, " are read"));
  }
  const absl::StatusOr<std::string> file = read_regular_file(path);
  if (!file.ok()) {
    std::string_view why(file.status().message().data(), file.status().message().size());
    const std::string begin = absl::StrCat("cannot read ", path, ": ");
    if (why.starts_with(begin)) why.remove_prefix(begin.size());
    return absl::InvalidArgumentError(absl::StrCat("cannot be read: ", std::string(why)));
  }
  const absl::StatusOr<ColourImage> image = decode_image(*file);
  if (!image.ok()) return image.status();
  return fit_image(*image, layout);
}

absl::StatusOr<LabelledImages> read_image_files(const std::vector<ImageFile>& files,
                                                const ImageLayout& layout, FileMistakes& mistakes,
                                                const Wait& wait) {
  const uint64_t needed = files.size() * layout.bytes(), available = available_memory();
  if (needed > available) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "data: ", files.size(), " images of ", layout.height, " x ", layout.width, " pixels need ",
        describe_bytes(needed), ", but only ", describe_bytes(available), " are free"));
  }
  LabelledImages read{{layout.channels, layout.height, layout.width}, {}, {}};
  read.bytes.reserve(needed);
  const int64_t count = std::ssize(files);
  for (int64_t first = 0; first < count; first += kImagesAtOnce) {
    if (wait.stop.stop_requested())
      return absl::CancelledError("the reading of the images was stopped");
    if (wait.tell) {
      wait.tell("reading the images", static_cast<double>(first) / static_cast<double>(count));
    }
    const int64_t now = std::min(kImagesAtOnce, count - first);
    std::vector<absl::StatusOr<std::string>> images(static_cast<size_t>(now));
    kernels::parallel_for(now, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        images[static_cast<size_t>(i)] =
            read_image(files[static_cast<size_t>(first + i)].path, layout);
      }
    });
    for (int64_t i = 0; i < now; ++i) {
      const auto& [path, label] = files[static_cast<size_t>(first + i)];
      const absl::StatusOr<std::string>& image = images[static_cast<size_t>(i)];
      if (!image.ok()) {
        mistakes.add(path, 0, std::string(image.status().message()));
        continue;
      }
      read.bytes += *image;
      read.labels.push_back(label);
    }
  }
  return read;
}

}  // namespace qkv
