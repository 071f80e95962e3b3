#pragma once

#include <array>

#include "cli/kit.h"

namespace qkv {

// The verbs of the book, each in a file of its own, cli/NAME.cc.
Verb train_verb();
Verb eval_verb();
Verb generate_verb();
Verb data_verb();
Verb config_verb();
Verb info_verb();

// As `qkv --help` shows them, before those of the apps.
inline constexpr std::array kVerbs{train_verb, eval_verb,   generate_verb,
                                   info_verb,  config_verb, data_verb};

}  // namespace qkv
