#include "apps/exchange/onnx_layers.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {
namespace {

std::string path_of(const char* name) {
  const Scope scope(name);
  return Scope::current();
}

}  // namespace

OnnxLayers::OnnxLayers(const ModelOptions& options, const std::vector<NamedArray>& arrays,
                       bool has_past)
    : o_(options), has_past_(has_past) {
  const AttentionChoices& a = o_.attention;
  key_heads_ = a.num_key_value_heads > 0 ? a.num_key_value_heads : o_.num_heads;
  head_width_ = a.heads == Heads::kWide ? o_.d_model : o_.d_model / o_.num_heads;
  for (const NamedArray& named : arrays) parameters_.emplace(named.name, named.array);
}

bool OnnxLayers::has(const char* name) const { return parameters_.contains(path_of(name)); }

const Shape& OnnxLayers::shape_of(const char* name) const {
  return parameters_.at(path_of(name)).shape();
}

OnnxValue OnnxLayers::parameter(const char* name) {
  std::string path = path_of(name);
  if (used_.insert(path).second) graph_.parameter(path, parameters_.at(path));
  return path;
}

OnnxValue OnnxLayers::size(const OnnxValue& x, int64_t axis) {
  return op("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

OnnxValue OnnxLayers::transpose(const OnnxValue& x, const std::vector<int64_t>& axes) {
  return op("Transpose", {x}, {{"perm", axes}});
}

OnnxValue OnnxLayers::reshape(const OnnxValue& x, const std::vector<int64_t>& sizes) {
  return op("Reshape", {x, graph_.integers(sizes)});
}

OnnxValue OnnxLayers::slice(const OnnxValue& x, int64_t axis, const OnnxValue& begin,
                            const OnnxValue& end) {
  return op("Slice", {x, begin, end, graph_.integers({axis})});
}

OnnxValue OnnxLayers::unsqueeze(const OnnxValue& x, const std::vector<int64_t>& axes) {
  return op("Unsqueeze", {x, graph_.integers(axes)});
}

OnnxValue OnnxLayers::cast(const OnnxValue& x, DType dtype) {
  return op("Cast", {x}, {{"to", onnx_type(dtype)}});
}

OnnxValue OnnxLayers::expand(const OnnxValue& x, const std::vector<OnnxValue>& sizes) {
  return op("Expand", {x, op("Concat", sizes, {{"axis", 0}})});
}

// A weight is [out, in]; with three axes it maps each part of x by itself.
OnnxValue OnnxLayers::linear(const char* child, const OnnxValue& x) {
  const Scope scope(child);
  const Shape& shape = shape_of("weight");
  OnnxValue y;
  if (shape.rank() == 2) {
    y = op("MatMul", {x, transpose(parameter("weight"), {1, 0})});
  } else {
    const int64_t parts = shape[0], width = shape[2];
    const OnnxValue cut = transpose(reshape(x, {0, 0, parts, width}), {0, 2, 1, 3});
    y = op("MatMul", {cut, transpose(parameter("weight"), {0, 2, 1})});  // [B, H, T, D]
    y = reshape(transpose(y, {0, 2, 1, 3}), {0, 0, parts * width});      // [B, T, C]
  }
  return has("bias") ? op("Add", {y, parameter("bias")}) : y;
}

OnnxValue OnnxLayers::norm(const std::string& child, const OnnxValue& x) {
  const Scope scope(child);
  if (o_.norm_kind == NormKind::kLayer) {
    std::vector<OnnxValue> inputs = {x, parameter("weight")};
    if (has("bias")) inputs.push_back(parameter("bias"));
    return op("LayerNormalization", inputs, {{"axis", -1}, {"epsilon", o_.norm_epsilon}});
  }
  return rms_norm(x, o_.norm_epsilon);
}

OnnxValue OnnxLayers::rms_norm(const OnnxValue& x, double epsilon) {
  const OnnxValue mean =
      op("ReduceMean", {op("Mul", {x, x})}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", 1}});
  const OnnxValue root = op("Sqrt", {op("Add", {mean, graph_.number(epsilon)})});
  return op("Mul", {op("Div", {x, root}), parameter("weight")});
}

OnnxValue OnnxLayers::around(const std::string& child, const OnnxValue& x, Layer layer) {
  const std::string its_norm = child + "_norm";
  const auto scoped = [&](const OnnxValue& input) {
    const Scope scope(child);
    return layer(input);
  };
  if (o_.norm == NormPlace::kPre) return op("Add", {x, scoped(norm(its_norm, x))});
  const OnnxValue sum = op("Add", {x, scoped(x)});
  return o_.norm == NormPlace::kPost ? norm(its_norm, sum) : sum;
}

OnnxValue OnnxLayers::activate(const OnnxValue& x) {
  const auto number = [this](double value) { return graph_.number(value); };
  if (o_.activation == Activation::kRelu) return op("Relu", {x});
  if (o_.activation == Activation::kReluSquared) {
    const OnnxValue y = op("Relu", {x});
    return op("Mul", {y, y});
  }
  if (o_.activation == Activation::kSilu || o_.activation == Activation::kSwiglu)
    return op("Mul", {x, op("Sigmoid", {x})});
  OnnxValue bent;
  if (o_.activation == Activation::kGelu) {
    bent = op("Erf", {op("Mul", {x, number(std::sqrt(0.5))})});
  } else {
    const OnnxValue cube = op("Mul", {op("Mul", {op("Mul", {x, x}), x}), number(0.044715)});
    bent = op("Tanh", {op("Mul", {op("Add", {x, cube}), number(std::sqrt(2 / M_PI))})});
  }
  return op("Mul", {op("Mul", {x, number(0.5)}), op("Add", {bent, number(1)})});
}

OnnxValue OnnxLayers::feed_forward(const OnnxValue& x) {
  const OnnxValue up = linear("up", x);
  if (o_.activation != Activation::kSwiglu) return linear("down", activate(up));
  return linear("down", op("Mul", {activate(linear("gate", x)), up}));
}

OnnxValue OnnxLayers::hidden_keys(const OnnxSequence& s, int64_t window) {
  std::vector<OnnxValue> all;
  if (s.causal) all.push_back(op("Less", {s.distance, graph_.integer(0)}));
  if (window > 0) {
    all.push_back(op("Greater", {op("Abs", {s.distance}), graph_.integer(window)}));
  }
  if (!s.padding.empty()) all.push_back(unsqueeze(s.padding, {1, 2}));
  OnnxValue hidden;
  for (const OnnxValue& some : all) hidden = hidden.empty() ? some : op("Or", {hidden, some});
  return hidden.empty() || !s.padding.empty() ? hidden : unsqueeze(hidden, {0, 1});
}

void OnnxLayers::add_hidden(const OnnxValue& x, OnnxSequence& s) {
  const OnnxValue length = size(x, 1);  // T
  s.end = s.first.empty() ? length : op("Add", {s.first, length});
  if (s.first.empty()) s.first = graph_.integers({0});
  const auto range = [&](const OnnxValue& from) {
    const auto scalar = [&](const OnnxValue& one) { return op("Squeeze", {one}); };
    return op("Range", {scalar(from), scalar(s.end), graph_.integer(1)});
  };
  s.distance = op("Sub", {unsqueeze(range(s.first), {1}), range(graph_.integers({0}))});
  const AttentionChoices& a = o_.attention;
  if (a.window == 0 || a.full_every > 0) s.hidden = hidden_keys(s, 0);
  if (a.window > 0) s.hidden_in_window = hidden_keys(s, a.window);
  if (!s.source_padding.empty()) s.hidden_source = unsqueeze(s.source_padding, {1, 2});
}

// sin(p / base^(2i / width) + phase), f32 [T, width], or [T, width / 2] of the pairs; in f64
// before, because an angle may be large.
OnnxValue OnnxLayers::sine(const OnnxSequence& s, int64_t width, double base, bool pairs,
                           double phase_of_odd) {
  std::vector<double> rates, phases;
  for (int64_t c = 0; c < width; c += pairs ? 2 : 1) {
    const int64_t pair = c / 2 * 2;  // 2i
    const double exponent = static_cast<double>(pair) / static_cast<double>(width);
    rates.push_back(std::pow(base, exponent));
    phases.push_back(pairs || c % 2 == 1 ? phase_of_odd : 0.0);
  }
  const auto row = [&](const std::vector<double>& values) {
    return graph_.constant(Array::of({std::ssize(values)}, DType::f64, values));
  };
  const OnnxValue place =
      op("Range", {op("Squeeze", {s.first}), op("Squeeze", {s.end}), graph_.integer(1)});  // [T]
  const OnnxValue angle = op("Div", {unsqueeze(cast(place, DType::f64), {1}), row(rates)});
  return cast(op("Sin", {op("Add", {angle, row(phases)})}), DType::f32);
}

OnnxValue OnnxLayers::with_positions(const OnnxValue& x, OnnxSequence& s) {
  if (o_.position == Position::kRotary && o_.mixer == "attention") {
    const double base = o_.attention.rotary_base;
    s.cosines = sine(s, head_width_, base, /*pairs=*/true, M_PI / 2);
    s.sines = sine(s, head_width_, base, /*pairs=*/true, 0);
  }
  if (o_.position == Position::kLearned) {
    const Scope scope("position_embedding");
    return op("Add", {x, slice(parameter("weight"), 0, s.first, s.end)});
  }
  if (o_.position != Position::kSinusoidal) return x;
  OnnxValue table = op("Mul", {sine(s, o_.d_model, 10000.0, /*pairs=*/false, M_PI / 2),
                               graph_.number(o_.factor_of_sinusoids())});  // [T, C]
  if (has("position_gain")) {
    const OnnxValue gain = op("Mul", {parameter("position_gain"), graph_.number(10)});
    table = op("Mul", {table, op("Exp", {gain})});
  }
  return op("Add", {x, table});
}

OnnxValue OnnxLayers::stack(OnnxValue x, OnnxSequence s) {
  add_hidden(x, s);
  x = with_positions(x, s);
  for (int64_t i = 0; i < o_.num_layers; ++i) {
    const Scope scope(absl::StrCat("blocks.", i));
    OnnxSequence own = s;
    if (o_.attention.window_of(i) > 0) own.hidden = s.hidden_in_window;
    x = around(o_.mixer, x, [&](const OnnxValue& y) { return mixer(y, own, i); });
    if (!s.source.empty()) {
      OnnxSequence cross = {.source = s.source, .hidden = s.hidden_source};
      x = around("cross_attention", x,
                 [&](const OnnxValue& y) { return attention(y, s.source, cross, i); });
    }
    x = around("feed_forward", x, [&](const OnnxValue& y) { return feed_forward(y); });
  }
  return o_.norm == NormPlace::kPre ? norm("final_norm", x) : x;
}

OnnxValue OnnxLayers::mixer(const OnnxValue& x, const OnnxSequence& s, int64_t block) {
  if (o_.mixer == "attention") return attention(x, x, s, block);
  if (o_.mixer == "convolution") return convolution(x, s);
  if (o_.mixer == "recurrence") return recurrence(x, s);
  return mixing(x, s);
}

}  // namespace qkv
