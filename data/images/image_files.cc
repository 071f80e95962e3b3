#include "data/images/image_files.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/text/mistakes.h"
#include "framework/io/files.h"
#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostImageBytes = 1 << 28;
constexpr int64_t kImagesAtOnce = 16;  // between two words of how far it is

constexpr std::string_view kEndings[] = {"png",  "jpg",  "jpeg", "jpe",  "jfif", "gif", "bmp",
                                         "webp", "heic", "heif", "avif", "tif",  "tiff"};

absl::Status stopped() { return absl::CancelledError("the reading of the images was stopped"); }

// Waits until all threads together decode in kDecodingMemory, and holds a part of it.
absl::StatusOr<std::shared_ptr<void>> take_memory(uint64_t bytes, const std::stop_token& stop) {
  static std::atomic<uint64_t> used = 0;
  uint64_t before = used;
  while ((before > 0 && before + bytes > kDecodingMemory) ||
         !used.compare_exchange_weak(before, before + bytes)) {
    if (stop.stop_requested()) return stopped();
    if (before > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    before = used;
  }
  std::shared_ptr<void> held(nullptr, [bytes](void*) { used -= bytes; });
  const uint64_t available = available_memory();
  if (bytes <= available) return held;
  return invalid_argument("needs ", describe_bytes(bytes), " to be decoded, but only ",
                          describe_bytes(available), " are free");
}

absl::StatusOr<std::string> decode(const std::string& file, const ImageLayout& layout,
                                   const std::stop_token& stop) {
  std::shared_ptr<void> held;
  const auto take = [&](int64_t pixels) -> absl::Status {
    ASSIGN_OR_RETURN(held, take_memory(kBytesOfPixel * static_cast<uint64_t>(pixels), stop));
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const ColourImage image, decode_image(file, kMostPixels, take));
  return fit_image(image, layout);
}

// An image that may be large is decoded by a thread of its own, which nobody waits for after a
// stop: the libraries cannot be stopped.
absl::StatusOr<std::string> decode_until(std::string file, const ImageLayout& layout,
                                         const std::stop_token& stop) {
  constexpr size_t kLarge = 1 << 15;  // of a PNG at most 11 million pixels
  if (stop.stop_requested()) return stopped();
  if (file.size() < kLarge || !stop.stop_possible()) return decode(file, layout, stop);
  std::packaged_task<absl::StatusOr<std::string>()> task(
      [file = std::move(file), layout, stop] { return decode(file, layout, stop); });
  std::future<absl::StatusOr<std::string>> decoded = task.get_future();
  std::thread(std::move(task)).detach();
  while (decoded.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (stop.stop_requested()) return stopped();
  }
  return decoded.get();
}

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
  name = nfc(name);
  std::ranges::replace_if(name, absl::ascii_isspace, '_');
  return name;
}

bool is_no_image(const FolderEntry& file) {
  const std::string name = absl::AsciiStrToLower(file.name);
  const size_t dot = name.rfind('.');
  const std::string end = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (std::ranges::count(kEndings, end) > 0) return false;
  std::ifstream opened(file.path, std::ios::binary);
  std::string begin(16, '\0');
  opened.read(begin.data(), std::ssize(begin));
  return !is_image(begin);
}

std::string note_on_no_images(const std::vector<std::string>& paths) {
  return absl::StrCat("left out, as they are not images: ", listed(paths));
}

absl::StatusOr<std::string> read_image(const std::string& path, const ImageLayout& layout,
                                       const std::stop_token& stop) {
  std::error_code ignored;
  if (const uintmax_t size = fs::file_size(path, ignored);
      size > kMostImageBytes && size != static_cast<uintmax_t>(-1)) {
    return invalid_argument("is too large: it has ", size, " bytes, but at most ", kMostImageBytes,
                            " are read");
  }
  const absl::StatusOr<std::string> file = read_regular_file(path);
  if (!file.ok()) {
    std::string_view why(file.status().message().data(), file.status().message().size());
    const std::string begin = absl::StrCat("cannot read ", path, ": ");
    if (why.starts_with(begin)) why.remove_prefix(begin.size());
    return invalid_argument("cannot be read: ", std::string(why));
  }
  return decode_until(*file, layout, stop);
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
    if (wait.tell) {
      wait.tell("reading the images", static_cast<double>(first) / static_cast<double>(count));
    }
    const int64_t now = std::min(kImagesAtOnce, count - first);
    std::vector<absl::StatusOr<std::string>> images(static_cast<size_t>(now));
    kernels::parallel_for(now, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        images[i] = read_image(files[first + i].path, layout, wait.stop);
      }
    });
    if (wait.stop.stop_requested()) return stopped();
    for (int64_t i = 0; i < now; ++i) {
      const auto& [path, label] = files[first + i];
      const absl::StatusOr<std::string>& image = images[i];
      if (!image.ok()) {
        mistakes.add(path, 0, image.status().message());
        continue;
      }
      read.bytes += *image;
      read.labels.push_back(label);
    }
  }
  return read;
}

}  // namespace qkv
