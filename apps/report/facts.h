#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/report/gradcheck/json_values.h"
#include "apps/report/statistics.h"
#include "apps/report/texts/text.h"

// The report of a verb, said once: programs read it as JSON, people as a table in a terminal or
// on a page.
namespace qkv {

using Json = nlohmann::ordered_json;

// A value with the key under which programs find it, and the name under which people do.
struct Fact {
  template <class T>
  Fact(std::string its_key, Text its_name, const T& its_value, Unit unit = Unit::kNumber)
      : key(std::move(its_key)), name(std::move(its_name)), value(json_value(its_value)) {
    text = text_of(unit);
  }
  // People read this text instead of the value: "35/40".
  template <class T>
  Fact(std::string its_key, Text its_name, const T& its_value, std::string its_text)
      : key(std::move(its_key)),
        name(std::move(its_name)),
        value(json_value(its_value)),
        text(std::move(its_text)) {}

  std::string key;
  Text name;
  Json value;        // null: there is none
  std::string text;  // "": there is none

 private:
  static Json json_value(double number) { return json_number(number); }
  template <class T>
  static Json json_value(const std::optional<T>& value) {
    return value ? json_value(*value) : Json();
  }
  template <class T>
  requires(!std::is_floating_point_v<T>) static Json json_value(const T& value) { return value; }
  std::string text_of(Unit unit) const;
};
using Facts = std::vector<Fact>;
using Keys = std::vector<std::string>;

// As a document: an object, a list of objects, and of some facts of several things an object of
// lists. json_text() is the file.
Json json_of(const Facts& facts);
Json json_of(const std::vector<Facts>& rows);
Json json_of(const std::vector<Facts>& things, const Keys& keys);
std::string json_text(const Json& json);

// As a table with a row for each thing under the names of the facts `keys`, or with a row for each
// of these after its name.
std::vector<std::vector<Text>> tabled(const std::vector<Facts>& things, const Keys& keys);
std::vector<std::vector<Text>> listed(const std::vector<Facts>& things, const Keys& keys);
// The cells of a table for a terminal (framework/core/text/columns.h).
std::vector<std::vector<std::string>> in_english(const std::vector<std::vector<Text>>& rows);

}  // namespace qkv
