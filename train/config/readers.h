#pragma once

#include <string>
#include <vector>

#include "train/config/options.h"

namespace qkv {

// One value of a choice, and the names of the fields that are read when it is taken.
struct Reader {
  std::string name;               // "addition"
  std::vector<std::string> keys;  // "digits", or of another table "attention.window"
};

// A field that decides which other fields are read: those in the list of its value, and those in no
// list.
struct Choice {
  std::string table;            // "data"
  std::string field;            // "task"
  std::string taken;            // "reverse"
  std::vector<Reader> readers;  // every value that it can have
};

// The task, the kind of the model, its mixer, the kind of the optimizer, the schedule.
std::vector<Choice> choices(const Config& config);

}  // namespace qkv
