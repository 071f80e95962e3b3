#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/status.h"
#include "framework/io/files.h"
#include "train/config/train_options.h"

namespace qkv {

// The folder of a run:
//   config.toml      the resolved config
//   tokenizer.json   how a text becomes tokens, where these are bytes, words or byte pairs
//   metrics.jsonl    one object a line (train/folder/metrics.h)
//   samples.txt      answers at each evaluation
//   profile.txt, trace.json   where the time goes, of train --profile
//   checkpoints/     step-000100.safetensors …, best.safetensors, last.safetensors
//
// While the object lives it holds a lock on the folder, so that no other process trains into it.
// It is an error if one of these is a link, or anything else than a plain file of this folder:
// the run's output would land elsewhere.
class RunFolder {
 public:
  // Makes the folder, with its parents, and writes the config. Refuses one that holds another run
  // or anything else; a run that never came to its first checkpoint is begun anew. Both remove the
  // temporary files of a run that was killed.
  static absl::StatusOr<RunFolder> create(const std::string& path, const Config& config);
  // Opens a folder that create() made, to continue its run.
  static absl::StatusOr<RunFolder> resume(const std::string& path);
  // For a run that several processes want: makes the folder where there is none, and waits as long
  // as another process trains into it.
  static absl::StatusOr<RunFolder> wait_for(const std::string& path);

  // Removes all that is in the folder, and writes the config of a new run.
  absl::Status begin_anew(const Config& config) const;

  const std::string& path() const { return path_; }
  // Looks whether the folder still stands at path(). Where it was moved, path() is its new place
  // from now on, and the result true. An error when it was removed.
  absl::StatusOr<bool> follow();

  std::string config() const { return file("config.toml"); }
  std::string tokenizer() const { return file("tokenizer.json"); }
  std::string metrics() const { return file("metrics.jsonl"); }
  std::string samples() const { return file("samples.txt"); }
  std::string profile() const { return file("profile.txt"); }
  std::string trace() const { return file("trace.json"); }
  std::string checkpoints() const { return file("checkpoints"); }
  std::string last_checkpoint() const { return file("checkpoints/last.safetensors"); }
  std::string best_checkpoint() const { return file("checkpoints/best.safetensors"); }
  std::string checkpoint(int64_t step) const;
  // The last one; else the best; else the numbered one of the highest step; "": none.
  absl::StatusOr<std::string> newest_checkpoint() const;

 private:
  RunFolder(std::string path, FileDescriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  static absl::StatusOr<RunFolder> lock(const std::string& path);
  std::string file(const char* name) const;
  absl::Status lay_out(const Config& config) const;
  absl::Status check_own_files() const;
  absl::Status check_unused() const;
  absl::Status remove_leftovers() const;

  std::string path_;
  FileDescriptor lock_;
};

// For a file or a folder that a run writes unasked: an error if it is a link, a device or a pipe.
absl::Status check_is_no_link(const std::string& path);

// Whether a process trains into the folder.
bool is_in_use(const std::string& path);

// The checkpoint that `run` means: a run's folder stands for its best one, or its last one while
// there is no best; a file stands for itself.
absl::StatusOr<std::string> find_checkpoint(const std::string& run);

// The numbered checkpoints in a run's folder, by step; none where `run` is a file.
std::vector<std::string> numbered_checkpoints(const std::string& run);

}  // namespace qkv
