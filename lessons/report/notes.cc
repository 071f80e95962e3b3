#include "lessons/report/notes.h"

#include "absl/strings/str_cat.h"

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

std::string legend_of(std::span<const Report> reports) {
  std::string legend;
  for (const Note& note : kLectureNotes) {
    const std::string place = place_in(reports, note);
    if (place.empty()) continue;
    const std::string letter(1, note.letter);
    absl::StrAppend(&legend, legend.empty() ? "" : "; ", place, ": line ", place.substr(1),
                    " of the note ", letter, ", ", note.title);
  }
  return legend;
}

}  // namespace qkv
