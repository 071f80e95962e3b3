#pragma once

#include <string>
#include <vector>

#include "apps/labs/kit/lab.h"
#include "apps/report/report.h"
#include "apps/report/texts/texts.h"

// The texts of *.toml in apps/labs: NAME.toml has all of the lab NAME, claims.toml the sentences of
// the lecture notes that labs judge, definitions.toml the identities in them, sources.toml the
// literature, words.toml the common texts of labs.
namespace qkv {

// By its key: "A37", or "D6-2", the second of several sentences of one line.
Claim claim_at(const std::string& key);
std::vector<std::string> keys_of_claims();

// In the order of the notes.
std::vector<Definition> definitions();

// "vaswani2017 table 3": a key of sources.toml, and what of that work.
Source source_at(const std::string& key);

// A section of a lab, "scaling.variance", with its texts and the claims that it judges.
Section make_section(const std::string& name, std::vector<Finding> findings = {},
                     std::vector<Figure> figures = {});
std::vector<std::string> names_of_sections();

// The help of an option of the verb `qkv lab`.
Text option_of_verb(const std::string& option);

// The lab of that name.
Lab make_lab(const std::string& name, std::vector<Section> (*run)(const LabContext&));

}  // namespace qkv
