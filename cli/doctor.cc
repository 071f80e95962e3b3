#include "train/runs/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/verbs.h"
#include "train/config/config.h"

namespace qkv {
namespace {

void add_doctor_options(OptionList& options) {
  options.set();
  options.flag("json", "Prints a list of JSON objects");
}

// On a terminal one line, written over again and again.
void tell(const std::string& what) {
  if (isatty(STDERR_FILENO) != 1) return;
  std::fprintf(stderr, "\r\x1b[K%s", what.empty() ? "" : ("looking at " + what + " …").c_str());
}

absl::Status run_doctor(const std::string& config, const GivenOptions& given) {
  const absl::StatusOr<LoadedConfig> loaded = load_config(config, given.set());
  if (!loaded.ok()) return loaded.status();
  const absl::StatusOr<std::vector<Diagnosis>> diagnoses = examine(loaded->config, tell);
  tell("");
  if (!diagnoses.ok()) return diagnoses.status();
  print(given.has("json") ? diagnoses_json(*diagnoses) : diagnoses_text(*diagnoses));
  if (std::ranges::all_of(*diagnoses, &Diagnosis::is_good)) return absl::OkStatus();
  return absl::InternalError("the config is not sound: see what is marked ✗");
}

}  // namespace

Verb doctor_verb() {
  return {{"doctor", "CONFIG", "looks a config over before a long run"},
          add_doctor_options,
          run_doctor};
}

}  // namespace qkv
