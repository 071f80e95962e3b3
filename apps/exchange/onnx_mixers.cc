#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "apps/exchange/onnx_layers.h"
#include "framework/core/error.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/position.h"

namespace qkv {

OnnxValue OnnxLayers::heads_of(const OnnxValue& x, int64_t heads) {
  return transpose(reshape(x, {0, 0, heads, head_width_}), {0, 2, 1, 3});
}

OnnxValue OnnxLayers::for_all_heads(const OnnxValue& x) {
  if (key_heads_ == o_.num_heads) return x;
  const int64_t times = o_.num_heads / key_heads_;
  const OnnxValue all = op("Expand", {unsqueeze(x, {2}), graph_.integers({1, 1, times, 1, 1})});
  return reshape(all, {0, o_.num_heads, -1, head_width_});
}

// The pairs (0, 1), (2, 3) … are turned by the angle of the position.
OnnxValue OnnxLayers::turned(const OnnxValue& x, const OnnxSequence& s) {
  const auto every_second = [&](int64_t begin) {  // [B, H, T, D / 2]
    return op("Slice", {x, graph_.integers({begin}), graph_.integers({head_width_}),
                        graph_.integers({3}), graph_.integers({2})});
  };
  const OnnxValue even = every_second(0), odd = every_second(1);
  const auto mul = [&](const OnnxValue& a, const OnnxValue& b) { return op("Mul", {a, b}); };
  const OnnxValue first = op("Sub", {mul(even, s.cosines), mul(odd, s.sines)});
  const OnnxValue second = op("Add", {mul(even, s.sines), mul(odd, s.cosines)});
  const OnnxValue both =
      op("Concat", {unsqueeze(first, {4}), unsqueeze(second, {4})}, {{"axis", 4}});
  return reshape(both, {0, 0, 0, head_width_});
}

OnnxValue OnnxLayers::with_past(const char* what, const OnnxValue& x, int64_t block) {
  const std::string heads = absl::StrCat(key_heads_), width = absl::StrCat(head_width_);
  const std::string past = absl::StrCat("past_", what, ".", block);
  if (!has_past_) return x;
  OnnxValue all = op("Concat", {past, x}, {{"axis", 2}});
  graph_.output(absl::StrCat("present_", what, ".", block), all, DType::f32,
                {"batch", heads, "total", width});
  return all;
}

OnnxValue OnnxLayers::with_bias_of_distance(const OnnxValue& scores, const OnnxSequence& s) {
  if (o_.position == Position::kAlibi) {
    std::vector<double> slopes = alibi_slopes(o_.num_heads, o_.attention.alibi_slopes);
    const OnnxValue each = graph_.constant(Array::of({o_.num_heads, 1, 1}, DType::f32, slopes));
    const OnnxValue far = cast(op("Abs", {s.distance}), DType::f32);
    return op("Sub", {scores, op("Mul", {each, far})});
  }
  if (o_.position != Position::kRelative) return scores;
  const Scope scope("position");
  const OnnxValue table = parameter("distance_bias");  // [rows, H]
  const int64_t rows = shape_of("distance_bias")[0], zero = s.causal ? 0 : rows / 2;
  const OnnxValue row = op("Clip", {op("Add", {s.distance, graph_.integer(zero)}),
                                    graph_.integer(0), graph_.integer(rows - 1)});
  return op("Add", {scores, transpose(op("Gather", {table, row}), {2, 0, 1})});  // [H, Tq, Tk]
}

// Softmax over the keys that are seen; zeros where there is none.
OnnxValue OnnxLayers::weights(const OnnxValue& scores, const OnnxValue& hidden) {
  if (hidden.empty()) return op("Softmax", {scores}, {{"axis", -1}});
  const OnnxValue lowest = graph_.number(std::numeric_limits<float>::lowest());
  const OnnxValue seen = op("Softmax", {op("Where", {hidden, lowest, scores})}, {{"axis", -1}});
  return op("Where", {hidden, graph_.number(0), seen});
}

OnnxValue OnnxLayers::attention(const OnnxValue& x, const OnnxValue& source, const OnnxSequence& s,
                                int64_t block) {
  const AttentionChoices& a = o_.attention;
  const bool crosses = !s.source.empty() && source == s.source;
  const auto head_norm = [&](const char* child, const OnnxValue& y) {
    const Scope scope(child);
    return rms_norm(y, RmsNorm().epsilon);
  };
  const auto map = [&](const char* child, const OnnxValue& y) {
    return a.projections == Projections::kNone ? y : linear(child, y);
  };
  const OnnxValue values = map("value", source);
  const OnnxValue keys = a.projections == Projections::kSeparate ? map("key", source) : values;
  OnnxValue q = values;
  if (a.projections <= Projections::kSharedKeyValue) {
    q = map("query", x);
  } else if (crosses) {
    q = map("value", x);
  }
  q = heads_of(q, o_.num_heads);                                               // [B, H, Tq, D]
  OnnxValue k = heads_of(keys, key_heads_), v = heads_of(values, key_heads_);  // [B, K, Tk, D]
  if (a.query_key_norm) q = head_norm("query_norm", q), k = head_norm("key_norm", k);
  if (!crosses) {
    if (!s.cosines.empty()) q = turned(q, s), k = turned(k, s);
    k = with_past("key", k, block);
    v = with_past("value", v, block);
  }
  const double root = std::sqrt(static_cast<double>(head_width_));
  const double scale = a.scale != 0 ? a.scale : o_.scale_scores ? 1 / root : 1;
  OnnxValue scores = op("MatMul", {op("Mul", {q, graph_.number(scale)}),
                                   transpose(for_all_heads(k), {0, 1, 3, 2})});  // [B, H, Tq, Tk]
  if (!crosses) scores = with_bias_of_distance(scores, s);
  const OnnxValue heads = op("MatMul", {weights(scores, s.hidden), for_all_heads(v)});
  return map("output", reshape(transpose(heads, {0, 2, 1, 3}), {0, 0, o_.num_heads * head_width_}));
}

// Weights that depend on the positions alone, [1 or B, 1, T, T].
OnnxValue OnnxLayers::mixing(const OnnxValue& x, const OnnxSequence& s) {
  OnnxValue scores;
  if (o_.mixer == "learned") {
    const OnnxValue rows = slice(parameter("scores"), 0, s.first, s.end);
    scores = slice(rows, 1, graph_.integers({0}), s.end);
  } else {
    scores = expand(graph_.number(0), {size(x, 1), s.end});
  }
  const OnnxValue mixed =
      op("MatMul", {weights(unsqueeze(scores, {0, 1}), s.hidden), unsqueeze(x, {1})});
  return op("Squeeze", {mixed, graph_.integers({1})});
}

OnnxValue OnnxLayers::convolution(const OnnxValue& x, const OnnxSequence& s) {
  const Shape shape = shape_of("weight");  // [C, C or 1, K]
  const int64_t taps = shape[2], before = s.causal ? taps - 1 : (taps - 1) / 2;
  const OnnxValue input =
      s.padding.empty() ? x : op("Where", {unsqueeze(s.padding, {2}), graph_.number(0), x});
  std::vector<OnnxValue> inputs = {transpose(input, {0, 2, 1}), parameter("weight")};
  if (has("bias")) inputs.push_back(parameter("bias"));
  const std::vector<int64_t> pads = {before, taps - 1 - before};
  const OnnxValue y =
      op("Conv", inputs, {{"group", o_.depthwise ? o_.d_model : 1}, {"pads", pads}});
  return transpose(y, {0, 2, 1});
}

OnnxValue OnnxLayers::recurrence(const OnnxValue& x, const OnnxSequence& s) {
  OnnxValue h = scan("forward", x, s);  // [B, T, H]
  if (!s.causal) h = op("Concat", {h, scan("backward", x, s)}, {{"axis", 2}});
  return linear("output", h);
}

// One direction: a Scan, whose body is one step. Padding keeps the state as it is.
OnnxValue OnnxLayers::scan(const char* child, const OnnxValue& x, const OnnxSequence& s) {
  const bool is_lstm = o_.cell == Cell::kLstm;
  const Scope scope(child);
  const OnnxValue sums = linear("input", x);  // [B, T, R], R = H or 4 H
  OnnxValue weight;                           // [H, R]
  int64_t rows = 0, width = 0;
  {
    const Scope state("state");
    rows = shape_of("weight")[0], width = shape_of("weight")[1];
    weight = transpose(parameter("weight"), {1, 0});
  }
  OnnxGraph each("each/");
  const auto name = [](const char* what) {
    return absl::StrCat("each/", Scope::current(), ".", what);
  };
  const std::vector<std::string> of_state = {"batch", absl::StrCat(width)};
  const OnnxValue zeros = expand(graph_.number(0), {size(x, 0), graph_.integers({width})});
  std::vector<OnnxValue> inputs = {zeros};
  each.input(name("h"), DType::f32, of_state);
  if (is_lstm) {
    inputs.push_back(zeros);
    each.input(name("c"), DType::f32, of_state);
  }
  inputs.push_back(sums);
  each.input(name("sums"), DType::f32, {"batch", absl::StrCat(rows)});
  if (!s.padding.empty()) {
    inputs.push_back(s.padding);
    each.input(name("padding"), DType::boolean, {"batch"});
  }

  const auto op_of = [&each](const char* type, const std::vector<OnnxValue>& of,
                             const std::vector<OnnxAttribute>& attributes = {}) {
    return each.node(type, of, attributes);
  };
  const OnnxValue a = op_of("Add", {name("sums"), op_of("MatMul", {name("h"), weight})});  // [B, R]
  const auto gate = [&](const char* type, int64_t part) {  // i, f, g, o
    return op_of(type, {op_of("Slice", {a, each.integers({part * width}),
                                        each.integers({(part + 1) * width}), each.integers({1})})});
  };
  const auto kept = [&](const char* state, const OnnxValue& next) {
    if (s.padding.empty()) return next;
    const OnnxValue is_padding = op_of("Unsqueeze", {name("padding"), each.integers({1})});
    return op_of("Where", {is_padding, name(state), next});
  };
  OnnxValue h, c;
  if (is_lstm) {
    const OnnxValue remembered = op_of("Mul", {gate("Sigmoid", 1), name("c")});
    c = op_of("Add", {remembered, op_of("Mul", {gate("Sigmoid", 0), gate("Tanh", 2)})});
    h = op_of("Mul", {gate("Sigmoid", 3), op_of("Tanh", {c})});
  } else {
    h = op_of("Tanh", {a});
  }
  h = kept("h", h);
  each.output(name("next_h"), h, DType::f32, of_state);
  if (is_lstm) each.output(name("next_c"), kept("c", c), DType::f32, of_state);
  each.output(name("hidden"), h, DType::f32, of_state);

  const int64_t scanned = s.padding.empty() ? 1 : 2, reversed = child == std::string("backward");
  const auto times = [](int64_t count, int64_t value) {
    return std::vector<int64_t>(static_cast<size_t>(count), value);
  };
  return graph_.node("Scan", inputs,
                     {{"body", &each},
                      {"num_scan_inputs", scanned},
                      {"scan_input_axes", times(scanned, 1)},
                      {"scan_input_directions", times(scanned, reversed)},
                      {"scan_output_axes", times(1, 1)},
                      {"scan_output_directions", times(1, reversed)}},
                     /*outputs=*/is_lstm ? 3 : 2);
}

}  // namespace qkv
