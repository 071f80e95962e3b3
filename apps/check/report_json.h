#pragma once

#include <nlohmann/json.hpp>

#include "apps/check/mutation/mutation.h"
#include "apps/check/precision/precision_check.h"
#include "framework/gradcheck/gradcheck_report.h"

namespace qkv {

// Everything in a report. Numbers that are not finite are the strings "nan", "inf" and "-inf",
// which JSON has no numbers for.
nlohmann::ordered_json to_json(const GradcheckReport& report);
nlohmann::ordered_json to_json(const MutationReport& report);
nlohmann::ordered_json to_json(const PrecisionReport& report);

}  // namespace qkv
