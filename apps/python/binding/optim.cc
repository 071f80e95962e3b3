#include <array>
#include <map>
#include <memory>

#include "apps/python/binding/arrays.h"
#include "apps/python/binding/autograd.h"
#include "apps/python/binding/binding.h"
#include "apps/python/binding/config_of_dict.h"
#include "framework/core/text/names.h"
#include "framework/graph/node.h"
#include "framework/optim/optimizer.h"

namespace qkv::python {
namespace {

// An optimizer with what Python has beside it: the parameters, whose gradients it looks up, and the
// learning rate of steps that are given none.
struct PythonOptimizer {
  std::vector<NamedParameter> parameters;
  double learning_rate;
  std::unique_ptr<Optimizer> optimizer;
};

std::vector<NamedParameter> named(py::handle parameters) {
  std::vector<NamedParameter> result;
  if (py::isinstance<py::dict>(parameters)) {
    for (const auto& [name, tensor] : parameters.cast<py::dict>()) {
      result.push_back({py::str(name), tensor_of(tensor)});
    }
  } else {
    for (const Tensor& tensor : tensors_of(parameters)) {
      result.push_back({std::to_string(result.size()), tensor});
    }
  }
  std::map<std::shared_ptr<Node>, std::string> names;
  for (const auto& [name, tensor] : result) {
    if (!tensor.requires_grad() || !tensor.node()->is_leaf()) {
      fail("optimizer: " + name + " is not a parameter: a leaf with requires_grad is one");
    }
    const auto [first, is_new] = names.emplace(tensor.node(), name);
    if (!is_new) fail("optimizer: " + first->second + " and " + name + " are the same parameter");
  }
  return result;
}

// The options are those of a config's [optimizer], which checks them.
PythonOptimizer made(py::handle parameters, const char* kind, const py::dict& given) {
  given["kind"] = kind;
  const OptimizerOptions options = config_of_dict(py::dict("optimizer"_a = given)).config.optimizer;
  std::vector<NamedParameter> its_own = named(parameters);
  return {.parameters = its_own,
          .learning_rate = options.learning_rate,
          .optimizer = make_optimizer(options, its_own)};
}

std::vector<Tensor> gradients_for(const std::vector<NamedParameter>& parameters,
                                  py::handle gradients) {
  if (!py::isinstance<PythonGradients>(gradients)) return tensors_of(gradients);
  const auto& found = gradients.cast<const PythonGradients&>().gradients;
  std::vector<Tensor> result;
  for (const auto& [name, tensor] : parameters) {
    if (!found.contains(tensor)) fail("optimizer: there is no gradient of " + name);
    result.push_back(found[tensor]);
  }
  return result;
}

double step(PythonOptimizer& o, py::handle gradients, std::optional<double> learning_rate,
            double grad_clip) {
  const double rate = learning_rate.value_or(o.learning_rate);
  if (!(rate >= 0 && grad_clip >= 0)) {
    fail("optimizer: learning_rate and grad_clip must be numbers from 0");
  }
  const std::vector<Tensor> in_order = gradients_for(o.parameters, gradients);
  const Computing computing;
  const double norm = global_norm(in_order);
  o.optimizer->step(in_order, rate, clip_scale(norm, grad_clip));
  return norm;
}

// The momentum of sgd, the moments of adam: by name,
// "first_moment.blocks.0.attention.query.weight".
py::dict state_of(const PythonOptimizer& o) {
  py::dict state;
  for (const NamedState& s : o.optimizer->state()) state[py::str(s.name)] = view_of(s.array);
  return state;
}

}  // namespace

void bind_optim(py::module_& m) {
  py::class_<PythonOptimizer>(m, "Optimizer", documentation("Optimizer"))
      .def("step", &step, "gradients"_a, "learning_rate"_a = py::none(), "grad_clip"_a = 0.0,
           "Changes the parameters by their gradients, which backward gave, or which come in the "
           "order of\nthe parameters. Where grad_clip is not 0, the gradient's norm is at most "
           "that. Returns the\nnorm before.")
      .def_property_readonly("steps", [](const PythonOptimizer& o) { return o.optimizer->steps(); })
      .def_property_readonly("state", &state_of)
      .def_readwrite("learning_rate", &PythonOptimizer::learning_rate);

  const OptimizerOptions usual;
  m.def(
      "sgd",
      [](py::handle parameters, double learning_rate, double momentum, double weight_decay) {
        return made(parameters, "sgd",
                    py::dict("learning_rate"_a = learning_rate, "momentum"_a = momentum,
                             "weight_decay"_a = weight_decay));
      },
      "parameters"_a, "learning_rate"_a = usual.learning_rate, "momentum"_a = 0.0,
      "weight_decay"_a = 0.0, documentation("OptimizerOptions"));
  for (const auto& [name, decay] :
       {std::pair{"adam", 0.0}, {"adamw", usual.weight_decay}, {"muon", usual.weight_decay}}) {
    m.def(
        name,
        [name = name](py::handle parameters, double learning_rate, std::array<double, 2> betas,
                      double epsilon, double weight_decay) {
          return made(parameters, name,
                      py::dict("learning_rate"_a = learning_rate, "betas"_a = betas,
                               "epsilon"_a = epsilon, "weight_decay"_a = weight_decay));
        },
        "parameters"_a, "learning_rate"_a = usual.learning_rate, "betas"_a = usual.betas,
        "epsilon"_a = usual.epsilon, "weight_decay"_a = decay, documentation("OptimizerOptions"));
  }
  m.def(
      "scheduled_learning_rate",
      [](int64_t step, int64_t total_steps, double learning_rate, const std::string& schedule,
         int64_t warmup_steps, double min_learning_rate, int64_t decay_steps) {
        const std::optional<Schedule> named_so = value_of<Schedule>(schedule);
        if (!named_so) fail("scheduled_learning_rate: there is no schedule \"" + schedule + "\"");
        return scheduled_learning_rate({.learning_rate = learning_rate,
                                        .schedule = *named_so,
                                        .warmup_steps = warmup_steps,
                                        .decay_steps = decay_steps,
                                        .min_learning_rate = min_learning_rate},
                                       step, total_steps);
      },
      "step"_a, "total_steps"_a, "learning_rate"_a = usual.learning_rate, "schedule"_a = "cosine",
      "warmup_steps"_a = 0, "min_learning_rate"_a = 0.0, "decay_steps"_a = 0,
      documentation("scheduled_learning_rate"));
  m.def(
      "global_norm", [](py::handle gradients) { return global_norm(tensors_of(gradients)); },
      "gradients"_a, documentation("global_norm"));
  m.def("clip_scale", &clip_scale, "norm"_a, "max_norm"_a, documentation("clip_scale"));
}

}  // namespace qkv::python
