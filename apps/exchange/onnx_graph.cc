#include "apps/exchange/onnx_graph.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "framework/core/error.h"

namespace qkv {

int64_t onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 1;
    case DType::i64:
      return 7;
    case DType::boolean:
      return 9;
    case DType::f64:
      return 11;
    default:
      fail(absl::StrCat("onnx: no file holds ", std::string(dtype_name(dtype))));
  }
}

namespace {

ProtocolBuffer tensor(const std::string& name, const Array& array) {
  ProtocolBuffer message;  // TensorProto: dims = 1, data_type = 2, name = 8, raw_data = 9
  for (const int64_t size : array.shape()) message.add_integer(1, size);
  message.add_integer(2, onnx_type(array.dtype())).add_bytes(8, name);
  return message.add_bytes(9, {static_cast<const char*>(array.raw()), array.bytes()});
}

ProtocolBuffer value_info(const std::string& name, DType dtype,
                          const std::vector<std::string>& dimensions) {
  ProtocolBuffer shape, type, tensor_type, info;
  for (const std::string& dimension : dimensions) {  // Dimension: dim_value = 1, dim_param = 2
    ProtocolBuffer one;
    int64_t size = 0;
    if (absl::SimpleAtoi(dimension, &size)) {
      one.add_integer(1, size);
    } else {
      one.add_bytes(2, dimension);
    }
    shape.add(1, one);
  }
  tensor_type.add_integer(1, onnx_type(dtype)).add(2, shape);  // elem_type = 1, shape = 2
  type.add(1, tensor_type);                                    // TypeProto: tensor_type = 1
  return info.add_bytes(1, name).add(2, type);                 // ValueInfoProto: name = 1, type = 2
}

// AttributeProto: name = 1, f = 2, i = 3, g = 6, ints = 8, type = 20
ProtocolBuffer attribute_message(const OnnxAttribute& attribute) {
  ProtocolBuffer message;
  message.add_bytes(1, attribute.name);
  if (const auto* number = std::get_if<double>(&attribute.value)) {
    return message.add_float(2, static_cast<float>(*number)).add_integer(20, 1);
  }
  if (const auto* integer = std::get_if<int64_t>(&attribute.value)) {
    return message.add_integer(3, *integer).add_integer(20, 2);
  }
  if (const auto* graph = std::get_if<const OnnxGraph*>(&attribute.value)) {
    return message.add(6, (*graph)->message()).add_integer(20, 5);
  }
  for (const int64_t i : std::get<std::vector<int64_t>>(attribute.value)) message.add_integer(8, i);
  return message.add_integer(20, 7);
}

}  // namespace

std::string OnnxGraph::node(const std::string& type, const std::vector<std::string>& inputs,
                            const std::vector<OnnxAttribute>& attributes, int outputs) {
  const std::string& place = Scope::current();
  std::string name = absl::StrCat(name_, place.empty() ? "" : absl::StrCat(place, "."), type);
  if (const int times = used_[name]++; times > 0) absl::StrAppend(&name, "_", times + 1);
  ProtocolBuffer message;  // NodeProto: input = 1, output = 2, name = 3, op_type = 4, attribute = 5
  for (const std::string& input : inputs) message.add_bytes(1, input);
  for (int i = 0; i + 1 < outputs; ++i) message.add_bytes(2, absl::StrCat(name, ".output_", i));
  message.add_bytes(2, name).add_bytes(3, name).add_bytes(4, type);
  for (const OnnxAttribute& attribute : attributes) message.add(5, attribute_message(attribute));
  nodes_.add(1, message);
  return name;
}

std::string OnnxGraph::number(double value) {
  return constant(Array::full(Shape{}, DType::f32, value));
}

std::string OnnxGraph::integer(int64_t value) {
  return constant(Array::full(Shape{}, DType::i64, static_cast<double>(value)));
}

std::string OnnxGraph::integers(const std::vector<int64_t>& values) {
  return constant(Array::of({std::ssize(values)}, values));
}

std::string OnnxGraph::constant(const Array& array) {
  const auto [found, is_new] = constants_.emplace(tensor("", array).bytes(), "");
  if (is_new) {
    found->second = absl::StrCat(name_, "constant.", constants_.size());
    initializers_.add(5, tensor(found->second, array));
  }
  return found->second;
}

void OnnxGraph::parameter(const std::string& name, const Array& array) {
  const bool is_f32 = array.dtype() == DType::f32;
  initializers_.add(
      5, tensor(name, is_f32 ? array : Array::of(array.shape(), DType::f32, array.to_vector())));
}

void OnnxGraph::input(const std::string& name, DType dtype,
                      const std::vector<std::string>& dimensions) {
  inputs_.add(11, value_info(name, dtype, dimensions));
}

void OnnxGraph::output(const std::string& name, const std::string& value, DType dtype,
                       const std::vector<std::string>& dimensions) {
  ProtocolBuffer message;
  message.add_bytes(1, value).add_bytes(2, name).add_bytes(3, name).add_bytes(4, "Identity");
  nodes_.add(1, message);
  outputs_.add(12, value_info(name, dtype, dimensions));
}

// GraphProto: node = 1, name = 2, initializer = 5, input = 11, output = 12
ProtocolBuffer OnnxGraph::message() const {
  ProtocolBuffer message;
  message.append(nodes_).add_bytes(2, name_.empty() ? "model" : name_).append(initializers_);
  return message.append(inputs_).append(outputs_);
}

// ModelProto: ir_version = 1, producer_name = 2, graph = 7, opset_import = 8, metadata_props = 14
std::string OnnxGraph::file(const std::map<std::string, std::string>& metadata) const {
  ProtocolBuffer model, opset;
  opset.add_bytes(1, "").add_integer(2, 17);  // domain = 1, version = 2
  model.add_integer(1, 8).add_bytes(2, "qkv").add(7, message()).add(8, opset);
  for (const auto& [key, value] : metadata) {
    ProtocolBuffer entry;
    model.add(14, entry.add_bytes(1, key).add_bytes(2, value));
  }
  return model.bytes();
}

}  // namespace qkv
