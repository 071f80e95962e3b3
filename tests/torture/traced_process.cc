#include "tests/torture/traced_process.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

namespace qkv {
namespace {

using SystemCall = __ptrace_syscall_info;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(2);
}

[[noreturn]] void become(const std::vector<std::string>& command, int output, bool traced) {
  // What a shell in the background, or nohup, has ignored for the torture.
  for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (traced) {
    ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // which cannot be done under ptrace
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

pid_t start(const std::vector<std::string>& command, const std::string& output_file, bool traced) {
  // Emptied here: the child may be killed before it comes to it, and what the one before it said
  // would be taken for its words.
  const int output = ::open(output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (output < 0) give_up(output_file.c_str());
  const pid_t child = ::fork();
  if (child < 0) give_up("fork");
  if (child == 0) become(command, output, traced);
  ::close(output);
  return child;
}

End describe_end(int status, const std::string& output_file) {
  End end;
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  std::ostringstream text;
  text << std::ifstream(output_file).rdbuf();
  end.output = text.str();
  return end;
}

const std::map<uint64_t, const char*>& names_of_calls() {
  static const std::map<uint64_t, const char*> names = {
#ifdef SYS_open
      {SYS_open, "open"},       {SYS_mkdir, "mkdir"},       {SYS_rename, "rename"},
      {SYS_unlink, "unlink"},   {SYS_rmdir, "rmdir"},
#endif
#ifdef SYS_renameat
      {SYS_renameat, "rename"},
#endif
      {SYS_openat, "open"},     {SYS_mkdirat, "mkdir"},     {SYS_renameat2, "rename"},
      {SYS_unlinkat, "unlink"}, {SYS_truncate, "truncate"}, {SYS_ftruncate, "truncate"},
      {SYS_write, "write"},     {SYS_pwrite64, "write"},    {SYS_writev, "write"},
      {SYS_fsync, "fsync"},     {SYS_fdatasync, "fsync"},
  };
  return names;
}

// The name of a call that changes the file system; null: another one. Opening changes it where a
// file may be made or cut; what is written to the three standard descriptors does not count.
const char* changing_call(const SystemCall& call) {
  const auto found = names_of_calls().find(call.entry.nr);
  if (found == names_of_calls().end()) return nullptr;
  const std::string_view name = found->second;
  const auto& arguments = call.entry.args;
  if (name == "write" && arguments[0] <= STDERR_FILENO) return nullptr;
  if (name == "open") {
    const uint64_t flags = call.entry.nr == SYS_openat ? arguments[2] : arguments[1];
    if ((flags & (O_CREAT | O_TRUNC)) == 0) return nullptr;
  }
  return found->second;
}

SystemCall current_call(pid_t process) {
  SystemCall call = {};
  if (::ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), process, sizeof(call),
               &call) < 0) {
    give_up("PTRACE_GET_SYSCALL_INFO");
  }
  return call;
}

// Runs to the next beginning or end of a system call; false: the process has ended.
bool go_on(pid_t process, int& status) {
  int signal = 0;
  while (true) {
    if (::ptrace(PTRACE_SYSCALL, process, nullptr, signal) != 0 && errno != ESRCH) {
      give_up("PTRACE_SYSCALL");  // ESRCH: it was killed meanwhile, and is waited for
    }
    if (::waitpid(process, &status, 0) < 0) give_up("waitpid");
    if (!WIFSTOPPED(status)) return false;
    signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) return true;
    if (signal == SIGTRAP) signal = 0;  // execve
  }
}

void change_registers(pid_t process, const std::function<void(user_regs_struct&)>& change) {
  user_regs_struct registers;
  if (::ptrace(PTRACE_GETREGS, process, nullptr, &registers) != 0) give_up("PTRACE_GETREGS");
  change(registers);
  if (::ptrace(PTRACE_SETREGS, process, nullptr, &registers) != 0) give_up("PTRACE_SETREGS");
}

// Calls `at` at the beginning of each call that changes the file system, with its number and name;
// until it returns false, or the process ends.
int trace(const std::vector<std::string>& command, const std::string& output_file,
          const std::function<bool(pid_t, int64_t, const char*)>& at) {
  const pid_t process = start(command, output_file, /*traced=*/true);
  int status = 0;
  if (::waitpid(process, &status, 0) < 0 || !WIFSTOPPED(status)) give_up("cannot trace");
  ::ptrace(PTRACE_SETOPTIONS, process, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  int64_t number = 0;
  bool watching = true;
  while (go_on(process, status)) {
    if (!watching) continue;
    const SystemCall call = current_call(process);
    if (call.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    const char* name = changing_call(call);
    if (name != nullptr) watching = at(process, number++, name);
  }
  return status;
}

}  // namespace

pid_t start(const std::vector<std::string>& command, const std::string& output_file) {
  return start(command, output_file, /*traced=*/false);
}

End wait_for_end(pid_t process, const std::string& output_file) {
  int status = 0;
  if (::waitpid(process, &status, 0) < 0) give_up("waitpid");
  return describe_end(status, output_file);
}

End run(const std::vector<std::string>& command, const std::string& output_file) {
  return wait_for_end(start(command, output_file), output_file);
}

Faulted run_with_fault(const std::vector<std::string>& command, const std::string& output_file,
                       int64_t call, Fault fault) {
  Faulted result;
  const int status =
      trace(command, output_file, [&](pid_t process, int64_t number, const char* name) {
        if (number < call) return true;
        result.reached = true;
        result.call = name;
        int ignored = 0;
        if (fault == Fault::disk_full) {
          change_registers(process, [](user_regs_struct& r) { r.orig_rax = ~0ULL; });
          if (go_on(process, ignored)) {
            change_registers(process, [](user_regs_struct& r) {
              r.rax = static_cast<unsigned long long>(-ENOSPC);
            });
          }
          return false;
        }
        if (fault == Fault::kill_halfway && result.call == "write") {
          change_registers(process, [](user_regs_struct& r) { r.rdx /= 2; });
          go_on(process, ignored);
        }
        ::kill(process, SIGKILL);
        return false;
      });
  result.end = describe_end(status, output_file);
  return result;
}

std::vector<std::string> changing_calls(const std::vector<std::string>& command,
                                        const std::string& output_file) {
  std::vector<std::string> names;
  trace(command, output_file, [&](pid_t, int64_t, const char* name) {
    names.emplace_back(name);
    return true;
  });
  return names;
}

}  // namespace qkv
