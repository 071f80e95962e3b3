#pragma once

#include <string>

#include "lessons/report/report.h"

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

// A claim without the signs of Markdown and TeX in it.
std::string quote_of(const Claim& claim);

// What the places of a report mean: "A37 is line 37 of the note A, …". Of each note that it has.
std::string legend_of(const Report& report);

}  // namespace qkv
