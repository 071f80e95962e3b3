#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "absl/strings/str_cat.h"
#include "data/file.h"
#include "train/config/suggest.h"
#include "train/config/toml_parser.h"

namespace qkv {
namespace {

// Each takes a value of its type, or returns what is wrong with it; "" when nothing is.

std::string expected(const char* type, const toml::node& node) {
  return absl::StrCat(": expected ", type, ", found ", type_of(node));
}

std::string take_float(const Field& field, const toml::node& node, double& number) {
  double value = 0;
  if (node.is_integer()) {
    value = static_cast<double>(node.as_integer()->get());
  } else if (node.is_floating_point()) {
    value = node.as_floating_point()->get();
  } else {
    return expected("a float", node);
  }
  if (!std::isfinite(value)) return absl::StrCat(" must be finite, not ", float_to_toml(value));
  if (!field.limits.has(value)) {
    return absl::StrCat(" must be ", field.limits.in_words(), ", not ", float_to_toml(value));
  }
  number = value;
  return "";
}

template <class Integer>
std::string take_integer(const Field& field, const toml::node& node, Integer& number) {
  if (!node.is_integer()) {
    std::string message = expected("an integer", node);
    const double value = node.is_floating_point() ? node.as_floating_point()->get() : 0.5;
    if (std::floor(value) == value && std::abs(value) < 1e15) {
      absl::StrAppend(&message, "; write ", static_cast<int64_t>(value));
    }
    return message;
  }
  const int64_t value = node.as_integer()->get();
  if (!field.limits.has(static_cast<double>(value))) {
    return absl::StrCat(" must be ", field.limits.in_words(), ", not ", value);
  }
  number = static_cast<Integer>(value);
  return "";
}

std::string what_is_wrong_with_path(const std::string& path) {
  if (path.find('\n') != std::string::npos) return " contains a line end";
  return path.find('\0') != std::string::npos ? " contains a NUL character" : "";
}

std::string take_paths(const Field& field, const toml::node& node) {
  if (!is_list_of_texts(node)) return expected("a string, or a list of strings", node);
  std::vector<std::string> paths;
  for (const toml::node& element : *node.as_array()) {
    paths.push_back(element.as_string()->get());
    if (paths.back().empty()) return " has an empty path in its list";
    if (std::string wrong = what_is_wrong_with_path(paths.back()); !wrong.empty()) return wrong;
  }
  if (paths.empty()) return " is an empty list";
  field.set_text(join_paths(paths));
  return "";
}

std::string take_text(const Field& field, const toml::node& node) {
  if (field.limits.is_path && node.is_array()) return take_paths(field, node);
  if (!node.is_string()) return expected("a string", node);
  if (field.limits.is_path) {
    std::string wrong = what_is_wrong_with_path(node.as_string()->get());
    if (!wrong.empty()) return wrong;
  }
  const std::string& value = node.as_string()->get();
  const std::vector<std::string> allowed = field.allowed();
  if (!allowed.empty() && std::ranges::count(allowed, value) == 0) {
    const std::string near = nearest(value, allowed);
    return absl::StrCat(": unknown value ", string_to_toml(value),
                        near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?"),
                        near.empty() ? "; it can be " : " It can be ", quoted_list(allowed, "or"));
  }
  field.set_text(value);
  return "";
}

// Takes the node as the value of the field; in an error, the node is the culprit.
struct Taker {
  const Field& field;
  const toml::node* node;

  std::string operator()(int64_t* place) const { return take_integer(field, *node, *place); }
  std::string operator()(uint64_t* place) const { return take_integer(field, *node, *place); }
  std::string operator()(double* place) const { return take_float(field, *node, *place); }
  std::string operator()(std::string* /*place*/) const { return take_text(field, *node); }
  std::string operator()(const EnumPlace& /*place*/) const { return take_text(field, *node); }
  std::string operator()(bool* place) const {
    if (!node->is_boolean()) return expected("a boolean (true or false)", *node);
    *place = node->as_boolean()->get();
    return "";
  }
  std::string operator()(std::array<double, 2>* place) {
    const toml::array* const array = node->as_array();
    if (array == nullptr || array->size() != 2) return expected("an array of 2 floats", *node);
    std::array<double, 2> pair{};
    for (size_t i = 0; i < 2; ++i) {
      std::string message = take_float(field, *array->get(i), pair[i]);
      if (message.empty()) continue;
      node = array->get(i);
      return message;
    }
    *place = pair;
    return "";
  }
};

}  // namespace

bool is_list_of_texts(const toml::node& node) {
  const toml::array* const list = node.as_array();
  return list &&
         std::all_of(list->begin(), list->end(), [](const auto& n) { return n.is_string(); });
}

std::optional<WrongValue> set_field(const Field& field, const toml::node& node) {
  Taker taker = {field, &node};
  const std::string message =
      std::visit([&taker](const auto& place) { return taker(place); }, field.value);
  if (message.empty()) return std::nullopt;
  return WrongValue{message, taker.node};
}

}  // namespace qkv
