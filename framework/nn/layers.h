#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "framework/nn/forward_context.h"
#include "framework/nn/initializer.h"
#include "framework/nn/layer_options.h"
#include "framework/nn/module.h"
#include "framework/ops/ops.h"

// Layers that take each position by itself.
namespace qkv {

// y = x weightᵀ + bias        x [..., in_features] -> y [..., out_features]
struct Linear {
  Tensor weight;  // [out_features, in_features], as in PyTorch
  Tensor bias;    // [out_features]; undefined: none
  // Where products are bf16, the rounded weight; nullptr: they are not.
  std::shared_ptr<RoundedWeight> rounded_weight;
  // Whether y is bf16 as well, where products are: for a y that goes into the next product.
  bool rounds_result = false;

  Linear() = default;
  // The weight is normal with `standard_deviation`, the bias zero; products as `init` says.
  Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
         double standard_deviation, bool rounds = false);

  Tensor operator()(const Tensor& x) const { return (*this)(x, weight); }
  // With another's weight: a head that is tied to the token embedding.
  Tensor operator()(const Tensor& x, const Tensor& other_weight) const;
  void visit(Visitor& v);
};

// nullptr where the products of the layers that `init` makes are not bf16.
std::shared_ptr<RoundedWeight> make_rounded_weight(const Initializer& init);

// y = x
struct Identity {
  Tensor operator()(const Tensor& x) const { return x; }
  void visit(Visitor&) {}
};

// A map of its own for each of H parts of x, side by side:
//   y_h = x_h weight_hᵀ + bias_h        x [..., H D] -> y [..., H E]
struct PartsLinear {
  Tensor weight;  // [H, E, D]
  Tensor bias;    // [H E]; undefined: none

  PartsLinear() = default;
  // C numbers in, C numbers out.
  PartsLinear(Initializer& init, int64_t parts, int64_t features, bool with_bias,
              double standard_deviation);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

// Any of them.
struct Projection {
  std::variant<Identity, Linear, PartsLinear> kind;

  Projection() = default;
  template <class Map>
  // NOLINTNEXTLINE(google-explicit-constructor): it is one of them
  Projection(Map map) : kind(std::move(map)) {}

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

// A learned vector for each of `count` tokens or positions.
struct Embedding {
  Tensor weight;  // [count, width]

  Embedding() = default;
  Embedding(Initializer& init, int64_t count, int64_t width, double standard_deviation);

  Tensor operator()(const Tensor& index) const;  // i64 [...] -> [..., width]
  void visit(Visitor& v);
};

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over the last axis.
struct LayerNorm {
  Tensor weight;  // [C], starts at 1
  Tensor bias;    // [C], starts at 0; undefined: none
  double epsilon = 1e-5;

  LayerNorm() = default;
  LayerNorm(Initializer& init, int64_t width, bool with_bias);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

// y = x / sqrt(mean(x²) + epsilon) * weight, over the last axis.
struct RmsNorm {
  Tensor weight;  // [C], starts at 1
  double epsilon = 1e-5;

  RmsNorm() = default;
  RmsNorm(Initializer& init, int64_t width);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

// Either of them.
struct Norm {
  std::variant<LayerNorm, RmsNorm> kind;

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

// While training: zero with probability p, else x / (1 - p). Otherwise x itself.
struct Dropout {
  double p = 0.0;

  bool is_active(const ForwardContext& context) const { return context.training && p != 0.0; }
  Tensor operator()(const Tensor& x, ForwardContext& context) const;
};

Tensor activate(Activation activation, const Tensor& x);

// y = down(activation(up(x)))            x, y [..., C]; between them [..., F]
// y = down(silu(gate(x)) * up(x))        swiglu, Shazeer 2020
struct FeedForward {
  Child<"up", Linear> up;      // C -> F
  Child<"down", Linear> down;  // F -> C
  Activation activation = Activation::kGelu;
  Dropout dropout;                  // of y
  Child<"gate", Linear> gate = {};  // C -> F, of swiglu alone

  Tensor operator()(const Tensor& x, ForwardContext& context) const;
  void visit(Visitor& v);
};

}  // namespace qkv
