#pragma once

// What every lab is made of.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "apps/labs/labs.h"
#include "apps/labs/numbers.h"
#include "apps/labs/samples.h"
#include "apps/labs/texts.h"
#include "apps/report/statistics.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
