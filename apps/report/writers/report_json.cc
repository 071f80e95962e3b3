#include "apps/report/facts.h"
#include "apps/report/report.h"

namespace qkv {
namespace {

Json json_of(const LineChart& chart, Language language) {
  Json series = Json::array();
  for (const Series& each : chart.series) {
    series.push_back(
        {{"name", each.name.in(language)}, {"x", each.x}, {"y", each.y}, {"spread", each.spread}});
  }
  Json levels = Json::array();
  for (const auto& [name, y] : chart.levels) {
    levels.push_back({{"name", name.in(language)}, {"y", y}});
  }
  return {{"kind", "lines"},
          {"title", chart.title.in(language)},
          {"x_label", chart.x_label.in(language)},
          {"y_label", chart.y_label.in(language)},
          {"log_x", chart.log_x},
          {"log_y", chart.log_y},
          {"levels", levels},
          {"series", series}};
}

Json json_of(const std::vector<Text>& texts, Language language) {
  Json json = Json::array();
  for (const Text& text : texts) json.push_back(text.in(language));
  return json;
}

Json json_of(const HeatMap& map, Language language) {
  return {{"kind", "heat map"},
          {"title", map.title.in(language)},
          {"rows", map.rows},
          {"columns", map.columns},
          {"row_axis", map.row_axis.in(language)},
          {"column_axis", map.column_axis.in(language)},
          {"numbers", map.numbers},
          {"row_names", json_of(map.row_names, language)},
          {"column_names", json_of(map.column_names, language)}};
}

Json json_of(const Table& table, Language language) {
  Json rows = Json::array();
  for (const auto& row : table.rows) rows.push_back(json_of(row, language));
  return {{"kind", "table"},
          {"title", table.title.in(language)},
          {"header", json_of(table.header, language)},
          {"rows", rows}};
}

Json json_of(const HeatMaps& maps, Language language) {
  Json list = Json::array();
  for (const HeatMap& map : maps.maps) list.push_back(json_of(map, language));
  return {{"kind", "heat maps"}, {"title", maps.title.in(language)}, {"maps", list}};
}

Json json_of(const Bars& bars, Language language) {
  return {{"kind", "bars"},
          {"title", bars.title.in(language)},
          {"bars", json_of(bars.bars, language)},
          {"parts", json_of(bars.parts, language)},
          {"shares", bars.shares}};
}

Json json_of(const Paths& paths, Language language) {
  Json list = Json::array();
  for (const Path& path : paths.paths) {
    list.push_back({{"name", path.name.in(language)}, {"x", path.x}, {"y", path.y}});
  }
  return {{"kind", "paths"},
          {"title", paths.title.in(language)},
          {"x_label", paths.x_label.in(language)},
          {"y_label", paths.y_label.in(language)},
          {"paths", list}};
}

Json json_of(const Arcs& arcs, Language language) {
  return {{"kind", "arcs"},
          {"title", arcs.title.in(language)},
          {"queries", json_of(arcs.queries, language)},
          {"keys", json_of(arcs.keys, language)},
          {"weights", arcs.weights}};
}

Json json_of(const Picture& picture, Language language) {
  return {{"kind", "picture"},         {"title", picture.title.in(language)},
          {"rows", picture.rows},      {"columns", picture.columns},
          {"patch", picture.patch},    {"pixels", picture.pixels},
          {"weights", picture.weights}};
}

const char* role_name(FindingRole role) {
  return role == FindingRole::kPremise  ? "premise"
         : role == FindingRole::kBeyond ? "beyond the condition"
                                        : "evidence";
}

Json json_of(const Section& section, Language language) {
  Json claims = Json::array(), findings = Json::array(), figures = Json::array(),
       sources = Json::array();
  for (const Claim& claim : section.claims) {
    claims.push_back({{"key", claim.key},
                      {"place", claim.place},
                      {"chinese", claim.chinese},
                      {"english", claim.english}});
  }
  for (const Finding& finding : section.findings) {
    findings.push_back({{"what", finding.what.in(language)},
                        {"predicted", finding.predicted.in(language)},
                        {"measured", finding.measured.in(language)},
                        {"interval", finding.interval.in(language)},
                        {"result", name_of(finding.result)},
                        {"role", role_name(finding.role)},
                        {"predicted_number", json_or_null(finding.predicted_number)},
                        {"samples", finding.samples}});
  }
  for (const Figure& figure : section.figures) {
    figures.push_back(
        std::visit([&](const auto& each) { return json_of(each, language); }, figure));
  }
  for (const Source& source : section.sources) {
    sources.push_back({{"cited", source.cited}, {"url", source.url}});
  }
  return {{"section", section.name},
          {"claims", claims},
          {"formula", section.formula.in(language)},
          {"prediction", section.prediction.in(language)},
          {"control", section.control.in(language)},
          {"findings", findings},
          {"figures", figures},
          {"verdict", name_of(section.verdict())},
          {"verdict_text", section.verdict_text().in(language)},
          {"reason", section.reason().in(language)},
          {"set_right", section.set_right().in(language)},
          {"sources", sources}};
}

}  // namespace

std::string report_json(const Report& report, Language language) {
  Json options = Json::object(), sections = Json::array();
  for (const auto& [name, value] : report.options) options[name] = value;
  for (const Section& section : report.sections) sections.push_back(json_of(section, language));
  const Json json = {{"lab", report.name},           {"question", report.question.in(language)},
                     {"control", report.is_control}, {"measures_time", report.measures_time},
                     {"options", options},           {"sections", sections}};
  return json_text(json);  // numbers that are not finite are null
}

}  // namespace qkv
