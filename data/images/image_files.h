#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "data/file.h"
#include "data/images/decode_image.h"
#include "data/images/image_dataset.h"
#include "framework/core/status.h"

namespace qkv {

// An entry of a folder.
struct FolderEntry {
  std::string name, path;
  bool is_folder = false;
};

// In the order of the bytes of their names. Names that begin with a dot are hidden, and left out.
// An error where the folder cannot be read.
absl::StatusOr<std::vector<FolderEntry>> entries_of(const std::string& folder);

// The class of the images in a folder of that name, which may have white space.
std::string class_of_folder(std::string name);

struct ImageFile {
  std::string path;
  int64_t label = 0;
};

// Whether neither the name of a file nor its first bytes are those of an image.
bool is_no_image(const FolderEntry& file);
std::string note_on_no_images(const std::vector<std::string>& paths);

// The bytes of an image in the layout. An error says what is wrong with the file, without its name.
// Threads that read images at once decode at most kDecodingMemory together, or one image alone; a
// stop ends the wait for one by an error, Cancelled.
inline constexpr uint64_t kDecodingMemory = uint64_t{1} << 30;
absl::StatusOr<std::string> read_image(const std::string& path, const ImageLayout& layout,
                                       const std::stop_token& stop = {});

// All of them in their order, read by several threads; adds the mistakes in others. An error where
// they would not fit into the memory.
absl::StatusOr<LabelledImages> read_image_files(const std::vector<ImageFile>& files,
                                                const ImageLayout& layout, FileMistakes& mistakes,
                                                const Wait& wait);

}  // namespace qkv
