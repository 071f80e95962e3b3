#pragma once

// What the file of a verb is made of.
#include "absl/strings/str_cat.h"
#include "cli/show.h"
#include "cli/verb.h"
#include "framework/core/mistakes.h"
#include "framework/core/terminal.h"
#include "framework/core/utf8.h"
