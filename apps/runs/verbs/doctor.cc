#include "apps/runs/doctor.h"

#include <algorithm>

#include "cli/kit.h"
#include "train/config/config.h"

namespace qkv {
namespace {

void add_doctor_options(OptionList& options) {
  options.set();
  options.json("what was found");
}

absl::Status run_doctor(const std::string& config, const GivenOptions& given) {
  if (absl::Status s = check_json(given, "[\n  {\n    \"check\": "); !s.ok()) return s;
  const absl::StatusOr<LoadedConfig> loaded = load_config(config, given.set());
  if (!loaded.ok()) return loaded.status();
  ProgressLine progress(stderr);
  const absl::StatusOr<std::vector<Diagnosis>> diagnoses = examine(
      loaded->config, [&](const std::string& what) { progress.show("looking at " + what + " …"); });
  progress.clear();
  if (!diagnoses.ok()) return diagnoses.status();
  absl::Status s = show_or_write(given, diagnoses_text(*diagnoses), diagnoses_json(*diagnoses));
  if (!s.ok()) return s;
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
