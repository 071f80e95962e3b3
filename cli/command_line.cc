#include "cli/command_line.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/core/each_of.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/mistakes.h"
#include "framework/core/text/utf8.h"
#include "framework/kernels/product/matmul.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

constexpr int kFailure = 1;
constexpr int kUserError = 2;
constexpr int kInterrupted = 130;

int complain(const std::vector<std::string>& lines, int exit_status) {
  std::fflush(stdout);
  for (const std::string& line : lines) say_error(line);
  return exit_status;
}

int complain(const std::string& message, int exit_status) {
  return complain(std::vector<std::string>{printable(message)}, exit_status);
}

// The verbs in --help: without those that only programs call, whose names begin with _.
std::vector<VerbTitle> titles_of(const Program& program) {
  std::vector<VerbTitle> titles;
  for (const auto make_verb : program.verbs) titles.push_back(make_verb().title);
  for (const VerbElsewhere& verb : program.verbs_elsewhere) titles.push_back(verb.title);
  std::erase_if(titles, [](const VerbTitle& title) { return title.name[0] == '_'; });
  return titles;
}

std::string usage(const Program& program) {
  std::string text =
      "qkv trains small transformers and shows how they learn.\n\nUsage: qkv VERB [arguments]\n\n";
  for (const VerbTitle& title : titles_of(program)) {
    absl::StrAppend(&text, "  ", padded(title.name, 11), padded(title.argument, 10), title.summary,
                    "\n");
  }
  return text +
         "\nqkv VERB --help prints the options of a verb.\n"
         "qkv --version prints the version, and what it was compiled with.\n";
}

int exit_status(const absl::Status& status) {
  const bool is_user_error = absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
                             absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status);
  return is_user_error ? kUserError : kFailure;
}

// Replaces this program by the one of that name in the same folder, which gets the same words.
// Returns only where that fails.
int start_instead(const char* program, char** argv) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string path = self.parent_path() / program;
  std::fflush(stdout);
  ::execv(path.c_str(), argv);
  return complain(absl::StrCat("qkv ", argv[1], " needs the program ", path,
                               ", which cannot be started: ", std::strerror(errno),
                               "; build all of qkv, or install it"),
                  kFailure);
}

int dispatch(int argc, char** argv, const Program& program) {
  static char help[] = "--help";
  if (argc > 2 && std::strcmp(argv[1], "help") == 0) {  // qkv help VERB is qkv VERB --help
    std::rotate(argv + 1, argv + 2, argv + argc);
    argv[argc - 1] = help;
  }
  const std::string name = argc > 1 ? argv[1] : help;
  if (name == "--help" || name == "-h" || name == "help") {
    show(usage(program));
    return argc > 1 ? 0 : kUserError;
  }
  if (name == "--version") {
    print(version_text());
    return 0;
  }
  for (const auto make_verb : program.verbs) {
    const Verb verb = make_verb();
    if (verb.title.name != name) continue;
    const absl::Status status = run_verb(verb, {argv + 2, argv + argc});
    if (status.ok()) return 0;
    if (absl::IsCancelled(status)) return kInterrupted;
    return complain(lines_to_show(status), exit_status(status));
  }
  for (const auto& [title, program_of_verb] : program.verbs_elsewhere) {
    if (title.name == name) return start_instead(program_of_verb, argv);
  }
  const std::vector<std::string> names =
      each_of(titles_of(program), [](const VerbTitle& title) { return std::string(title.name); });
  const std::string near = nearest(name, names);
  return complain(
      absl::StrCat("there is no verb \"", name, "\"; ",
                   near.empty() ? absl::StrCat("the verbs are ", quoted_list(names, "and"))
                                : absl::StrCat("did you mean \"", near, "\"?")),
      kUserError);
}

// A program may be started without standard input, output or error. The next files it opens would
// take their numbers, and messages would be written into them. A folder in their place can be
// neither read nor written, not by the name of /dev/stdin or /dev/stdout either.
bool occupy_standard_descriptors() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/", O_RDONLY | O_DIRECTORY) != number) return false;  // the lowest that is free
  }
  return true;
}

#if defined(__clang__)
constexpr char kCompiler[] = "clang++ " __clang_version__;
#else
constexpr char kCompiler[] = "g++ " __VERSION__;
#endif

}  // namespace

int run_command_line(int argc, char** argv, const Program& program) {
  // Large blocks stay mappings of their own: once freed, they go back to the system.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  if (!occupy_standard_descriptors()) {
    std::perror("error: cannot open /");
    return kFailure;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file that a limit keeps from growing is an error, and no end
  try {
    const int status = dispatch(argc, argv, program);
    const bool is_written = std::fflush(stdout) == 0 && !std::ferror(stdout);
    if (is_written || status == kInterrupted) return status;
    return complain("cannot write to standard output", kFailure);
  } catch (const std::bad_alloc& e) {
    return complain(OutOfMemory::of(e).what(), kFailure);
  } catch (const std::exception& e) {  // a mistake in qkv itself
    return complain(e.what(), kFailure);
  }
}

std::string version_text() {
  return absl::StrCat("qkv ", QKV_VERSION, "\ncompiled by ", kCompiler, " for ",
                      kernels::instructions(), "\nmatrix products by ", kernels::product_library(),
                      "\n");
}

}  // namespace qkv
