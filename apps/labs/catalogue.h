#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/labs/kit/lab.h"

namespace qkv {

// The labs of apps/labs/labs.h, as `qkv lab` shows and runs them.
std::vector<Lab> all_labs();
std::vector<std::string> names_of_labs();
absl::StatusOr<Lab> find_lab(const std::string& name);  // an error suggests another name

// Texts for a terminal of 80 columns: a line or more for each lab; help on all; help on one.
std::string list_of_labs(Language language);
std::string help_on_labs(Language language);
std::string help_on(const Lab& lab, Language language);

using OptionTexts = std::map<std::string, std::string>;  // by the names of options

std::set<std::string> names_of_lab_options();  // of any lab
OptionTexts taken_by(const Lab& lab, const OptionTexts& options);
// Checks each option with every lab that takes it.
absl::Status check_for_all_labs(const OptionTexts& options);

}  // namespace qkv
