#include "framework/io/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "framework/io/large_file.h"
#include "tests/temporary_folder.h"

namespace qkv {
namespace {

// While it lives no file may grow beyond `bytes`: what a full disk is like.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : old_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  sighandler_t old_handler_;
  rlimit old_limit_;
};

std::string message(const absl::Status& status) { return std::string(status.message()); }

TEST(ReadFileTest, GivesEveryByte) {
  const TemporaryFolder folder;
  std::string bytes;
  for (uint32_t i = 0; i < 1000000; ++i) bytes += static_cast<char>(i * i / 7);
  write_bytes(folder / "f", bytes);
  EXPECT_EQ(*read_regular_file(folder / "f"), bytes);
  EXPECT_EQ(*read_file(folder / "f", bytes.size()), bytes);
  write_bytes(folder / "empty", "");
  EXPECT_EQ(*read_regular_file(folder / "empty"), "");
  EXPECT_EQ(*read_file(folder / "empty", 0), "");
}

// As a shell makes it: <(…).
TEST(ReadFileTest, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor reads(ends[0]);
  std::thread writer([end = ends[1]] {
    const FileDescriptor writes(end);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(::write(writes.get(), "through a pipe", 14), 14);
  });
  EXPECT_EQ(*read_file("/dev/fd/" + std::to_string(reads.get()), 100), "through a pipe");
  writer.join();
}

TEST(ReadFileTest, DoesNotWaitForAPipesWriter) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message(read_file(pipe, 100).status()),
            "cannot read " + pipe + ": it is a pipe that nobody writes to");
  EXPECT_EQ(message(read_regular_file(pipe).status()),
            "cannot read " + pipe + ": it is not a regular file");
}

TEST(ReadFileTest, StopsAtTheLimit) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", "12345");
  EXPECT_EQ(message(read_file(folder / "f", 4).status()),
            "cannot read " + (folder / "f") + ": it has more than 4 bytes");
  EXPECT_EQ(message(read_regular_file(folder / "f", 4).status()),
            "cannot read " + (folder / "f") + ": it has more than 4 bytes");
  EXPECT_EQ(message(read_file("/dev/zero", 1000).status()),
            "cannot read /dev/zero: it has more than 1000 bytes");
}

TEST(ReadFileTest, SaysWhyItCannot) {
  const TemporaryFolder folder;
  const auto expect_message = [](const std::string& path, const std::string& why) {
    EXPECT_EQ(message(read_file(path, 100).status()), "cannot read " + path + ": " + why);
    EXPECT_EQ(message(read_regular_file(path).status()), "cannot read " + path + ": " + why);
  };
  expect_message(folder / "none", "No such file or directory");
  expect_message(folder.path(), "Is a directory");
  std::filesystem::create_symlink("loop", folder / "loop");
  expect_message(folder / "loop", "Too many levels of symbolic links");
}

TEST(WriteFileAtomicallyTest, WritesAllPartsAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const std::string_view parts[] = {"one ", "", "two"};
  ASSERT_TRUE(write_file_atomically(folder / "f", parts).ok());
  EXPECT_EQ(contents_of(folder / "f"), "one two");
  ASSERT_TRUE(write_file_atomically(folder / "f", "three").ok());
  EXPECT_EQ(contents_of(folder / "f"), "three");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(WriteFileAtomicallyTest, WhatAKilledProcessHasLeftOfTheSameFileGoes) {
  const TemporaryFolder folder;
  const pid_t killed = ::fork();
  if (killed == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(killed, nullptr, 0), killed);
  const auto left_by = [&](const std::string& name, pid_t process) {
    return folder / absl::StrCat(name, ".tmp-", process, "-0");
  };
  const std::string left_by_killed = left_by("f", killed),
                    left_for_other_file = left_by("g", killed),
                    left_by_running = left_by("f", ::getppid());
  for (const std::string& path : {left_by_killed, left_for_other_file, left_by_running})
    write_bytes(path, "half");
  ASSERT_TRUE(write_file_atomically(folder / "f", "whole").ok());
  EXPECT_FALSE(std::filesystem::exists(left_by_killed));
  EXPECT_TRUE(std::filesystem::exists(left_for_other_file));
  EXPECT_TRUE(std::filesystem::exists(left_by_running));
}

TEST(WriteFileAtomicallyTest, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", "old");
  const std::string bytes(10000, 'x');
  absl::Status status;
  {
    const FullDisk full(4096);
    status = write_file_atomically(folder / "f", bytes);
  }
  EXPECT_EQ(message(status), "cannot write " + (folder / "f") + ": File too large");
  EXPECT_EQ(contents_of(folder / "f"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(WriteFileAtomicallyTest, WritesToADeviceAsItIs) {
  EXPECT_EQ(message(write_file_atomically("/dev/full", "x")),
            "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(write_file_atomically("/dev/null", "x").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(WriteFileAtomicallyTest, ASymbolicLinkStaysOne) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "real");
  write_bytes(folder / "real/f", "old");
  std::filesystem::create_symlink("real/f", folder / "link");
  ASSERT_TRUE(write_file_atomically(folder / "link", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(contents_of(folder / "real/f"), "new");
}

TEST(AppendFileTest, AddsWholeLines) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", "one\n");
  absl::StatusOr<AppendFile> file = AppendFile::open(folder / "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->append("two").ok());
  EXPECT_EQ(contents_of(folder / "f"), "one\ntwo\n");
  EXPECT_TRUE(file->append("three\nfour").ok());
  EXPECT_EQ(contents_of(folder / "f"), "one\ntwo\nthree\nfour\n");
}

TEST(AppendFileTest, AFullDiskLeavesNoTornLine) {
  const TemporaryFolder folder;
  absl::StatusOr<AppendFile> file = AppendFile::open(folder / "f");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->append("one").ok());
  absl::Status status;
  {
    const FullDisk full(100);
    status = file->append(std::string(200, 'x'));
  }
  EXPECT_EQ(message(status), "cannot write " + (folder / "f") + ": File too large");
  EXPECT_EQ(contents_of(folder / "f"), "one\n");
  EXPECT_TRUE(file->append("two").ok());
  EXPECT_EQ(contents_of(folder / "f"), "one\ntwo\n");
}

TEST(WriteFileTest, SaysWhyItCannot) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "");
  const std::pair<std::string, const char*> places[] = {
      {folder / "none/f", "No such file or directory"},
      {folder.path(), "Is a directory"},
      {folder / "file/f", "Not a directory"}};
  for (const auto& [path, why] : places) {
    const std::string expected = absl::StrCat("cannot write ", path, ": ", why);
    EXPECT_EQ(message(write_file_atomically(path, "x")), expected);
    EXPECT_EQ(message(check_can_write(path)), expected);
    EXPECT_EQ(message(AppendFile::open(path).status()), expected);
  }
  // Nobody may make a file there, not even root.
  EXPECT_EQ(message(write_file_atomically("/proc/qkv", "x")),
            "cannot write /proc/qkv: No such file or directory");
  EXPECT_EQ(message(check_can_write("/dev/full")),
            "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(check_can_write("/dev/null").ok());
  EXPECT_TRUE(check_can_write(folder / "f").ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "f"));
}

TEST(AppendFileTest, WritesToNoDeviceNoPipeAndThroughNoLink) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("file", folder / "link");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", std::string("/dev/null")}) {
    EXPECT_EQ(message(AppendFile::open(path).status()),
              "cannot write " + path + ": it is not a regular file");
  }
  EXPECT_EQ(message(AppendFile::open(folder / "link").status()),
            "cannot write " + (folder / "link") + ": Too many levels of symbolic links");
  EXPECT_FALSE(std::filesystem::exists(folder / "file"));
}

TEST(AppendFileTest, AFileThatIsRemovedOrMovedStandsThereAgainWithAllItsLines) {
  const TemporaryFolder folder;
  const std::string path = folder / "f";
  write_bytes(path, "one\n");
  absl::StatusOr<AppendFile> file = AppendFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->append("two").ok());
  std::filesystem::remove(path);
  EXPECT_TRUE(file->append("three").ok());
  EXPECT_EQ(contents_of(path), "one\ntwo\nthree\n");
  std::filesystem::remove(path);
  EXPECT_TRUE(file->flush().ok());
  EXPECT_EQ(contents_of(path), "one\ntwo\nthree\n");
  std::filesystem::rename(path, folder / "moved");
  EXPECT_TRUE(file->append("four").ok());
  EXPECT_EQ(contents_of(path), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(contents_of(folder / "moved"), "one\ntwo\nthree\n");
}

TEST(AppendFileTest, GoesOnInACopyAndInNoOtherFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "f";
  absl::StatusOr<AppendFile> file = AppendFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->append("one").ok());
  write_bytes(folder / "copy", "one\n");
  std::filesystem::rename(folder / "copy", path);
  EXPECT_TRUE(file->append("two").ok());
  EXPECT_EQ(contents_of(path), "one\ntwo\n");

  write_bytes(folder / "other", "one\n2\n");
  std::filesystem::rename(folder / "other", path);
  const std::string expected =
      "cannot write " + path +
      ": another file has replaced it, without all the lines written before";
  EXPECT_EQ(message(file->append("three")), expected);
  EXPECT_EQ(message(file->flush()), expected);
  EXPECT_EQ(contents_of(path), "one\n2\n");
}

TEST(AppendFileTest, AFolderThatIsMovedTakesTheFileAlong) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a");
  absl::StatusOr<AppendFile> file = AppendFile::open(folder / "a/f");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->append("one").ok());
  std::filesystem::rename(folder / "a", folder / "b");
  EXPECT_TRUE(file->append("two").ok());
  EXPECT_TRUE(file->flush().ok());
  EXPECT_EQ(contents_of(folder / "b/f"), "one\ntwo\n");
  std::filesystem::remove_all(folder / "b");
  EXPECT_EQ(message(file->append("three")),
            "cannot write " + (folder / "a/f") + ": No such file or directory");
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(LargeFileTest, WhereAllFilesHaveNamesItTriesOne) {
  const absl::Status status = LargeFile::create("/proc/large").status();
  EXPECT_TRUE(message(status).starts_with("cannot write /proc/large: ")) << status;
  EXPECT_EQ(message(status).find(std::strerror(EOPNOTSUPP)), std::string::npos) << status;
}

TEST(CutLinesTest, CutsBeforeTheFirstLineThatIsNotKept) {
  const TemporaryFolder folder;
  const auto keep = [](std::string_view line) -> absl::StatusOr<bool> { return line != "x"; };
  const auto after_cut = [&](const std::string& text) {
    write_bytes(folder / "f", text);
    EXPECT_TRUE(cut_lines(folder / "f", keep).ok());
    return contents_of(folder / "f");
  };
  EXPECT_EQ(after_cut("a\n\nb\n"), "a\n\nb\n");
  EXPECT_EQ(after_cut("a\nx\nb\n"), "a\n");
  EXPECT_EQ(after_cut("a\nb"), "a\n");
  EXPECT_EQ(after_cut("torn"), "");
  EXPECT_EQ(after_cut(""), "");
  EXPECT_TRUE(cut_lines(folder / "none", keep).ok());
}

TEST(CutLinesTest, LeavesADeviceAlone) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "link");
  EXPECT_EQ(message(cut_lines(folder / "link", [](std::string_view) { return true; })),
            "cannot read " + (folder / "link") + ": it is not a regular file");
}

TEST(CutLinesTest, AFailureLeavesTheFile) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", "a\nb\ntorn");
  const auto keep = [](std::string_view line) -> absl::StatusOr<bool> {
    if (line == "b") return absl::InvalidArgumentError("no b here");
    return true;
  };
  EXPECT_EQ(message(cut_lines(folder / "f", keep)), (folder / "f") + ":2: no b here");
  EXPECT_EQ(contents_of(folder / "f"), "a\nb\ntorn");
}

}  // namespace
}  // namespace qkv
