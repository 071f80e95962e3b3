#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/runs/replay/step_recording.h"

namespace qkv {

// The numbers of an array at a glance: least, greatest and norm of those that are finite.
struct NumberRange {
  double least = 0, greatest = 0, norm = 0;
  int64_t not_finite = 0;
};
NumberRange range_of(const Array& array);

// An element of an operand that the bad element was computed from.
struct FedElement {
  int64_t element = 0;
  double value = 0;
};

struct BadOperand {
  StepOperand operand;
  NumberRange range;
  // How many of its elements feed the bad one, those by which it has a derivative; none: unknown.
  std::optional<int64_t> feeding = {};
  std::vector<FedElement> fed = {};  // the few that matter: not finite first, then the largest
};

// The first number of a step that is not finite.
struct FirstBad {
  size_t entry = 0;  // by its place in the recording
  int64_t element = 0;
  double value = 0;
  int64_t not_finite = 0;  // of the same array
  std::vector<BadOperand> operands = {};
  std::optional<double> in_f64 = {};  // the same element, computed in f64 from the same operands
  std::string cause = {};             // sentences; "": none can be derived
};

std::string number_text(double x);                            // "1.234e+20", "nan"
std::string place_text(const Shape& shape, int64_t element);  // "[1,0,3]": it stays on one line

// The recording must hold a number that is not finite.
FirstBad find_first_bad(const StepRecording& recording);

}  // namespace qkv
