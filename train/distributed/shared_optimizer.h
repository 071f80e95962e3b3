#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/optim/optimizer.h"
#include "train/distributed/gradient_exchange.h"
#include "train/distributed/parameter_shares.h"
#include "train/distributed/ranks.h"

namespace qkv {

// An optimizer whose state the ranks share out: each updates the elements that it owns, and sends
// them to the others. Every function is called by all ranks.
class SharedOptimizer {
 public:
  // How an optimizer for some parameters is made.
  using Make = std::function<std::unique_ptr<Optimizer>(std::vector<NamedParameter>)>;

  // Takes over the state and the parameters that rank 0 has; `whole` is its optimizer of all
  // parameters, and nothing elsewhere. `parameters` must outlive it.
  SharedOptimizer(const std::vector<NamedParameter>& parameters, const Make& make, int64_t shards,
                  const Optimizer* whole, Ranks& ranks);

  // A step's gradients come through this, between begin() and sums().
  GradientExchange& exchange() { return exchange_; }

  // What all ranks know of a step once its gradients are added up.
  struct Sums {
    double loss = 0;              // of all shards, along their tree
    std::vector<double> squares;  // of the gradient of each parameter
    bool stop = false;            // whether a rank was asked to stop
  };
  Sums sums(std::span<const double> losses_of_own_shards, bool stop);
  void step(double learning_rate, double gradient_scale);
  int64_t steps() const { return optimizer_->steps(); }

  // Copies the state to `whole` on rank 0, and counts its steps.
  void gather_state(Optimizer* whole);
  // Copies the means of the weights to these tensors, on every rank.
  void gather_averages(std::span<const Tensor> averages);

 private:
  // Arrays of parameters, or of what this rank owns of them.
  using Arrays = std::vector<Array>;

  // By kind of state: its arrays.
  static std::vector<Arrays> states_of(const Optimizer& optimizer, size_t parameters);
  void share_state(const Optimizer* whole);
  void gather(const Arrays& own, Arrays whole);  // on every rank
  Array packed(const Arrays& whole, int rank) const;
  void unpack(const Array& packed, int rank, Arrays& whole) const;

  const std::vector<NamedParameter>& parameters_;
  const int64_t shards_;
  Ranks& ranks_;
  ParameterShares shares_;
  GradientExchange exchange_;
  std::vector<ParameterPart> parts_;      // that this rank owns
  std::vector<NamedParameter> weights_;   // a copy of each part
  std::unique_ptr<Optimizer> optimizer_;  // which updates the copies
  std::vector<Tensor> gradients_;         // of a step, by part
};

}  // namespace qkv
