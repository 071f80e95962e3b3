#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/core/random.h"
#include "framework/gradcheck/analytic.h"
#include "framework/gradcheck/differences.h"
#include "framework/gradcheck/probe.h"

namespace qkv {

// What backward gives for one input.
struct InputGradient {
  bool depends = false;        // the graph holds the input; else the rest are zeros
  std::vector<double> rows;    // [elements of the input, rows]
  std::vector<double> spread;  // of each number, by rounding (see conditioning.h); empty: unknown

  std::span<const double> of(int64_t element) const { return of(rows, element); }
  // Empty where it is unknown.
  std::span<const double> spread_of(int64_t element) const {
    return spread.empty() ? std::span<const double>() : of(spread, element);
  }
  size_t rows_each = 1;
  std::vector<double> largest_effect;  // of each row: |derivative| x scale, over all elements

 private:
  std::span<const double> of(const std::vector<double>& numbers, int64_t element) const {
    return {numbers.data() + static_cast<size_t>(element) * rows_each, rows_each};
  }
};

// The derivatives of the rows of f by every input, each row by a backward of its own.
class BackwardRows {
 public:
  // `each_output`: the rows are all outputs and their dot product with a random cotangent; else
  // only the dot product. `pieces` as in Rows.
  BackwardRows(const Probe& probe, bool each_output, std::span<const int64_t> pieces,
               const RandomStream& stream);

  const Probe& probe() const { return probe_; }
  const Rows& rows() const { return rows_; }
  const Recorded& recorded() const { return recorded_; }
  const Tensor& cotangent() const { return cotangent_; }
  std::span<const Tensor> gradients() const { return gradients_; }       // for the cotangent
  std::span<const GraphRounding> rounding() const { return rounding_; }  // of each row of y
  std::span<const InputGradient> inputs() const { return inputs_; }

  Tensor cotangent_of(size_t row) const;  // 1 for its output; the last row's is cotangent()
  // Whether the row of the dot product is the sum of the others, times the cotangent.
  bool is_linear(size_t input) const;
  // Measures how far rounding changes the gradient of an input.
  void take_spread(size_t input, const RandomStream& stream);
  // For an f that computes gradients: recorded gradients have no fused ops, so that they are
  // rounded differently from the fused ones. (The check of first order compares the two.)
  void add_what_recording_changes(std::span<const int64_t> pieces);

 private:
  void take_rows(RandomStream stream);
  std::vector<double> roundings_of(size_t input) const;
  std::vector<double> rows_by(const Recorded& recorded, size_t input) const;

  const Probe& probe_;
  Recorded recorded_;
  Tensor cotangent_;
  std::vector<double> weights_;  // the cotangent's
  Rows rows_;
  std::vector<GraphRounding> rounding_;
  std::vector<Tensor> gradients_;
  std::vector<InputGradient> inputs_;
};

}  // namespace qkv
