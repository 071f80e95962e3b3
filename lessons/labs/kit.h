#pragma once

// What every lab is made of.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "apps/report/statistics.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/samples.h"
#include "lessons/labs/texts.h"
#include "train/bench/growth.h"
