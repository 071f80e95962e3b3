#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "absl/strings/str_cat.h"
#include "apps/report/axis.h"
#include "apps/report/svg/svg.h"
#include "apps/report/writers/page_frame.h"
#include "apps/report/writers/text_chart.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

int64_t count_of(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The first group of every match.
std::vector<std::string> groups_of(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> groups;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    groups.push_back((*at)[1]);
  }
  return groups;
}

std::vector<double> numbers_of(const std::string& text, const std::string& pattern) {
  std::vector<double> numbers;
  for (const std::string& each : groups_of(text, pattern)) numbers.push_back(std::stod(each));
  return numbers;
}

// Every name of a drawing stands within it.
void expect_names_inside(const std::string& html) {
  double width = 0, height = 0;
  const std::regex kPlaces(
      "viewBox=\"0 0 (-?[0-9.]+) (-?[0-9.]+)\"|<text x=\"(-?[0-9.]+)\" y=\"(-?[0-9.]+)\"");
  for (auto at = std::sregex_iterator(html.begin(), html.end(), kPlaces);
       at != std::sregex_iterator(); ++at) {
    if ((*at)[1].matched) {
      width = std::stod((*at)[1]);
      height = std::stod((*at)[2]);
      continue;
    }
    const double x = std::stod((*at)[3]), y = std::stod((*at)[4]);
    EXPECT_TRUE(x >= 0 && x <= width && y >= 0 && y <= height) << at->str() << " in " << html;
  }
}

std::string drawn_in_english(const Figure& figure) {
  std::string html = figure_html(figure, Language::kEnglish);
  EXPECT_EQ(first_wrong_tag(html), "") << html;
  expect_names_inside(html);
  return html;
}

HeatMap map_of(int64_t rows, int64_t columns, double number) {
  return {.title = "",
          .rows = rows,
          .columns = columns,
          .numbers = std::vector<double>(static_cast<size_t>(rows * columns), number)};
}

TEST(HeatMapTest, CellsHaveTheirNumbersWhereThereIsRoom) {
  const auto texts_of = [](double number, int64_t columns) {
    return count_of(svg_of(map_of(1, columns, number), Language::kEnglish),
                    absl::StrCat(">", number, "</text>"));
  };
  EXPECT_EQ(texts_of(0.5, 16), 16);
  EXPECT_EQ(texts_of(-0.034, 8), 8);
  EXPECT_EQ(texts_of(-0.034, 40), 0);
}

TEST(HeatMapTest, ALargeOneHasCellsThatCanBeSeenAndIndicesApart) {
  const MapScale scale = scale_of(std::vector<HeatMap>{map_of(64, 64, 0.5)}, Language::kEnglish);
  EXPECT_GE(scale.cell, 9);
  const std::string svg = svg_of(map_of(64, 64, 0.5), Language::kEnglish);
  EXPECT_EQ(count_of(svg, "<path"), 64 * 64);
  EXPECT_EQ(count_of(svg, "<text"), 32 + 32);
}

LineChart chart_of(std::vector<double> x) {
  const std::vector<double> y(x.size(), 0.5);
  return {.title = "lines", .series = {{"one & only, with a long name", std::move(x), y}}};
}

TEST(LineChartTest, TicksAreAtTheDataWhereTheyAreFew) {
  const LineChart few = chart_of({1, 4, 16, 64}),
                  many = chart_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12});
  EXPECT_EQ(x_ticks(few, x_axis(few)), (std::vector<double>{1, 4, 16, 64}));
  EXPECT_EQ(x_ticks(many, x_axis(many)), x_axis(many).ticks());
}

TEST(LineChartTest, TheNameOfASeriesIsInTheLegendNotInTheDrawing) {
  const std::string html = drawn_in_english(chart_of({1, 2}));
  EXPECT_EQ(count_of(html, "one &amp; only, with a long name</li>"), 1);
  EXPECT_EQ(count_of(html, "one &amp; only, with a long name</text>"), 0);
}

TEST(LineChartTest, LevelsAreOnTheAxisWithTheirNames) {
  LineChart chart = chart_of({1, 2});
  chart.levels = {{"by guessing", 0.1}, {"the best letter", 0.1001}};
  EXPECT_EQ(y_axis(chart).low(), 0.1);
  const std::string html = drawn_in_english(chart);
  EXPECT_EQ(count_of(html, "<line class=\"level\""), 2);
  const std::vector<double> heights =
      numbers_of(html, "<text[^>]* y=\"([0-9.]+)\"[^>]*class=\"level\"");
  ASSERT_EQ(heights.size(), 2);
  EXPECT_GE(heights[0] - heights[1], 12);
}

TEST(BarsTest, NamesHaveRoomBeforeTheAxis) {
  const auto axis_of = [](const std::string& name) {
    const std::string html = drawn_in_english(
        Bars{.title = "bottles", .bars = {"a", name}, .parts = {"red"}, .shares = {{1}, {2}}});
    return numbers_of(html, "class=\"axis\" d=\"M([0-9.]+) ").at(0);
  };
  EXPECT_GE(axis_of("aaaaaaaaaaa") - axis_of("a"), 10 * 4);
}

TEST(FigureTest, WhatIsNotANumberIsNowhere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  HeatMap map = map_of(2, 2, nan);
  const Figure figures[] = {
      LineChart{
          .title = "", .series = {{"", {1, nan}, {nan, 1}, {nan, nan}}}, .levels = {{"", nan}}},
      map,
      HeatMaps{.title = "", .maps = {map}},
      Bars{.title = "", .bars = {"a"}, .parts = {"b"}, .shares = {{nan}}},
      Paths{.title = "", .paths = {{"", {nan, 1}, {1, nan}}}},
      Arcs{.title = "", .queries = {"a"}, .keys = {"a"}, .weights = {nan}},
      Picture{.title = "", .rows = 1, .columns = 1, .pixels = {nan}, .weights = {nan}}};
  for (const Figure& figure : figures) {
    const std::string html = drawn_in_english(figure);
    EXPECT_EQ(count_of(html, "nan") + count_of(html, "inf"), 0) << html;
  }
}

// The sum of all numbers in a text, each with a weight of its own.
double sum_of_numbers(const std::string& text) {
  double sum = 0, place = 0;
  for (const double number : numbers_of(text, "(-?[0-9]+(?:\\.[0-9]+)?)")) {
    sum += number * (2 + std::cos(++place));
  }
  return sum;
}

TEST(FigureTest, EachStandsWhereItStood) {
  HeatMap map = map_of(2, 3, 0.5);
  map.numbers = {1, -0.5, 0.25, 0, 0.125, -1};
  map.row_names = {"I", "have"};
  map.row_axis = "queries";
  HeatMap low = map_of(1, 12, 0.5);
  low.row_axis = "an axis with a name that is longer than its rows are high";
  low.column_axis = "columns";
  for (int64_t i = 0; i < low.columns; ++i) low.column_names.emplace_back("a long name");
  const LineChart chart = {.title = "loss",
                           .x_label = "steps",
                           .y_label = "loss",
                           .log_y = true,
                           .series = {{"a", {1, 2, 4}, {3, 2, 0.5}, {0.5, 0.5, 0.1}},
                                      {.name = "b", .x = {1, 4}, .y = {1, 2}, .has_marks = false}},
                           .levels = {{"by guessing", 2.5}}};
  const std::pair<Figure, double> figures[] = {
      {map, 14087.31},
      {low, 41990.38},
      {HeatMaps{.title = "two", .maps = {map, map}}, 20838.61},
      {chart, 30933.71},
      {Bars{.title = "",
            .bars = {"a", "b", "e"},
            .parts = {"c", "d"},
            .shares = {{1, 2}, {0.5, 4}, {4, std::nan("")}}},
       9035.57},
      {Paths{.title = "",
             .paths = {{"one", {0, 1, 2}, {0, 1, 0.5}},
                       {"two", {2, 1}, {0, 1}},
                       {"three", {2}, {0}}}},
       39999.87},
      {Arcs{
           .title = "", .queries = {"a", "b"}, .keys = {"c", "d"}, .weights = {0.1, 0.9, 0.6, 0.4}},
       11758.15},
      {Picture{.title = "",
               .rows = 2,
               .columns = 4,
               .patch = 2,
               .pixels = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1},
               .weights = {0.75, 0.25}},
       9391.52}};
  for (const auto& [figure, sum] : figures) {
    EXPECT_NEAR(sum_of_numbers(drawn_in_english(figure)), sum, 0.1);
  }
}

TEST(TextChartTest, AMapOfManyColumnsHasALineOfShadesForEachRow) {
  HeatMap map = map_of(2, 60, 1);
  map.numbers[60] = 0;
  const std::string text = figure_text(map, Language::kEnglish);
  EXPECT_EQ(count_of(text, "\n"), 3);
  EXPECT_EQ(count_of(text, "█"), 1 + 119);
}

TEST(TextChartTest, LinesHaveDotsAndMarksLieAbove) {
  const LineChart chart = {
      .title = "",
      .series = {{"a", {0, 1, 2, 3}, {0, 3, 1, 2}},
                 {.name = "b", .x = {0, 1, 2, 3}, .y = {3, 0, 2.5, 3}, .has_marks = false}}};
  EXPECT_EQ(text_chart(chart, {.columns = 12, .rows = 4}),
            "         3 │⠱⡀  ●  ⡠⠔⠒⠊⠉\n"
            "           │ ⠱⡀   ⡰⠁   ●\n"
            "           │  ⠱⡀ ⡰⠁●\n"
            "         0 │●  ⠱⡰⠁\n"
            "            0          3\n");
}

}  // namespace
}  // namespace qkv
