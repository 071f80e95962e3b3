#include "lessons/report/notes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace qkv {
namespace {

// The first of its places that is in the note; "": there is none.
std::string place_in(const Report& report, const Note& note) {
  for (const Section& section : report.sections) {
    for (const Claim& claim : section.claims) {
      if (claim.place[0] == note.letter) return claim.place;
    }
  }
  return "";
}

}  // namespace

std::string quote_of(const Claim& claim) {
  return absl::StrReplaceAll(claim.chinese,
                             {{"**", ""}, {"$", ""}, {"\\alpha", "α"}, {"\\beta", "β"}});
}

std::string legend_of(const Report& report) {
  std::string legend;
  for (const Note& note : kLectureNotes) {
    const std::string place = place_in(report, note);
    if (place.empty()) continue;
    const std::string letter(1, note.letter);
    absl::StrAppend(&legend, legend.empty() ? "" : "; ", place, ": line ", place.substr(1),
                    " of the note ", letter, ", ", note.title);
  }
  return legend;
}

}  // namespace qkv
