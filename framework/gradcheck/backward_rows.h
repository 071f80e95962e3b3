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
  std::vector<double> spread;  // of each of them by rounding (see conditioning.h); of none: unknown

  std::span<const double> of(int64_t element) const { return of(rows, element); }
  // Of none where it is not known.
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
  // Of each output too, or of the dot product with a random cotangent alone; `pieces` as in Rows.
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
  // Finds out how far rounding moves what backward gives for an input.
  void take_spread(size_t input, const RandomStream& stream);
  // Where f is itself gradients: those that are recorded have no fused ops, so that each of both is
  // rounded in its own way. (That they are the same is for the first order to check.)
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
