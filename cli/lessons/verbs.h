#pragma once

#include <array>

#include "cli/kit.h"
#include "cli/lesson_titles.h"

namespace qkv {

// Each in a file of its own, cli/lessons/NAME.cc.
Verb plot_verb();
Verb report_verb();
Verb export_verb();
Verb gradcheck_verb();
Verb explain_verb();
Verb lab_verb();
Verb completion_verb();
Verb man_verb();  // in completion.cc

// In the order of kLessonTitles.
inline constexpr std::array kLessonVerbs{plot_verb,    report_verb, export_verb,     gradcheck_verb,
                                         explain_verb, lab_verb,    completion_verb, man_verb};

}  // namespace qkv
