#pragma once

// The parts of a verb's file.
#include "absl/strings/str_cat.h"
#include "cli/show.h"
#include "cli/verb.h"
#include "framework/core/text/mistakes.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"
