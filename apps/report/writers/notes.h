#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "apps/report/report.h"

namespace qkv {

// The lecture notes, by the letters that stand for them in places.
struct Note {
  char letter;
  const char* title;
};
inline constexpr Note kLectureNotes[] = {{'A', "Vision Transform学习笔记2|Self-Attention"},
                                         {'B', "第六节 attention注意力机制"},
                                         {'C', "自注意力机制(Self-Attention Mechanism)"},
                                         {'D', "我认为attention和CNN是“形似而神不似”"}};

Text name_of_note(char letter);  // "Note A"

// The file of a note among the pages of all labs: "note-A.html".
std::string file_of_note(char letter);

// The notes with a sentence that the reports judge, in their order.
std::vector<char> letters_of(std::span<const Report> reports);

// By note, line, and sentence of the line.
std::tuple<char, int, int> order_of(const Claim& claim);

// The meaning of the places in reports: "A37: line 37 of the note A, …". One of each note.
Text legend_of(std::span<const Report> reports);

// The common words of a report's text, page and Markdown.
std::string sign_of(FindingResult result);       // ✓ ✗ – ?
std::string sign_of(ClaimVerdict verdict);       // ✓ ✗ – ? ○ ·
Text with_role(const Finding& finding);          // "WHAT (beyond the condition)", "WHAT"
Text with_interval(const Finding& finding);      // "0.93 ± 0.02 (95 %: 0.91 … 0.95)"
Text result_name(FindingResult result);          // "agrees"
Text cited(const std::vector<Source>& sources);  // "Sources: Vaswani et al. 2017; …"
Text times_differ();
Text how_to_read();  // what the signs, ±, the intervals and the seeds mean

}  // namespace qkv
