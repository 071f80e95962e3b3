#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report/report.h"
#include "apps/report/statistics.h"
#include "apps/report/texts/texts.h"
#include "apps/report/writers/notes.h"
#include "apps/report/writers/text_chart.h"
#include "framework/core/each_of.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"

namespace qkv {
namespace {

constexpr int64_t kMostCells = 10;  // of a matrix that is written in numbers
constexpr int kMostDigits = 3;      // of these, where the terminal has room
constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
constexpr const char* kBelowZero[] = {" ", "·", "-", "=", "≡"};

std::string text_of(const LineChart& chart, Language language) {
  const TextChartStyle style = {.columns = std::max<int64_t>(20, text_columns() - 20)};
  std::string key = absl::StrCat(chart.x_label.in(language), chart.log_x ? " (log)" : "", " → ",
                                 chart.y_label.in(language), chart.log_y ? " (log)" : "", ": ");
  for (size_t s = 0; s < chart.series.size(); ++s) {
    absl::StrAppend(&key, mark_in_chart(chart, s, style), " ", chart.series[s].name.in(language),
                    "  ");
  }
  for (const auto& [name, y] : chart.levels) {
    absl::StrAppend(&key, name.in(language), ": ", format_number(y), "  ");
  }
  return absl::StrCat("  ", chart.title.in(language), "\n", text_chart(chart, style),
                      wrapped(key, text_columns(), std::string(kTextChartMargin, ' ')));
}

std::vector<std::string> cells_in(const std::vector<Text>& row, Language language) {
  return each_of(row, [language](const Text& cell) { return cell.in(language); });
}

std::string text_of(const Table& table, Language language) {
  std::vector<std::vector<std::string>> lines = {cells_in(table.header, language)};
  for (const auto& row : table.rows) lines.push_back(cells_in(row, language));
  const Alignment alignment = {.left = table.header.size(), .indent = "    "};
  return absl::StrCat("  ", table.title.in(language), "\n", aligned(lines, alignment));
}

std::string shade_of(double number, double largest) {
  if (!std::isfinite(number)) return "x";
  const double depth = largest > 0 ? std::abs(number) / largest : 0;
  const auto level = static_cast<size_t>(std::lround(4 * std::min(1.0, depth)));
  return number < 0 ? kBelowZero[level] : kShades[level];
}

std::string text_of(const HeatMap& map, Language language) {
  const auto at = [&map](int64_t row, int64_t column) {
    return map.numbers[row * map.columns + column];
  };
  const bool in_numbers = map.columns <= kMostCells && map.rows <= 2 * kMostCells;
  for (int digits = kMostDigits; in_numbers && digits > 0; --digits) {
    Table table = {.title = map.title, .header = {""}, .rows = {}};
    for (int64_t column = 0; column < map.columns; ++column) {
      table.header.push_back(map.column_name(column));
    }
    for (int64_t row = 0; row < map.rows; ++row) {
      table.rows.push_back({map.row_name(row)});
      for (int64_t column = 0; column < map.columns; ++column) {
        const double x = at(row, column);
        table.rows.back().push_back(std::isnan(x) ? "·" : absl::StrFormat("%.*g", digits, x));
      }
    }
    std::string text = text_of(table, language);
    if (digits == 1 || folded(text, text_columns()) == text) return text;
  }
  double largest = 0;
  for (const double x : map.numbers) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  // A map larger than the terminal is shown in steps.
  const int64_t step = 1 + (std::max(map.columns, 2 * map.rows) - 1) / (text_columns() - 8);
  std::string text =
      absl::StrCat("  ", map.title.in(language), ", █ ", format_number(largest), "\n");
  for (int64_t row = 0; row < map.rows; row += step) {
    text += "    ";
    for (int64_t column = 0; column < map.columns; column += step) {
      text += shade_of(at(row, column), largest);
    }
    text += "\n";
  }
  return text;
}

std::string text_of(const HeatMaps& maps, Language language) {
  std::string text = absl::StrCat("  ", maps.title.in(language), "\n");
  for (const HeatMap& map : maps.maps) text += text_of(map, language);
  return text;
}

std::string text_of(const Bars& bars, Language language) {
  Table table = {.title = bars.title, .header = {""}, .rows = {}};
  table.header.insert(table.header.end(), bars.parts.begin(), bars.parts.end());
  for (size_t i = 0; i < bars.bars.size(); ++i) {
    table.rows.push_back({bars.bars[i]});
    for (const double share : bars.shares[i]) table.rows.back().push_back(format_number(share));
  }
  return text_of(table, language);
}

std::string text_of(const Paths& paths, Language language) {
  Table table = {.title = paths.title, .header = {"", paths.x_label, paths.y_label}, .rows = {}};
  for (const Path& path : paths.paths) {
    for (size_t i = 0; i < path.x.size(); ++i) {
      table.rows.push_back(
          {i == 0 ? path.name : Text(), format_number(path.x[i]), format_number(path.y[i])});
    }
  }
  return text_of(table, language);
}

std::string text_of(const Arcs& arcs, Language language) {
  return text_of(HeatMap{.title = arcs.title,
                         .rows = std::ssize(arcs.queries),
                         .columns = std::ssize(arcs.keys),
                         .numbers = arcs.weights,
                         .row_names = arcs.queries,
                         .column_names = arcs.keys},
                 language);
}

std::string text_of(const Picture& picture, Language language) {
  return text_of(HeatMap{.title = picture.title,
                         .rows = picture.rows / picture.patch,
                         .columns = picture.columns / picture.patch,
                         .numbers = picture.weights},
                 language);
}

std::string text_of(const Finding& finding, Language language) {
  const std::string what =
      absl::StrCat(sign_of(finding.result), " ", with_role(finding).in(language));
  const std::string numbers =
      say("predicted {0}; measured {1}", finding.predicted, with_interval(finding)).in(language);
  const std::string line = say("{0}: {1}", what, numbers).in(language);
  if (text_width(line) + 2 <= text_columns()) return wrapped(line, text_columns(), "  ");
  return absl::StrCat(wrapped(what, text_columns(), "  "),
                      wrapped(numbers, text_columns(), "      "));
}

std::string text_of(const Section& section, Language language) {
  const auto paragraph = [&](const Text& text, const std::string& indent = "") {
    return text.empty() ? "" : wrapped(text.in(language), text_columns(), indent);
  };
  std::string text;
  for (const Claim& claim : section.claims) {
    text += wrapped(absl::StrCat(claim.place, "  ", claim.chinese), text_columns());
    if (language == Language::kEnglish) text += wrapped(claim.english, text_columns(), "     ");
  }
  if (!section.control.empty()) text += paragraph(say("CONTROL: {0}", section.control));
  if (!section.formula.empty())
    absl::StrAppend(&text, "\n", wrapped(section.formula.in(language), text_columns(), "    "));
  if (!section.prediction.empty())
    absl::StrAppend(&text, "\n", paragraph(say("Expected: {0}", section.prediction)));
  for (const Figure& figure : section.figures) {
    absl::StrAppend(&text, "\n", figure_text(figure, language));
  }
  if (!section.findings.empty()) text += "\n";
  for (const Finding& finding : section.findings) text += text_of(finding, language);
  const Text reason = section.reason();
  Text verdict = say("Verdict: {0}.", section.verdict_text());
  if (!reason.empty()) verdict = say("{0} {1}", verdict, reason);
  absl::StrAppend(&text, "\n", paragraph(verdict), paragraph(section.set_right()));
  if (!section.sources.empty()) text += paragraph(cited(section.sources));
  return text;
}

}  // namespace

std::string figure_text(const Figure& figure, Language language) {
  return std::visit([&](const auto& each) { return text_of(each, language); }, figure);
}

std::string report_text(const Report& report, Language language) {
  std::string text =
      wrapped(say("{0}: {1}", report.name, report.question).in(language), text_columns());
  for (const Section& section : report.sections) {
    absl::StrAppend(&text, "\n", std::string(60, '-'), "\n", text_of(section, language));
  }
  absl::StrAppend(&text, "\n", wrapped(how_to_read().in(language), text_columns()),
                  wrapped(legend_of({&report, 1}).in(language), text_columns()));
  if (report.measures_time) text += times_differ().in(language) + "\n";
  return text;
}

}  // namespace qkv
