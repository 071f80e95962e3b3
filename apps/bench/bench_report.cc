#include "apps/bench/bench_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

Json profile_to_json(const StepMeasurement& m) {
  Json list = Json::array();
  const auto steps = static_cast<double>(m.profiled_steps);
  for (const ProfileRow& row : m.profile) {
    list.push_back({{"part", row.part},
                    {"op", row.name},
                    {"ms", row.ms / steps},
                    {"calls", static_cast<double>(row.calls) / steps},
                    {"bytes", row.bytes / steps},
                    {"gflops", row.ms > 0 ? row.flops / row.ms * 1e-6 : 0.0}});
  }
  return list;
}

}  // namespace

std::string steps_json(const Workload& workload, const StepMeasurement& m) {
  const auto floor_or_null = [&](auto number) { return m.floor ? Json(number(*m.floor)) : Json(); };
  const Json row = {
      {"name", workload.config.name},
      {"precision", name_of(workload.config.train.precision)},
      {"note", precision_note(workload.config.train)},
      {"threads", m.threads},
      {"parameters", m.parameters},
      {"steps", m.steps},
      {"ms_per_step", m.step_ms.median},
      {"ms_lower_quartile", m.step_ms.lower},
      {"ms_upper_quartile", m.step_ms.upper},
      {"floor_ms", floor_or_null([](const auto& floor) { return floor.ms.median; })},
      {"floor_ms_lower_quartile", floor_or_null([](const auto& floor) { return floor.ms.lower; })},
      {"floor_ms_upper_quartile", floor_or_null([](const auto& floor) { return floor.ms.upper; })},
      {"ratio", floor_or_null([](const auto& floor) { return floor.ratio; })},
      {"tokens_per_second", m.tokens_per_second},
      {"gflops", m.gflops},
      {"floor_gflops", floor_or_null([](const auto& floor) { return floor.gflops; })},
      {"peak_bytes", m.peak_bytes},
      {"profile", profile_to_json(m)}};
  return row.dump() + "\n";
}

std::string steps_text(const Workload& workload, const StepMeasurement& m) {
  const std::string note = precision_note(workload.config.train);
  return absl::StrFormat(
      "%s: %s; %s, %d threads, %d parameters\n%s"
      "step   %9.3f ms (quartiles %.3f and %.3f, %d steps)\n"
      "       %9.1f GFLOP/s, %.0f %s/s\n"
      "%s"
      "memory %9.1f MB at the peak\n\n%s",
      workload.config.name, workload.description, name_of(workload.config.train.precision),
      m.threads, m.parameters, note.empty() ? "" : note + "\n", m.step_ms.median, m.step_ms.lower,
      m.step_ms.upper, m.steps, m.gflops, m.tokens_per_second, workload.dataset->shape().unit(),
      floor_text(m.floor), static_cast<double>(m.peak_bytes) * 1e-6,
      profile_table(m.profile, m.profiled_steps));
}

std::string generation_json(const Workload& workload, const GenerationSpeed& speed) {
  const Json row = {{"name", workload.config.name},
                    {"precision", name_of(workload.config.train.precision)},
                    {"length", workload.dataset->shape().max_length},
                    {"tokens_per_second", speed.tokens_per_second},
                    {"tokens_per_second_without_cache", speed.without_cache}};
  return row.dump() + "\n";
}

std::string generation_text(const Workload& workload, const GenerationSpeed& speed) {
  return absl::StrFormat("%s: writes %d tokens: %.0f a second, %.0f without the key/value cache\n",
                         workload.config.name, workload.dataset->shape().max_length,
                         speed.tokens_per_second, speed.without_cache);
}

}  // namespace qkv
