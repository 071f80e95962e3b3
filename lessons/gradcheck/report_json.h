#pragma once

#include <nlohmann/json.hpp>

#include "framework/gradcheck/gradcheck_report.h"
#include "framework/mutation/mutation.h"
#include "framework/precision/precision_check.h"

namespace qkv {

// Everything in a report. Numbers that are not finite are the strings "nan", "inf" and "-inf",
// which JSON has no numbers for.
nlohmann::ordered_json to_json(const GradcheckReport& report);
nlohmann::ordered_json to_json(const MutationReport& report);
nlohmann::ordered_json to_json(const PrecisionReport& report);

}  // namespace qkv
