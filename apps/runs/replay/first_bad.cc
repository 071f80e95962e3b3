#include "apps/runs/replay/first_bad.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/shape.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "train/folder/checkpoint.h"

namespace qkv {
namespace {

constexpr size_t kShown = 4;  // elements of an operand

// Ordinary numbers, all different, at which no op has a kink or a derivative of 0 by chance.
Tensor ordinary_like(const Tensor& x) {
  std::vector<double> numbers(static_cast<size_t>(x.size()));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0.5 + 0.25 * std::fmod(static_cast<double>(i) * 0.6180339887498949, 1.0);
  }
  return parameter(Array::of(x.shape(), x.dtype(), numbers));
}

std::vector<int64_t> places_of(const Tensor& gradient) {
  std::vector<int64_t> places;
  const std::vector<double> numbers = gradient.to_vector();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != 0) places.push_back(static_cast<int64_t>(i));
  }
  return places;
}

// Which elements of each operand an element of the result depends on: those by which it has a
// derivative, at ordinary numbers in their place. So it needs no knowledge of any op.
std::vector<std::optional<std::vector<int64_t>>> feeding(const StepEntry& entry, int64_t element) {
  std::vector<std::optional<std::vector<int64_t>>> result(entry.operands.size());
  if (entry.part == StepPart::kUpdate) {  // element by element
    for (auto& places : result) places = {element};
  }
  if (!entry.again) return result;
  std::vector<Tensor> inputs;
  for (const StepOperand& operand : entry.operands) {
    const Tensor& x = operand.tensor;
    inputs.push_back(is_floating(x.dtype()) ? ordinary_like(x) : x);
  }
  const RecordGradients record(true);
  const Tensor y = entry.again(inputs);
  if (!y.requires_grad()) return result;
  std::vector<double> hot(static_cast<size_t>(y.size()), 0.0);
  hot[element] = 1;
  const Gradients gradients =
      backward(y, {.cotangent = Tensor(Array::of(y.shape(), y.dtype(), hot))});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (gradients.contains(inputs[i])) result[i] = places_of(gradients[inputs[i]]);
  }
  return result;
}

BadOperand look_at(const StepOperand& operand, const std::optional<std::vector<int64_t>>& places) {
  BadOperand bad = {.operand = operand, .range = range_of(operand.tensor.array())};
  if (!places) return bad;
  bad.feeding = std::ssize(*places);
  const std::vector<double> numbers = operand.tensor.to_vector();
  for (const int64_t place : *places) {
    bad.fed.push_back({place, numbers[place]});
  }
  const auto weight = [](const FedElement& each) {
    return std::isfinite(each.value) ? std::abs(each.value)
                                     : std::numeric_limits<double>::infinity();
  };
  std::ranges::stable_sort(bad.fed, std::greater(), weight);
  if (bad.fed.size() > kShown) bad.fed.resize(kShown);
  return bad;
}

std::optional<double> in_f64(const StepEntry& entry, int64_t element) {
  const bool is_wider = entry.output.dtype() != DType::f64;
  if (!is_wider || (!entry.again && !entry.exact)) return std::nullopt;
  const auto compute = [&] {
    if (entry.exact) return entry.exact();
    std::vector<Tensor> inputs;
    for (const StepOperand& operand : entry.operands) {
      const Tensor& x = operand.tensor;
      inputs.push_back(is_floating(x.dtype()) ? cast(x, DType::f64) : x);
    }
    return entry.again(inputs);
  };
  try {
    const Tensor y = compute();
    if (y.dtype() != DType::f64) return std::nullopt;
    return y.to_vector()[element];
  } catch (const Error&) {  // an op that takes no f64 where it took bf16
    return std::nullopt;
  }
}

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::numeric_limits<float>::max();
    case DType::bf16:
      return std::ldexp(255, 120);
    default:
      return std::numeric_limits<double>::max();
  }
}

// A number at which the op has no finite value, in a sentence; "": there is none.
std::string outside_of_domain(const StepEntry& entry, const FirstBad& bad) {
  const auto fed = [&](size_t operand) -> std::optional<double> {
    if (operand >= bad.operands.size() || bad.operands[operand].fed.empty()) return std::nullopt;
    return bad.operands[operand].fed.front().value;
  };
  const std::optional<double> x = fed(0), y = fed(1);
  if (entry.op == "div" && y == 0.0) return absl::StrFormat("It divides %g by 0. ", x.value_or(0));
  if (entry.op == "log" && x && *x <= 0) {
    return absl::StrFormat("It takes the logarithm of %g. ", *x);
  }
  if (entry.op == "sqrt" && x && *x < 0) return absl::StrFormat("It takes the root of %g. ", *x);
  if (entry.op == "rsqrt" && x && *x <= 0) {
    return absl::StrFormat("It divides by the root of %g. ", *x);
  }
  if (entry.op == "exp" && x && std::isfinite(*x)) {
    return absl::StrFormat(
        "It takes the exponential of %g; the largest that %s holds is that of "
        "%.3g. ",
        *x, std::string(dtype_name(entry.output.dtype())),
        std::log(largest_of(entry.output.dtype())));
  }
  return "";
}

std::string overflow(const StepEntry& entry, double exact) {
  const std::string type(dtype_name(entry.output.dtype()));
  const double largest = largest_of(entry.output.dtype());
  if (!std::isfinite(exact)) return absl::StrCat("It is ", number_text(exact), " in f64, too. ");
  if (std::abs(exact) > largest) {
    return absl::StrFormat("In f64 it is %.3g, beyond the largest number of %s, %.3g. ", exact,
                           type, largest);
  }
  return absl::StrFormat(
      "In f64 it is %.3g, so a number on the way to it is beyond the largest of "
      "%s, %.3g. ",
      exact, type, largest);
}

std::string cause_of(const StepEntry& entry, const FirstBad& bad) {
  for (const BadOperand& each : bad.operands) {
    if (each.fed.empty() || std::isfinite(each.fed.front().value) || each.operand.is_masked) {
      continue;
    }
    return absl::StrCat(each.operand.name, " itself holds ", number_text(each.fed.front().value),
                        " at ", place_text(each.operand.tensor.shape(), each.fed.front().element),
                        "; the op passes it on. ");
  }
  std::string text = outside_of_domain(entry, bad);
  if (text.empty() && bad.in_f64) text = overflow(entry, *bad.in_f64);
  if (entry.part == StepPart::kNorm) {
    text = "Each gradient is finite, but the sum of their squares is not. ";
  }
  const BadOperand* largest = nullptr;
  const auto size = [](const BadOperand& each) {
    return std::max(std::abs(each.range.least), std::abs(each.range.greatest));
  };
  for (const BadOperand& each : bad.operands) {
    if (!each.operand.is_masked && (!largest || size(each) > size(*largest))) largest = &each;
  }
  if (largest && size(*largest) > 1e3) {
    absl::StrAppendFormat(&text, "The numbers of %s come up to %.3g. ", largest->operand.name,
                          size(*largest));
  }
  return text;
}

}  // namespace

std::string number_text(double x) {
  return std::isnan(x) ? "nan" : absl::StrFormat("%.4g", x);  // without a sign
}

std::string place_text(const Shape& shape, int64_t element) {
  return absl::StrCat("[", absl::StrJoin(index_of(shape, element), ","), "]");
}

NumberRange range_of(const Array& array) {
  NumberRange range;
  bool is_first = true;
  const std::vector<double> numbers = array.to_vector();
  for (const double x : numbers) {
    if (!std::isfinite(x)) {
      ++range.not_finite;
      continue;
    }
    range.least = is_first ? x : std::min(range.least, x);
    range.greatest = is_first ? x : std::max(range.greatest, x);
    is_first = false;
  }
  const double largest = std::max(std::abs(range.least), std::abs(range.greatest));
  if (largest == 0) return range;
  double squares = 0;  // of shares, so that none overflows
  for (const double x : numbers) {
    if (std::isfinite(x)) squares += x / largest * (x / largest);
  }
  range.norm = largest * std::sqrt(squares);
  return range;
}

FirstBad find_first_bad(const StepRecording& recording) {
  FirstBad bad = {.entry = recording.first_bad()};
  const StepEntry& entry = recording.entries[bad.entry];
  const NotFinite numbers = not_finite_in(entry.output.array());
  bad.element = numbers.first;
  bad.value = entry.output.to_vector()[bad.element];
  bad.not_finite = numbers.count;
  const auto places = feeding(entry, bad.element);
  for (size_t i = 0; i < entry.operands.size(); ++i) {
    bad.operands.push_back(look_at(entry.operands[i], places[i]));
  }
  bad.in_f64 = in_f64(entry, bad.element);
  bad.cause = cause_of(entry, bad);
  return bad;
}

}  // namespace qkv
