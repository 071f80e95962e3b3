#pragma once

#include "cli/verb.h"

namespace qkv {

// Each in a file of its own, cli/NAME.cc.
Verb train_verb();
Verb eval_verb();
Verb generate_verb();
Verb data_verb();
Verb gradcheck_verb();
Verb bench_verb();
Verb config_verb();
Verb info_verb();
Verb explain_verb();
Verb lab_verb();

// The list, as `qkv --help` shows it.
inline constexpr Verb (*kVerbs[])() = {train_verb,     eval_verb,  generate_verb, data_verb,
                                       gradcheck_verb, bench_verb, config_verb,   info_verb,
                                       explain_verb,   lab_verb};

}  // namespace qkv
