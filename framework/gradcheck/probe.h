#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/autograd/tensor_function.h"
#include "framework/core/array.h"
#include "framework/core/random.h"

namespace qkv {

Tensor random_like(const Tensor& x, RandomStream stream);  // normal

// f at points around its inputs, with nothing recorded.
class Probe {
 public:
  Probe(const TensorFunction& f, std::span<const Tensor> inputs);

  Array value() const { return value_; }  // f at its inputs
  const TensorFunction& function() const { return f_; }
  std::span<const Tensor> inputs() const { return points_; }
  const Tensor& input(size_t i) const { return points_[i]; }
  size_t size() const { return points_.size(); }

 private:
  friend class ProbeLine;

  Array evaluate(std::span<const Tensor> points) const;

  const TensorFunction& f_;
  std::vector<Tensor> points_;
  Array value_;
};

// f along lines in one of the inputs. A thread needs its own.
class ProbeLine {
 public:
  ProbeLine(const Probe& probe, size_t input);

  double scale_of(int64_t element) const;  // the power of two above |x| and 1
  double x_of(int64_t element) const { return original_.data<double>()[element]; }
  Array along_element(int64_t element, double& t);           // f(x + t e), and t as it was rounded
  Array along(std::span<const double> direction, double t);  // f(x + t u)

 private:
  const Probe& probe_;
  std::vector<Tensor> points_;
  Array original_, moved_;
};

}  // namespace qkv
