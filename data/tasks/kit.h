#pragma once

// What the file of a task is made of.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "data/tasks/symbols.h"
#include "data/tasks/tasks.h"
