#include "apps/python/binding/config_of_dict.h"

#include <regex>
#include <utility>

#include "apps/python/binding/binding.h"
#include "apps/python/binding/results.h"
#include "train/config/config_fields.h"

namespace qkv::python {
namespace {

std::string toml_value(const std::string& key, py::handle value) {
  const Deeper deeper;
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>() ? "true" : "false";
  if (py::isinstance<py::int_>(value)) return py::str(value);
  if (py::isinstance<py::float_>(value)) return float_to_toml(value.cast<double>());
  if (py::isinstance<py::str>(value)) return string_to_toml(value.cast<std::string>());
  if (py::hasattr(value, "__fspath__")) return toml_value(key, value.attr("__fspath__")());
  if (py::hasattr(value, "tolist")) return toml_value(key, value.attr("tolist")());  // NumPy's
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    std::string texts;
    for (const py::handle each : value) {
      absl::StrAppend(&texts, texts.empty() ? "" : ", ", toml_value(key, each));
    }
    return absl::StrCat("[", texts, "]");
  }
  fail(absl::StrCat("config: \"", key, "\": expected a number, a text, a truth value or a list, ",
                    "found ", Py_TYPE(value.ptr())->tp_name));
}

// {"model": {"d_model": 64}} and {"model.d_model": 64} -> "model.d_model" and its value as TOML.
void add_values(const py::dict& config, const std::string& place,
                std::vector<std::pair<std::string, std::string>>& values) {
  const Deeper deeper;
  for (const auto& [name, value] : config) {
    if (!py::isinstance<py::str>(name)) {
      fail(absl::StrCat("config: expected names as keys, found ",
                        std::string(start_of(py::repr(name)))));
    }
    const std::string key = place + name.cast<std::string>();
    if (py::isinstance<py::dict>(value)) {
      add_values(value.cast<py::dict>(), key + ".", values);
    } else {
      values.emplace_back(key, toml_value(key, value));
    }
  }
}

std::string toml_key(const std::string& key) {
  static const std::regex kBare(R"([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)");
  return std::regex_match(key, kBare) ? key : string_to_toml(key);
}

}  // namespace

LoadedConfig config_of_dict(const py::dict& config, const std::vector<std::string>& overrides) {
  std::vector<std::pair<std::string, std::string>> values;
  add_values(config, "", values);
  std::string toml;
  for (const auto& [key, value] : values) absl::StrAppend(&toml, toml_key(key), " = ", value, "\n");
  try {
    return required_of(parse_config(toml, "config", overrides));
  } catch (const Error& error) {
    static const std::regex kPlace(R"((^|\n)config:\d+:\d+: )");
    throw Error(std::regex_replace(std::string(error.what()), kPlace, "$1config: "));
  }
}

std::vector<std::string> overrides_of(const py::dict& given) {
  std::vector<std::pair<std::string, std::string>> values;
  add_values(given, "", values);
  std::vector<std::string> overrides;
  for (const auto& [key, value] : values) overrides.push_back(absl::StrCat(key, "=", value));
  return overrides;
}

}  // namespace qkv::python
