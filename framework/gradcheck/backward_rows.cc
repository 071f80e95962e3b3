#include "framework/gradcheck/backward_rows.h"

#include <algorithm>
#include <cmath>

#include "framework/gradcheck/conditioning.h"
#include "framework/graph/op.h"

namespace qkv {
namespace {

constexpr size_t kMaxRounded = 1024;  // derivatives, each with a backward of its own

std::vector<double> scales_of(const Probe& probe, size_t input) {
  const ProbeLine line(probe, input);
  std::vector<double> scales;
  for (int64_t e = 0; e < probe.input(input).size(); ++e) scales.push_back(line.scale_of(e));
  return scales;
}

Tensor one_at(const Shape& shape, size_t place, double one = 1.0) {
  Array result = Array::full(shape, DType::f64, 0.0);
  result.mutable_data<double>()[place] = one;
  return Tensor(result);
}

}  // namespace

BackwardRows::BackwardRows(const Probe& probe, bool each_output, std::span<const int64_t> pieces,
                           const RandomStream& stream)
    : probe_(probe),
      recorded_(probe.function(), probe.inputs()),
      cotangent_(random_like(Tensor(probe.value()), stream.derive("cotangent"))),
      weights_(cotangent_.to_vector()),
      rows_(each_output, weights_, pieces),
      rounding_(rows_.size()),
      gradients_(recorded_.gradients(cotangent_, rounding_.back())) {
  take_rows(stream.derive("rows"));
}

// The cotangents of single outputs are random numbers and not 1, so that a backward that is not
// linear in them is noticed.
void BackwardRows::take_rows(RandomStream stream) {
  const size_t count = rows_.size();
  std::vector<std::vector<double>> scales(probe_.size());
  inputs_.resize(probe_.size());
  for (size_t i = 0; i < probe_.size(); ++i) {
    if (!is_floating(probe_.input(i).dtype())) continue;
    scales[i] = scales_of(probe_, i);
    inputs_[i].rows_each = count;
    inputs_[i].depends = gradients_[i].defined();
    inputs_[i].largest_effect.resize(count);
    inputs_[i].rows.resize(scales[i].size() * count);
  }
  const auto store = [&](const std::vector<Tensor>& gradients, size_t row, double divisor) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const double* g = gradients[i].array().data<double>();
      double *out = inputs_[i].rows.data() + row, &largest = inputs_[i].largest_effect[row];
      for (int64_t e = 0, size = gradients[i].size(); e < size; ++e) {
        out[e * count] = g[e] / divisor;
        const double effect = std::abs(g[e] / divisor) * scales[i][e];
        if (std::isfinite(effect)) largest = std::max(largest, effect);
      }
    }
  };
  for (size_t row = 0; row + 1 < count; ++row) {
    const double size = (stream.below(2) == 0 ? 1.0 : -1.0) * (0.5 + stream.uniform());
    store(recorded_.gradients(one_at(cotangent_.shape(), row, size), rounding_[row]), row, size);
    rounding_[row].worst /= std::abs(size);
    rounding_[row].typical /= std::abs(size);
  }
  store(gradients_, count - 1, 1.0);
}

void BackwardRows::add_what_recording_changes(std::span<const int64_t> pieces) {
  const std::vector<double> y = Tensor(probe_.value()).to_vector(),
                            recorded = recorded_.output().to_vector();
  const auto add = [](double noise, GraphRounding& rounding) {
    rounding.worst += noise, rounding.typical += noise;
  };
  size_t row = 0;
  for (const int64_t piece : pieces) {
    const size_t end = row + static_cast<size_t>(piece);
    double largest_change = 0.0;
    for (size_t k = row; k < end; ++k) {
      const double changed = std::abs(y[k] - recorded[k]);
      largest_change = std::max(largest_change, changed);
      add(std::abs(weights_[k]) * changed, rounding_.back());
    }
    for (; row < end; ++row) {
      if (rows_.each_output()) add(largest_change, rounding_[row]);
    }
  }
}

// As the rounding of x does, or less: as far as it moves the composed formulas away, and as far as
// the roundings on the way do. (x - 1 is exact near 1, however much of x cancels.)
void BackwardRows::take_spread(size_t input, const RandomStream& stream) {
  const auto by_backward = [&](std::span<const Tensor> x) {
    return rows_by(Recorded(probe_.function(), x), input);
  };
  const std::vector<double> by_x = spread_of(by_backward, probe_.inputs(), stream);
  const std::vector<double>&rows = inputs_[input].rows, rounded = roundings_of(input);
  const ComposedOnly composed_only;
  const std::vector<double> composed = by_backward(probe_.inputs());
  double share = 0.0;
  for (size_t k = 0; k < rows.size(); ++k) {
    const double apart = std::abs(rows[k] - composed[k]);
    if (apart > 0.0 && by_x[k] > 0.0) share = std::max(share, apart / by_x[k]);
  }
  std::vector<double>& spread = inputs_[input].spread;
  spread.resize(rows.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    spread[k] = std::min(by_x[k], std::max(share * by_x[k], rounded[k]));
  }
}

// What roundings on the way do to InputGradient::rows, where these are few; else zeros.
std::vector<double> BackwardRows::roundings_of(size_t input) const {
  const size_t count = rows_.size();
  const int64_t size = probe_.input(input).size();
  std::vector<double> roundings(static_cast<size_t>(size) * count);
  if (roundings.size() > kMaxRounded) return roundings;
  for (size_t row = 0; row < count; ++row) {
    const RecordedGradients gradients(probe_.function(), probe_.inputs(), cotangent_of(row));
    for (int64_t e = 0; e < size; ++e) {
      roundings[e * count + row] =
          gradients.rounding(input, one_at({size}, static_cast<size_t>(e))).typical;
    }
  }
  return roundings;
}

Tensor BackwardRows::cotangent_of(size_t row) const {
  return row + 1 == rows_.size() ? cotangent_ : one_at(cotangent_.shape(), row);
}

// As InputGradient::rows.
std::vector<double> BackwardRows::rows_by(const Recorded& recorded, size_t input) const {
  const size_t count = rows_.size();
  std::vector<double> result(static_cast<size_t>(recorded.leaf(input).size()) * count);
  for (size_t row = 0; row < count; ++row) {
    const Tensor g = recorded.gradients(cotangent_of(row))[input];
    if (!g.defined()) continue;
    const double* values = g.array().data<double>();
    for (int64_t e = 0, size = g.size(); e < size; ++e) result[e * count + row] = values[e];
  }
  return result;
}

bool BackwardRows::is_linear(size_t input) const {
  constexpr double kRounding = 1e-12;
  if (!rows_.each_output()) return true;
  const InputGradient& gradient = inputs_[input];
  for (size_t e = 0; e * gradient.rows_each < gradient.rows.size(); ++e) {
    const std::span<const double> rows = gradient.of(static_cast<int64_t>(e));
    double sum = 0.0, size = std::abs(rows.back());
    for (size_t k = 0; k < weights_.size(); ++k) {
      sum += weights_[k] * rows[k], size += std::abs(weights_[k] * rows[k]);
    }
    if (std::abs(sum - rows.back()) > kRounding * size) return false;
  }
  return true;
}

}  // namespace qkv
