#include <nlohmann/json.hpp>

#include "lessons/report/report.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const LineChart& chart) {
  Json series = Json::array();
  for (const Series& each : chart.series) {
    series.push_back({{"name", each.name}, {"x", each.x}, {"y", each.y}, {"spread", each.spread}});
  }
  return {{"kind", "lines"},          {"title", chart.title}, {"x_label", chart.x_label},
          {"y_label", chart.y_label}, {"log_x", chart.log_x}, {"log_y", chart.log_y},
          {"series", series}};
}

Json json_of(const HeatMap& map) {
  return {{"kind", "heat map"},
          {"title", map.title},
          {"rows", map.rows},
          {"columns", map.columns},
          {"numbers", map.numbers},
          {"row_names", map.row_names},
          {"column_names", map.column_names}};
}

Json json_of(const Table& table) {
  return {
      {"kind", "table"}, {"title", table.title}, {"header", table.header}, {"rows", table.rows}};
}

Json json_of(std::optional<double> number) { return number ? Json(*number) : Json(); }

Json json_of(const Section& section) {
  Json claims = Json::array(), findings = Json::array(), figures = Json::array();
  for (const Claim& claim : section.claims) {
    claims.push_back(
        {{"place", claim.place}, {"chinese", claim.chinese}, {"english", claim.english}});
  }
  for (const Finding& finding : section.findings) {
    findings.push_back({{"what", finding.what},
                        {"predicted", finding.predicted},
                        {"measured", finding.measured},
                        {"agreement", name_of(finding.agreement)},
                        {"in_condition", finding.in_condition},
                        {"predicted_number", json_of(finding.predicted_number)},
                        {"samples", finding.samples}});
  }
  for (const Figure& figure : section.figures) {
    figures.push_back(std::visit([](const auto& each) { return json_of(each); }, figure));
  }
  return {{"claims", claims},
          {"formula", section.formula},
          {"prediction", section.prediction},
          {"findings", findings},
          {"figures", figures},
          {"verdict", name_of(section.verdict())},
          {"condition", section.condition},
          {"correction", section.correction}};
}

}  // namespace

std::string report_json(const Report& report) {
  Json options = Json::object(), sections = Json::array();
  for (const auto& [name, value] : report.options) options[name] = value;
  for (const Section& section : report.sections) sections.push_back(json_of(section));
  const Json json = {{"lab", report.name},        {"question", report.question},
                     {"control", report.control}, {"measures_time", report.measures_time},
                     {"options", options},        {"sections", sections}};
  return json.dump(2) + "\n";  // numbers that are not finite are null
}

}  // namespace qkv
