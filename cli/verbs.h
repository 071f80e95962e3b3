#pragma once

#include <vector>

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

// All of them, as `qkv --help` lists them.
std::vector<Verb> verbs();

}  // namespace qkv
