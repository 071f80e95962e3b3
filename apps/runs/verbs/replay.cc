#include "apps/runs/replay/replay.h"

#include "cli/kit.h"

namespace qkv {
namespace {

void add_replay_options(OptionList& options) {
  options.integer("step", "N", "Looks at step N, op by op; default: the one that ended the run");
  options.json("the findings");
}

absl::Status run_replay(const std::string& run, const GivenOptions& given) {
  RETURN_IF_ERROR(check_json(given, "{\n  \"run\": "));
  const std::optional<int64_t> step = given.integer_if_given("step");
  ProgressLine progress(stderr);
  const absl::StatusOr<StepReplay> replay =
      replay_run(run, step, [&](const std::string& what) { progress.show(what + " …"); });
  progress.clear();
  if (!replay.ok()) return replay.status();
  return show_or_write(given, replay_text(*replay, step.has_value()),
                       replay_json(*replay, step.has_value()));
}

}  // namespace

Verb replay_verb() {
  return {{"replay", "RUN", "shows which op first made a number that is not finite"},
          add_replay_options,
          run_replay};
}

}  // namespace qkv
