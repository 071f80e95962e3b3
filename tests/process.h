#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace qkv {

// How a program ended, and what it said.
struct ProcessResult {
  int exit_status = -1;    // 128 + N: ended by signal N
  std::string output;      // standard output
  std::string errors;      // standard error
  int64_t peak_bytes = 0;  // of memory, with what every program has
};

struct ProcessOptions {
  std::string folder = ".";                   // where it runs
  std::string output_file = {};               // instead of collecting standard output
  std::string input = {};                     // standard input
  bool in_terminal = false;                   // standard input and output are one
  int columns = 0;                            // of the terminal; 0: it does not say
  int64_t largest_file_bytes = 0;             // 0: no limit; stands for a disk that fills up
  int64_t memory_bytes = 0;                   // 0: no limit; of addresses
  int64_t stack_bytes = 0;                    // 0: the usual; what each thread asks for
  std::vector<std::string> environment = {};  // more of it: "NAME=value"
  // Called with all output so far, whenever there is more, until it returns true.
  std::function<bool(pid_t program, const std::string& output)> on_output = {};
};

ProcessResult run_process(const std::vector<std::string>& command,
                          const ProcessOptions& options = {});

}  // namespace qkv
