#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "apps/report/report.h"

namespace qkv {

// Parts of pages, in one language where it is given, else in both.

// The verdict in its colour, with a sign.
std::string badge_html(ClaimVerdict verdict, Language language);
// How many sentences have each verdict: a bar of numbers in colours, the largest kind widest.
std::string totals_html(const std::vector<JudgedSentence>& sentences);
// The meaning of the colours: all verdicts by name, with their numbers.
std::string totals_legend_html(const std::vector<JudgedSentence>& sentences);

// The sentence, as the note has it; in English what it says in English as well.
std::string claim_html(const Claim& claim, const std::string& link, Language language);
// The badge, the condition, and why, in a sentence; how it should read, where it should not stand.
std::string verdict_html(const Section& section, Language language);
std::string source_html(const Source& source);  // a link

// To the index and the pages of these notes.
std::string links_to_other_pages(std::span<const char> notes);

// Parts of some sections beside their measurements, by "lab.section": the name of a slider in
// page/sliders.js, and of a region in examples/steps.cc, how qkv computes what the section is
// about.
const std::map<std::string, std::string>& sliders_of_sections();
const std::map<std::string, std::string>& code_of_sections();

}  // namespace qkv
