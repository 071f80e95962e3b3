#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "apps/exchange/protocol_buffer.h"
#include "framework/core/array.h"

namespace qkv {

class OnnxGraph;

int64_t onnx_type(DType dtype);  // TensorProto.DataType

// An attribute of a node: {"axis", -1}.
struct OnnxAttribute {
  const char* name;
  std::variant<int64_t, double, std::vector<int64_t>, const OnnxGraph*> value;
};

// A graph of ONNX (github.com/onnx/onnx/blob/main/onnx/onnx.proto) as it is being written. A node's
// output has a name, by which others read it: that of the node, which is the place in the model
// (Scope) and the operator, "blocks.0.attention.query.MatMul".
class OnnxGraph {
 public:
  // For a graph inside of another, `name` begins all names: they must differ from those outside.
  explicit OnnxGraph(std::string name) : name_(std::move(name)) {}

  // The name of its last output.
  std::string node(const std::string& type, const std::vector<std::string>& inputs,
                   const std::vector<OnnxAttribute>& attributes = {}, int outputs = 1);
  // Constants; equal ones are stored once. A shape of none is a scalar.
  std::string number(double value);  // f32
  std::string integer(int64_t value);
  std::string integers(const std::vector<int64_t>& values);
  std::string constant(const Array& array);  // of numbers: f32, or f64 or i64 or boolean
  // A constant with a name of its own, once; f64 and bf16 become f32.
  void parameter(const std::string& name, const Array& array);

  // A dimension is a number or a name: "batch".
  void input(const std::string& name, DType dtype, const std::vector<std::string>& dimensions);
  // Makes `value` an output.
  void output(const std::string& name, const std::string& value, DType dtype,
              const std::vector<std::string>& dimensions);

  ProtocolBuffer message() const;  // GraphProto
  // ModelProto: the file, with texts for whoever reads it.
  std::string file(const std::map<std::string, std::string>& metadata) const;

 private:
  std::string name_;
  std::map<std::string, int> used_;               // names of nodes, and how often
  std::map<std::string, std::string> constants_;  // by their bytes
  ProtocolBuffer nodes_, initializers_, inputs_, outputs_;
};

// The beginning of every file by file(): ir_version 8, which has opset 17, and the producer.
inline constexpr char kBeginningOfOnnx[] = "\x08\x08\x12\x03qkv";

}  // namespace qkv
