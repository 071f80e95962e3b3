#include "apps/report/facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/core/each_of.h"
#include "framework/core/error.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

const Fact& fact_of(const Facts& facts, const std::string& key) {
  const auto found = std::ranges::find(facts, key, &Fact::key);
  if (found == facts.end()) fail(absl::StrCat("a report has no fact \"", key, "\""));
  return *found;
}

}  // namespace

std::string Fact::text_of(Unit unit) const {
  if (value.is_null()) return "";
  if (value.is_string()) return printable(value.get<std::string>());
  return value.is_number_float() ? format_number(value.get<double>(), unit) : value.dump();
}

Json json_of(const Facts& facts) {
  Json object = Json::object();
  for (const Fact& fact : facts) object[fact.key] = fact.value;
  return object;
}

Json json_of(const std::vector<Facts>& rows) {
  Json list = Json::array();
  for (const Facts& row : rows) list.push_back(json_of(row));
  return list;
}

Json json_of(const std::vector<Facts>& things, const Keys& keys) {
  Json object = Json::object();
  for (const std::string& key : keys) {
    for (const Facts& facts : things) object[key].push_back(fact_of(facts, key).value);
  }
  return object;
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::vector<Text>> tabled(const std::vector<Facts>& things, const Keys& keys) {
  std::vector<std::vector<Text>> rows(1 + things.size());
  for (const std::string& key : keys) {
    rows[0].push_back(fact_of(things.at(0), key).name);
    for (size_t i = 0; i < things.size(); ++i) {
      rows[i + 1].emplace_back(fact_of(things[i], key).text);
    }
  }
  return rows;
}

std::vector<std::vector<Text>> listed(const std::vector<Facts>& things, const Keys& keys) {
  std::vector<std::vector<Text>> rows;
  for (const std::string& key : keys) {
    rows.push_back({fact_of(things.at(0), key).name});
    for (const Facts& facts : things) rows.back().emplace_back(fact_of(facts, key).text);
  }
  return rows;
}

std::vector<std::vector<std::string>> in_english(const std::vector<std::vector<Text>>& rows) {
  return each_of(rows, [](const std::vector<Text>& row) { return each_of(row, &Text::en); });
}

}  // namespace qkv
