#pragma once

// What the file of an op is made of.
#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/modes.h"
#include "framework/graph/node.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/saved.h"
#include "framework/kernels/elementwise.h"
#include "framework/ops/check.h"
#include "framework/ops/examples.h"
#include "framework/ops/ops.h"
#include "framework/ops/rules.h"
