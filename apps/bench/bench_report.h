#pragma once

#include <string>

#include "apps/bench/bench.h"
#include "apps/bench/workload.h"

namespace qkv {

// What `qkv bench` says of its measurements: a JSON object on a line, or text for a terminal.
std::string steps_json(const Workload& workload, const StepMeasurement& m);
std::string steps_text(const Workload& workload, const StepMeasurement& m);
std::string generation_json(const Workload& workload, const GenerationSpeed& speed);
std::string generation_text(const Workload& workload, const GenerationSpeed& speed);

}  // namespace qkv
