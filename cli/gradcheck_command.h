#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace qkv {

struct GradcheckCommandOptions {
  std::vector<std::string> names = {};      // of ops, layers and models; none: all of them
  std::string config = "";                  // checks the model of a config and its loss instead
  std::vector<std::string> overrides = {};  // of the config
  int64_t order = 1;                        // 2: the derivatives of the derivatives, too
  int64_t seed = 1;                         // of the first point
  int64_t seeds = 1;                        // how many points
  bool coverage = false;                    // shows what each op is checked for instead
  bool mutate = false;                      // plants mistakes in the backward formulas instead
  std::string sweep = "";                   // a CSV file for the error against the step instead
  std::string json = "";  // a file for the whole report; "-": standard output, in place of text
  bool verbose = false;   // prints the reports of those that pass, too
};

// Checks gradients and prints a table. An error (Internal) when something did not pass.
absl::Status gradcheck_command(const GradcheckCommandOptions& options);

}  // namespace qkv
