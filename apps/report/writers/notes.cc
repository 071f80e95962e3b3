#include "apps/report/writers/notes.h"

#include "absl/strings/str_cat.h"
#include "apps/report/texts/texts.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

// The first of the places that is in the note; "": there is none.
std::string place_in(std::span<const Report> reports, const Note& note) {
  for (const Report& report : reports) {
    for (const Section& section : report.sections) {
      for (const Claim& claim : section.claims) {
        if (claim.place[0] == note.letter) return claim.place;
      }
    }
  }
  return "";
}

}  // namespace

Text name_of_note(char letter) { return say("Note {0}", std::string(1, letter)); }

std::string file_of_note(char letter) {
  return absl::StrCat("note-", std::string(1, letter), ".html");
}

std::vector<char> letters_of(std::span<const Report> reports) {
  std::vector<char> letters;
  for (const Note& note : kLectureNotes) {
    if (!place_in(reports, note).empty()) letters.push_back(note.letter);
  }
  return letters;
}

std::tuple<char, int, int> order_of(const Claim& claim) {
  const size_t part = claim.key.find('-');
  return {claim.key[0], std::atoi(claim.key.c_str() + 1),
          part == std::string::npos ? 0 : std::atoi(claim.key.c_str() + part + 1)};
}

Text legend_of(std::span<const Report> reports) {
  Text legend;
  for (const Note& note : kLectureNotes) {
    const std::string place = place_in(reports, note);
    if (place.empty()) continue;
    const Text line = say("{0}: line {1} of the note {2}, {3}", place, place.substr(1),
                          std::string(1, note.letter), note.title);
    legend = legend.empty() ? line : say("{0}; {1}", legend, line);
  }
  return legend;
}

std::string sign_of(FindingResult result) {
  static constexpr const char* kSigns[] = {"✓", "✗", "–", "?"};  // in the order of its values
  return kSigns[static_cast<size_t>(result)];
}

std::string sign_of(ClaimVerdict verdict) {
  static constexpr const char* kSigns[] = {"·", "✓", "✓", "?", "○", "–", "✗"};
  return kSigns[static_cast<size_t>(verdict)];
}

Text with_role(const Finding& finding) {
  switch (finding.role) {
    case FindingRole::kEvidence:
      return finding.what;
    case FindingRole::kBeyond:
      return say("{0} (beyond the condition)", finding.what);
    case FindingRole::kPremise:
      return say("{0} (premise)", finding.what);
  }
  fail("a role without a name");
}

Text with_interval(const Finding& finding) {
  if (finding.interval.empty()) return finding.measured;
  return say("{0} (95 %: {1})", finding.measured, finding.interval);
}

Text result_name(FindingResult result) { return say(name_of(result)); }

Text cited(const std::vector<Source>& sources) {
  Text text;
  for (const Source& source : sources) {
    text = text.empty() ? source.cited : say("{0}; {1}", text, source.cited);
  }
  return say("Sources: {0}", text);
}

Text how_to_read() { return say("reading.how"); }

Text times_differ() { return say("Figures of time differ each run."); }

}  // namespace qkv
