#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace qkv {

// How a process ended.
struct End {
  int exit_status = -1;  // -1: by a signal
  int signal = 0;        // 0: it returned
  std::string output;    // standard output and standard error
};

// Starts the program with its output in a file, and waits for it.
pid_t start(const std::vector<std::string>& command, const std::string& output_file);
End wait_for_end(pid_t process, const std::string& output_file);
End run(const std::vector<std::string>& command, const std::string& output_file);

// What happens to a program at one of its system calls that change the file system: those that
// make, write, name, cut, flush or remove files and folders.
enum class Fault {
  kill_before,   // SIGKILL before the call
  kill_halfway,  // SIGKILL after a write of half of the bytes; before any other call
  disk_full,     // the call does nothing and fails: No space left on device
};

struct Faulted {
  End end;
  bool reached = false;  // whether there were so many calls
  bool is_write = false;
  std::string call;  // "rename"
};

// Runs the program and does that at the call of that number, counted from 0.
Faulted run_with_fault(const std::vector<std::string>& command, const std::string& output_file,
                       int64_t call, Fault fault);

// How many such calls the program makes, and which: one name for each.
std::vector<std::string> changing_calls(const std::vector<std::string>& command,
                                        const std::string& output_file);

}  // namespace qkv
