#pragma once

#include <array>

#include "cli/verb.h"

namespace qkv {

// The verbs of the program qkv-lessons. `qkv` names them in its help and starts that program for
// them, so that whoever trains need not compile them. That program knows all verbs, and so prints
// what shells complete and the manual page.
inline constexpr VerbTitle kGradcheckTitle{
    "gradcheck", "", "checks gradients of ops, layers, models, training steps"};
inline constexpr VerbTitle kExplainTitle{"explain", "[RUN]",
                                         "shows every number of attention, forward and backward"};
inline constexpr VerbTitle kLabTitle{"lab", "[NAME]",
                                     "measures claims of the lecture notes; no NAME: lists them"};
inline constexpr VerbTitle kPlotTitle{"plot", "RUN…", "draws the curves of runs in the terminal"};
inline constexpr VerbTitle kReportTitle{"report", "RUN", "writes a page that shows all of a run"};

inline constexpr VerbTitle kExportTitle{"export", "RUN", "writes a model for other programs"};
inline constexpr VerbTitle kCompletionTitle{"completion", "SHELL",
                                            "prints what bash, zsh or fish complete"};
inline constexpr VerbTitle kManTitle{"man", "", "prints the manual page"};

inline constexpr std::array kLessonTitles{kPlotTitle,       kReportTitle,  kExportTitle,
                                          kGradcheckTitle,  kExplainTitle, kLabTitle,
                                          kCompletionTitle, kManTitle};

}  // namespace qkv
