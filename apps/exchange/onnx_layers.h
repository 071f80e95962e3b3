#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "apps/exchange/onnx_graph.h"
#include "framework/io/safetensors.h"
#include "models/model_options.h"

namespace qkv {

// The output of a node, by its name; "": none.
using OnnxValue = std::string;

// The inputs of all blocks of a stack. `first` is the position of the first token that is read.
struct OnnxSequence {
  OnnxValue padding = {};  // boolean [B, T]
  bool causal = false;     // hides the later tokens
  OnnxValue first = {};    // i64 [1]; keys and values of the tokens before come from outside
  OnnxValue source = {};   // of cross-attention, [B, Ts, C], and its padding [B, Ts]
  OnnxValue source_padding = {};

  // The results of a stack.
  OnnxValue end = {};                  // the position after the last, i64 [1]
  OnnxValue distance = {};             // p - j, i64 [Tq, Tk]
  OnnxValue hidden = {};               // keys, boolean [1 or B, 1, Tq, Tk]
  OnnxValue hidden_in_window = {};     // the same, in a layer with a window
  OnnxValue hidden_source = {};        // [B, 1, 1, Ts]
  OnnxValue cosines = {}, sines = {};  // of rotary positions, [T, D / 2]
};

// The layers of a model as nodes of a graph; docs/models.md has their formulas. A Scope around a
// call is the place of its parameters. Shapes are as everywhere: B, T, C, H, D; K heads of keys.
class OnnxLayers {
 public:
  // With a past, attention continues from past_key.N and past_value.N [B, K, P, D], which are
  // inputs of the graph.
  OnnxLayers(const ModelOptions& options, const std::vector<NamedArray>& arrays, bool has_past);

  OnnxValue stack(OnnxValue x, OnnxSequence sequence);  // [B, T, C] -> [B, T, C]
  OnnxValue linear(const char* child, const OnnxValue& x);

  bool has(const char* parameter) const;
  const Shape& shape_of(const char* parameter) const;
  OnnxValue parameter(const char* name);  // of the place
  OnnxValue op(const char* type, const std::vector<OnnxValue>& inputs,
               const std::vector<OnnxAttribute>& attributes = {}) {
    return graph_.node(type, inputs, attributes);
  }
  OnnxValue size(const OnnxValue& x, int64_t axis);  // i64 [1]
  OnnxValue transpose(const OnnxValue& x, const std::vector<int64_t>& axes);
  OnnxValue reshape(const OnnxValue& x, const std::vector<int64_t>& sizes);  // 0: as it is
  OnnxValue slice(const OnnxValue& x, int64_t axis, const OnnxValue& begin, const OnnxValue& end);
  OnnxValue unsqueeze(const OnnxValue& x, const std::vector<int64_t>& axes);
  OnnxValue cast(const OnnxValue& x, DType dtype);
  OnnxValue expand(const OnnxValue& x, const std::vector<OnnxValue>& sizes);  // each i64 [1]

  OnnxGraph& graph() { return graph_; }
  int64_t key_heads() const { return key_heads_; }    // K
  int64_t head_width() const { return head_width_; }  // D

 private:
  using Layer = absl::FunctionRef<OnnxValue(const OnnxValue&)>;

  OnnxValue norm(const std::string& child, const OnnxValue& x);
  OnnxValue rms_norm(const OnnxValue& x, double epsilon);  // with the weight of the place
  OnnxValue around(const std::string& child, const OnnxValue& x, Layer layer);
  OnnxValue mixer(const OnnxValue& x, const OnnxSequence& s, int64_t block);
  OnnxValue feed_forward(const OnnxValue& x);
  OnnxValue activate(const OnnxValue& x);

  OnnxValue hidden_keys(const OnnxSequence& s, int64_t window);
  void add_hidden(const OnnxValue& x, OnnxSequence& s);
  OnnxValue sine(const OnnxSequence& s, int64_t width, double base, bool pairs,
                 double phase_of_odd);
  OnnxValue with_positions(const OnnxValue& x, OnnxSequence& s);

  // `source` is x in self-attention, where `block` numbers the past of its layer.
  OnnxValue attention(const OnnxValue& x, const OnnxValue& source, const OnnxSequence& s,
                      int64_t block);
  OnnxValue heads_of(const OnnxValue& x, int64_t heads);  // [B, T, H D] -> [B, H, T, D]
  OnnxValue for_all_heads(const OnnxValue& x);            // [B, K, T, D] -> [B, H, T, D]
  OnnxValue turned(const OnnxValue& x, const OnnxSequence& s);
  OnnxValue with_past(const char* what, const OnnxValue& x, int64_t block);
  OnnxValue with_bias_of_distance(const OnnxValue& scores, const OnnxSequence& s);
  OnnxValue weights(const OnnxValue& scores, const OnnxValue& hidden);

  OnnxValue mixing(const OnnxValue& x, const OnnxSequence& s);
  OnnxValue convolution(const OnnxValue& x, const OnnxSequence& s);
  OnnxValue recurrence(const OnnxValue& x, const OnnxSequence& s);
  OnnxValue scan(const char* child, const OnnxValue& x, const OnnxSequence& s);

  ModelOptions o_;
  int64_t key_heads_, head_width_;
  std::map<std::string, Array> parameters_;
  std::set<std::string> used_;  // parameters that are in the graph
  bool has_past_;
  OnnxGraph graph_{""};
};

}  // namespace qkv
