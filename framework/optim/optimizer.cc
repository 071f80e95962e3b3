#include "framework/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/middleware.h"
#include "framework/kernels/elementwise/vector_math.h"
#include "framework/kernels/kernels.h"

namespace qkv {
namespace {

template <class T>
T norm_of(std::span<const Tensor> gradients) {
  const ObservedSection section("gradient norm");
  T sum = 0;
  for (const Tensor& g : gradients) sum += static_cast<T>(kernels::sum_of_squares(g.array()));
  return kernels::math::sqrt(sum);
}

template <class T>
T clip_scale_of(T norm, double max_norm) {
  return max_norm == 0 ? T(1) : std::min(T(1), max_norm / (norm + 1e-6));
}

}  // namespace

ParameterGroup group_of(const NamedParameter& parameter) {
  const std::string& name = parameter.name;
  if (name == "head.weight" || name.ends_with("embedding.weight")) {
    return ParameterGroup::kEmbedding;
  }
  const bool is_table = name.ends_with("scores") || name.ends_with("distance_bias");
  return parameter.tensor.rank() < 2 || is_table ? ParameterGroup::kOther : ParameterGroup::kMatrix;
}

Optimizer::Optimizer(const OptimizerOptions& options, std::vector<NamedParameter> parameters,
                     std::vector<std::string> state_names)
    : options_(options), parameters_(std::move(parameters)), state_names_(std::move(state_names)) {
  for (const NamedParameter& p : parameters_) {
    std::vector<Array>& arrays = states_.emplace_back();
    for (size_t i = 0; i < state_names_.size(); ++i) {
      arrays.push_back(Array::full(p.tensor.shape(), p.tensor.dtype(), 0.0));
    }
  }
}

void Optimizer::step(std::span<const Tensor> gradients, double learning_rate,
                     double gradient_scale) {
  step_by(gradients, {learning_rate, gradient_scale});
}

void Optimizer::exact_step(std::span<const Tensor> gradients, const Tensor& learning_rate,
                           double max_norm) {
  const Float128 norm = norm_of<Float128>(gradients);
  step_by(gradients, {*learning_rate.array().data<Float128>(), clip_scale_of(norm, max_norm)});
}

void Optimizer::step_by(std::span<const Tensor> gradients, const kernels::StepFactors& factors) {
  const ObservedSection section("optimizer");
  if (gradients.size() != parameters_.size()) {
    fail(absl::StrCat("optimizer: ", gradients.size(), " gradients for ", parameters_.size(),
                      " parameters"));
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& gradient = gradients[i];
    const auto& [name, parameter] = parameters_[i];
    if (gradient.defined() && gradient.shape() == parameter.shape() &&
        gradient.dtype() == parameter.dtype()) {
      continue;
    }
    fail(absl::StrCat("optimizer: gradient ", gradient.describe(), " for ", name, " ",
                      parameter.describe()));
  }
  ++steps_;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    kernels::StepFactors own = factors;
    const ParameterGroup group = group_of(parameters_[i]);
    if (group == ParameterGroup::kEmbedding) own.learning_rate *= options_.embedding_rate;
    if (group == ParameterGroup::kMatrix) own.learning_rate *= options_.matrix_rate;
    update(parameters_[i], gradients[i].array(), states_[i], own);
  }
  const double share =
      (1 - average_decay_) / (1 - std::pow(average_decay_, static_cast<double>(steps_)));
  for (size_t i = 0; i < averages_.size(); ++i) {
    Array average = averages_[i].array();
    kernels::average(share, parameters_[i].tensor.array(), average);
  }
}

void Optimizer::keep_averages(double decay) {
  if (!(decay > 0 && decay < 1)) {
    fail(absl::StrCat("optimizer: the decay of an average must be above 0 and below 1, not ",
                      decay));
  }
  average_decay_ = decay;
  averages_.clear();
  for (const NamedParameter& p : parameters_) averages_.emplace_back(p.tensor.array().copy());
}

std::vector<NamedState> Optimizer::state() const {
  std::vector<NamedState> result;
  for (size_t k = 0; k < state_names_.size(); ++k) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      result.push_back({absl::StrCat(state_names_[k], ".", parameters_[i].name), states_[i][k]});
    }
  }
  if (averages_.empty()) return result;
  for (const auto& [name, tensor] : parameters_) {
    result.push_back({absl::StrCat("weight.", name), tensor.array()});
  }
  return result;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<NamedParameter> parameters) {
  switch (options.kind) {
    case OptimizerKind::kSgd:
      return make_sgd(options, std::move(parameters));
    case OptimizerKind::kMuon:
      return make_muon(options, std::move(parameters));
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      break;
  }
  return make_adam(options, std::move(parameters));
}

double global_norm(std::span<const Tensor> gradients) { return norm_of<double>(gradients); }

double clip_scale(double norm, double max_norm) { return clip_scale_of(norm, max_norm); }

}  // namespace qkv
