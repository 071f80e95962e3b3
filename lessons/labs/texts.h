#pragma once

#include <string>
#include <vector>

#include "lessons/labs/lab.h"
#include "lessons/report/report.h"

// What the labs say, which stands in lessons/labs/texts and is compiled in: claims.toml has the
// sentences of the lecture notes, sections.toml what follows from them, labs.toml the labs
// themselves with what they take. Each text is there by language (`A37.zh`, `prediction.en`).
// Errors throw: the tests read every text.
namespace qkv {

// By its key: "A37", or "D6-2", the second of several sentences of one line.
Claim claim_at(const std::string& key);
std::vector<std::string> keys_of_claims();

// A section of a lab, "scaling.variance", with its texts and the claims that it judges.
Section make_section(const std::string& name, std::vector<Finding> findings = {},
                     std::vector<Figure> figures = {});
std::vector<std::string> names_of_sections();

// The lab of that name.
Lab make_lab(const std::string& name, std::vector<Section> (*run)(const LabContext&));

}  // namespace qkv
