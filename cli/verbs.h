#pragma once

#include <array>

#include "cli/kit.h"

namespace qkv {

// Each in a file of its own, cli/NAME.cc.
Verb train_verb();
Verb sweep_verb();
Verb eval_verb();
Verb generate_verb();
Verb predict_verb();
Verb data_verb();
Verb bench_verb();
Verb config_verb();
Verb info_verb();
Verb runs_verb();
Verb compare_verb();
Verb doctor_verb();
Verb replay_verb();
Verb python_verb();
Verb notebook_verb();  // cli/python.cc

// The list, as `qkv --help` shows it. The verbs of cli/lessons come after these.
inline constexpr std::array kVerbs{train_verb,   sweep_verb,  eval_verb,    generate_verb,
                                   predict_verb, doctor_verb, replay_verb,  runs_verb,
                                   compare_verb, info_verb,   config_verb,  data_verb,
                                   bench_verb,   python_verb, notebook_verb};

}  // namespace qkv
