#include <map>
#include <utility>

#include "absl/strings/str_join.h"
#include "data/file.h"
#include "data/images/image_files.h"
#include "data/split.h"
#include "data/tasks/task_kit.h"
#include "framework/core/random.h"
#include "framework/core/status.h"
#include "framework/core/sure.h"
#include "framework/core/text/mistakes.h"

namespace qkv {
namespace {

constexpr size_t kMostFolders = 1000;

// The files of a folder that has a folder for each class.
struct ListedFiles {
  std::vector<std::string> folders;  // of the classes
  std::vector<ImageFile> files;
  std::vector<std::string> no_images;    // files beside them
  std::vector<std::string> other_forms;  // names of folders that were not in NFC

  void add_notes(std::vector<std::string>& notes) const {
    if (!no_images.empty()) notes.push_back(note_on_no_images(no_images));
    note_other_forms(other_forms, notes);
  }
};

void list_class(const FolderEntry& folder, int64_t label, ListedFiles& listed,
                FileMistakes& mistakes) {
  const auto entries = entries_of(folder.path);
  if (!entries.ok()) {
    mistakes.add(folder.path, 0, "cannot be read");
    return;
  }
  const size_t before = listed.files.size();
  bool has_folder = false;
  for (const FolderEntry& entry : *entries) {
    if (entry.is_folder) {
      mistakes.add(entry.path, 0, "is a folder; images stand in the folder of their class");
      has_folder = true;
    } else if (is_no_image(entry)) {
      listed.no_images.push_back(entry.path);
    } else {
      listed.files.push_back({entry.path, label});
    }
  }
  if (listed.files.size() == before && !has_folder) {
    mistakes.add(folder.path, 0, "the folder of a class has no image");
  }
}

// The images of the classes `names`; where there are none of these, all folders are classes, and
// become `names`. With `leaves_out`, a folder of another name is nobody's mistake.
absl::StatusOr<ListedFiles> list_images(const std::string& path, bool leaves_out,
                                        std::vector<std::string>& names, FileMistakes& mistakes) {
  ASSIGN_OR_RETURN(const auto entries, entries_of(path));
  if (names.empty()) {
    for (const FolderEntry& entry : entries) {
      if (entry.is_folder) names.push_back(class_of_folder(entry.name));
    }
  }
  ListedFiles listed;
  listed.folders.resize(names.size());
  std::map<std::string, const FolderEntry*> found;
  for (const FolderEntry& entry : entries) {
    const std::string name = class_of_folder(entry.name);
    if (!entry.is_folder && is_no_image(entry)) {
      listed.no_images.push_back(entry.path);
    } else if (!entry.is_folder) {
      mistakes.add(entry.path, 0, "is not a folder; images stand in the folder of their class");
    } else if (std::ranges::count(names, name, nfc) > 0) {
      if (nfc(entry.name) != entry.name) listed.other_forms.push_back(entry.path);
      if (!found.emplace(name, &entry).second) {
        mistakes.add(entry.path, 0, "is another folder of the class ", name);
      }
    } else if (!leaves_out) {
      mistakes.add(entry.path, 0, "is an unknown class; the classes are ", qkv::listed(names));
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto folder = found.find(nfc(names[i]));
    if (folder == found.end()) continue;
    listed.folders[i] = folder->second->path;
    list_class(*folder->second, static_cast<int64_t>(i), listed, mistakes);
  }
  return listed;
}

std::string_view bytes_of(const LabelledImages& images, size_t i) {
  const auto size = static_cast<size_t>(images.each.numbers());
  return std::string_view(images.bytes).substr(i * size, size);
}

// Takes the images that are not for training out of `all`. The same pixels are the same image,
// whatever their files: they are on one side.
LabelledImages take_held(LabelledImages& all, double train_fraction) {
  LabelledImages held{all.each, {}, {}};
  std::vector<std::string_view> images;
  for (size_t i = 0; i < all.labels.size(); ++i) images.push_back(bytes_of(all, i));
  const std::vector<Split> sides = sides_of(images, all.labels, train_fraction);
  const auto size = static_cast<size_t>(all.each.numbers());
  size_t kept = 0;
  for (size_t i = 0; i < all.labels.size(); ++i) {
    if (sides[i] == Split::kValidation) {
      held.bytes += images[i];
      held.labels.push_back(all.labels[i]);
    } else {
      std::ranges::copy(images[i], all.bytes.begin() + static_cast<int64_t>(kept * size));
      all.labels[kept++] = all.labels[i];
    }
  }
  all.bytes.resize(kept * size);
  all.labels.resize(kept);
  return held;
}

// Each of them once, at most `most`, in an order that means nothing.
LabelledImages each_once(const LabelledImages& images, int64_t most) {
  std::map<std::pair<uint64_t, int64_t>, size_t> by_hash;
  for (size_t i = 0; i < images.labels.size(); ++i) {
    by_hash.emplace(std::pair(stable_hash(bytes_of(images, i)), images.labels[i]), i);
  }
  LabelledImages ordered{images.each, {}, {}};
  for (const auto& [hash, i] : by_hash) {
    if (ordered.size() == most) break;
    ordered.bytes += bytes_of(images, i);
    ordered.labels.push_back(images.labels[i]);
  }
  return ordered;
}

std::string fingerprint_of_images(const LabelledImages& training,
                                  const LabelledImages& validation) {
  std::string hashes;
  for (const LabelledImages* part : {&training, &validation}) {
    absl::StrAppend(&hashes, fingerprint_of(part->bytes),
                    fingerprint_of(absl::StrJoin(part->labels, " ")));
  }
  return fingerprint_of(hashes);
}

// A class is learned from some images, and judged by others.
void check_counts(const LabelledImages& training, const LabelledImages& validation,
                  const ListedFiles& listed, bool one_folder, FileMistakes& mistakes) {
  for (size_t label = 0; label < listed.folders.size(); ++label) {
    const auto count = [label](const LabelledImages& images) {
      return std::ranges::count(images.labels, static_cast<int64_t>(label));
    };
    const int64_t trained = count(training), judged = one_folder ? count(validation) : 0;
    if (trained + judged == 1) {
      mistakes.add(listed.folders[label], 0, "the class has one image; it needs more");
    } else if (trained == 0 && judged > 0) {
      mistakes.add(listed.folders[label], 0, "the class has ", judged,
                   " images for validation, but none for training; it needs more");
    }
  }
}

void find_images_of_both(const LabelledImages& training, const std::vector<ImageFile>& trained,
                         const LabelledImages& validation, const std::vector<ImageFile>& judged,
                         FileMistakes& mistakes) {
  std::map<std::string_view, size_t> known;
  for (size_t i = 0; i < training.labels.size(); ++i) known.emplace(bytes_of(training, i), i);
  for (size_t i = 0; i < validation.labels.size(); ++i) {
    const auto found = known.find(bytes_of(validation, i));
    if (found == known.end()) continue;
    mistakes.add(judged[i].path, 0, "is the same image as ", trained[found->second].path,
                 "; leave one of them out");
  }
}

absl::Status check_folders(const std::string& path, const std::vector<std::string>& names) {
  const std::string mistake = mistake_of_class_names(names, kMostFolders);
  if (mistake.empty()) return absl::OkStatus();
  const auto many = names.size();
  const bool is_count = many < 2 || many > kMostFolders;
  return absl::InvalidArgumentError(
      is_count ? absl::StrCat(path, ": has ", many, many == 1 ? " folder" : " folders",
                              " of images; it needs 2 … ", kMostFolders, ", one for each class")
               : absl::StrCat(path, ": the names of its folders ", mistake));
}

ImageLayout layout_of(const DataOptions& options) {
  return {options.channels, options.image_size, options.image_size, options.fit};
}

absl::StatusOr<std::unique_ptr<Dataset>> make_image_folder(const DataOptions& options,
                                                           uint64_t seed, DataForm /*form*/,
                                                           const Wait& wait) {
  const bool one_folder = options.validation_path.empty();
  FileMistakes mistakes;
  std::vector<std::string> names = names_of_classes(options);
  const bool leaves_out = !names.empty();
  ASSIGN_OR_RETURN(const auto listed, list_images(options.path, leaves_out, names, mistakes));
  for (size_t i = 0; i < names.size(); ++i) {
    if (!listed.folders[i].empty()) continue;
    mistakes.add(options.path, 0, "has no folder for the class ", names[i]);
  }
  ListedFiles others;
  if (!one_folder) {
    ASSIGN_OR_RETURN(others, list_images(options.validation_path, leaves_out, names, mistakes));
  }
  if (absl::Status status = check_folders(options.path, names);
      !status.ok() && (mistakes.empty() || names.empty())) {
    return status;
  }
  ASSIGN_OR_RETURN(auto all, read_image_files(listed.files, layout_of(options), mistakes, wait));
  ASSIGN_OR_RETURN(auto judged, read_image_files(others.files, layout_of(options), mistakes, wait));
  if (!mistakes.empty()) return mistakes.status();

  LabelledImages training = std::move(all), validation = std::move(judged);
  if (one_folder) {
    validation = take_held(training, options.train_fraction);
  } else {
    find_images_of_both(training, listed.files, validation, others.files, mistakes);
  }
  check_counts(training, validation, listed, one_folder, mistakes);
  if (!mistakes.empty()) return mistakes.status();
  if (validation.size() == 0 || training.size() == 0) {
    return invalid_argument(
        options.path, ": has too few images: of its ", training.size() + validation.size(),
        " none is for ", training.size() == 0 ? "training" : "validation",
        "; use more images, data.validation_path, or a train_fraction other than ",
        options.train_fraction);
  }
  validation = each_once(validation, options.validation_examples);
  std::vector<std::string> notes;
  listed.add_notes(notes);
  others.add_notes(notes);
  note_unjudged_classes(names, validation.labels, notes);
  std::string fingerprint = fingerprint_of_images(training, validation);
  if (!one_folder) take_held(training, options.train_fraction);
  return make_listed_images(sure(Vocabulary::create(names)), std::move(training),
                            std::move(validation), options, std::move(fingerprint), seed,
                            std::move(notes));
}

absl::StatusOr<std::unique_ptr<Dataset>> judge_image_folder(const DataOptions& options,
                                                            const KnownData& known,
                                                            const Wait& wait) {
  FileMistakes mistakes;
  std::vector<std::string> names = known.vocabulary.texts();
  ASSIGN_OR_RETURN(const auto listed,
                   list_images(options.path, !options.class_names.empty(), names, mistakes));
  const DataShape& shape = known.most;
  ASSIGN_OR_RETURN(
      auto images,
      read_image_files(listed.files, {shape.channels, shape.height, shape.width, options.fit},
                       mistakes, wait));
  if (!mistakes.empty()) return mistakes.status();
  if (images.size() == 0) {
    return invalid_argument(options.path, ": has no image of a class");
  }
  std::vector<std::string> notes;
  listed.add_notes(notes);
  DataOptions all = options;
  all.validation_examples = images.size();
  LabelledImages nothing{images.each, {}, {}};
  return make_listed_images(known.vocabulary, std::move(nothing), std::move(images), all,
                            /*fingerprint=*/"", /*seed=*/1, std::move(notes));
}

void check_image_folder(const DataOptions& options, OptionChecker& check) {
  if (options.path.empty()) {
    check.add("path",
              "is missing: the task \"image_folder\" reads a folder with a folder of images for "
              "each class; give one with --set data.path=FOLDER");
  }
  check.range("image_size", options.image_size, 1, kLargestSide);
  if (options.channels != 1 && options.channels != 3) {
    check.add("channels", "must be 1 (grey) or 3 (red, green and blue), not ", options.channels);
  }
  check.range("shift", options.shift, 0, std::max<int64_t>(options.image_size, 1) - 1);
  check_shares(options, check);
  if (const auto names = names_of_classes(options); !names.empty()) {
    const std::string mistake = mistake_of_class_names(names, kMostFolders);
    if (!mistake.empty()) check.add("class_names", mistake);
  }
}

}  // namespace

// PNG and JPEG files of any size in a folder for each class, whose name is that of the folder. The
// classes are all folders, in the order of their names, or those that data.class_names names, in
// that order.
TaskKind image_folder_task() {
  return {.name = "image_folder",
          .keys = {"path", "validation_path", "class_names", "image_size", "fit", "channels",
                   "shift", "mirror", "train_fraction", "validation_examples"},
          .check = check_image_folder,
          .make = make_image_folder,
          .judge = judge_image_folder,
          .forms = {DataForm::kClass}};
}

}  // namespace qkv
