#include "apps/labs/labs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "apps/labs/kit/lab_kit.h"
#include "framework/io/files.h"
#include "tests/digest.h"
#include "tests/temporary_folder.h"

namespace qkv {

void PrintTo(const Lab& lab, std::ostream* out) { *out << lab.name; }

namespace {

constexpr Language kEnglish = Language::kEnglish;

using Options = std::map<std::string, std::string>;

void say_nothing(const std::string& /*what*/) {}

std::vector<Lab> all_labs() {
  std::vector<Lab> labs;
  for (const auto& make : kLabs) labs.push_back(make());
  return labs;
}

// With these a lab that takes long takes less, and still tells its effect from its absence.
const Options& quick_options_of(const Lab& lab) {
  static const std::map<std::string, Options> kQuickOptions = {
      {"scores", {{"d", "4,64"}, {"steps", "100"}, {"seeds", "5"}}},
      {"leak", {{"steps", "200"}, {"seeds", "3"}}},
      {"scaling-train", {{"steps", "40"}, {"seeds", "5"}}},
      {"mixers", {{"seeds", "3"}, {"steps", "120"}}},
      {"trajectory", {{"seeds", "3"}, {"steps", "100"}}},
      {"key-value", {{"steps", "60"}, {"seeds", "3"}}},
      {"more", {{"steps", "200"}, {"seeds", "3"}}},
      {"distance", {{"distance", "4,6"}, {"steps", "120"}, {"seeds", "2"}}},
      {"heads-count", {{"heads", "1,8,32"}, {"steps", "300"}, {"seeds", "5"}}},
      {"narrow-wide", {{"d", "64"}, {"steps", "200"}, {"seeds", "3"}}},
      {"positions", {{"steps", "400"}, {"seeds", "3"}}},
      {"cross", {{"steps", "100"}, {"seeds", "3"}}},
      {"patches", {{"steps", "200"}, {"seeds", "4"}}},
  };
  static const Options kDefaults;
  const auto found = kQuickOptions.find(lab.name);
  return found == kQuickOptions.end() ? kDefaults : found->second;
}

// With these its trainings hardly begin: its verdicts are of no worth.
Options shortest_options_of(const Lab& lab) {
  Options options = quick_options_of(lab);
  for (const LabOption& option : lab.options) {
    if (option.name == "steps") options.insert_or_assign("steps", "5");
  }
  if (options.contains("steps")) options["seeds"] = "2";
  return options;
}

Report report_of(const Lab& lab, const Options& options, const std::string& runs,
                 bool is_control = false) {
  absl::StatusOr<Report> report = run_lab(lab, options, is_control, runs, say_nothing);
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

std::string name_of_test(const testing::TestParamInfo<Lab>& info) {
  std::string name;
  for (const char c : info.param.name) {
    if (c != '-') name += c;
  }
  return name;
}

class LabTest : public testing::TestWithParam<Lab> {};
INSTANTIATE_TEST_SUITE_P(All, LabTest, testing::ValuesIn(all_labs()), name_of_test);

// A figure has a name at each axis, and as many numbers as its axes say.
struct ExpectWhole {
  void operator()(const LineChart& chart) const {
    EXPECT_FALSE(chart.title.empty() || chart.x_label.empty() || chart.y_label.empty());
    EXPECT_FALSE(chart.series.empty()) << chart.title.en;
    for (const Series& series : chart.series) {
      EXPECT_FALSE(series.name.empty() || series.x.empty()) << chart.title.en;
      EXPECT_EQ(series.x.size(), series.y.size()) << series.name.en;
      if (!series.spread.empty()) {
        EXPECT_EQ(series.x.size(), series.spread.size());
      }
    }
  }
  void operator()(const HeatMap& map) const {
    EXPECT_FALSE(map.title.empty());
    EXPECT_EQ(std::ssize(map.numbers), map.rows * map.columns) << map.title.en;
    expect_names(map.row_names, map.rows, map.row_axis, map.title);
    expect_names(map.column_names, map.columns, map.column_axis, map.title);
  }
  void operator()(const HeatMaps& maps) const {
    EXPECT_FALSE(maps.title.empty() || maps.maps.empty());
    for (const HeatMap& map : maps.maps) (*this)(map);
  }
  void operator()(const Bars& bars) const {
    EXPECT_FALSE(bars.title.empty() || bars.bars.empty());
    EXPECT_EQ(bars.shares.size(), bars.bars.size()) << bars.title.en;
    for (const auto& shares : bars.shares) EXPECT_EQ(shares.size(), bars.parts.size());
  }
  void operator()(const Paths& paths) const {
    EXPECT_FALSE(paths.title.empty() || paths.x_label.empty() || paths.y_label.empty());
    for (const Path& path : paths.paths) {
      EXPECT_FALSE(path.x.empty()) << paths.title.en;
      EXPECT_EQ(path.x.size(), path.y.size()) << path.name.en;
    }
  }
  void operator()(const Arcs& arcs) const {
    EXPECT_FALSE(arcs.title.empty() || arcs.queries.empty());
    EXPECT_EQ(arcs.weights.size(), arcs.queries.size() * arcs.keys.size()) << arcs.title.en;
  }
  void operator()(const Picture& picture) const {
    EXPECT_FALSE(picture.title.empty());
    EXPECT_EQ(std::ssize(picture.pixels), picture.rows * picture.columns) << picture.title.en;
    EXPECT_EQ(std::ssize(picture.weights) * picture.patch * picture.patch,
              picture.rows * picture.columns);
    for (const double weight : picture.weights) EXPECT_GT(weight, 0) << picture.title.en;
  }
  void operator()(const Table& table) const {
    EXPECT_FALSE(table.title.empty() || table.rows.empty());
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.header.size());
  }

 private:
  static void expect_names(const std::vector<Text>& names, int64_t count, const Text& axis,
                           const Text& title) {
    EXPECT_FALSE(names.empty() && axis.empty()) << title.en;
    if (!names.empty()) {
      EXPECT_EQ(std::ssize(names), count) << title.en;
    }
  }
};

void expect_complete(const Report& report) {
  EXPECT_FALSE(report.question.empty());
  ASSERT_FALSE(report.sections.empty());
  for (const Section& section : report.sections) {
    ASSERT_FALSE(section.claims.empty());
    EXPECT_EQ(section.prediction.empty(), !section.is_measured());
    EXPECT_EQ(section.findings.empty(), !section.is_measured());
    for (const Claim& claim : section.claims) {
      EXPECT_NE(std::string("ABCD").find(claim.place[0]), std::string::npos) << claim.place;
      EXPECT_FALSE(claim.chinese.empty() || claim.english.empty()) << claim.place;
    }
    EXPECT_NE(section.verdict_text().en, "holds on a condition") << section.name;
    for (const Figure& figure : section.figures) std::visit(ExpectWhole(), figure);
    for (const char sign : {'{', '}', '$'}) {
      EXPECT_EQ((section.verdict_text() + section.set_right()).en.find(sign), std::string::npos);
      EXPECT_EQ((section.verdict_text() + section.set_right()).zh.find(sign), std::string::npos);
    }
  }
}

// Two words of small letters one behind the other are a piece of a sentence, which has Chinese
// characters in Chinese.
void expect_chinese(const Text& text) {
  static const std::regex kWords("[a-z]{2,} [a-z]{2,}");
  const auto is_chinese = [](const char c) { return static_cast<unsigned char>(c) >= 0xE3; };
  const bool is_sentence = std::regex_search(text.en, kWords);
  EXPECT_TRUE(!is_sentence || std::ranges::any_of(text.zh, is_chinese)) << text.en;
}

void expect_chinese_in(const Report& report) {
  expect_chinese(report.question);
  for (const Section& section : report.sections) {
    for (const Text& text : {section.prediction, section.verdict_text(), section.set_right()}) {
      expect_chinese(text);
    }
    for (const Finding& finding : section.findings) expect_chinese(finding.what);
    for (const Figure& figure : section.figures) {
      std::visit([](const auto& each) { expect_chinese(each.title); }, figure);
    }
  }
}

// The sentences of a lab, with their verdicts where nothing but the lab decides these.
std::vector<std::string> rows_of(const Report& report, const Options& options,
                                 const std::string& notes) {
  const std::string lab = absl::StrCat(" | `", report.name, "` | ");
  std::vector<std::string> rows;
  for (const std::string& row : std::vector<std::string>(absl::StrSplit(notes, '\n'))) {
    const size_t at = row.find(lab);
    if (at == row.npos) continue;
    const size_t verdict = at + lab.size();
    const bool same_verdict = options.empty() && !report.measures_time;
    rows.push_back(row.substr(0, same_verdict ? row.find(" | ", verdict) : verdict));
  }
  return rows;
}

void expect_in_lecture_notes(const Report& report, const Options& options, Language language) {
  const std::string file =
      absl::StrCat("docs/lecture-notes", language == kEnglish ? "" : ".zh", ".md");
  const std::string notes = read_file(absl::StrCat(QKV_SOURCE_DIR "/", file), 1 << 22).value();
  EXPECT_EQ(rows_of(report, options, notes),
            rows_of(report, options, lecture_notes({report}, {}, language)))
      << "made by ./qkv lab --all --lang " << name_of(language) << " --notes " << file;
}

TEST_P(LabTest, IsComplete) {
  const TemporaryFolder folder;
  const Options options = shortest_options_of(GetParam());
  const Report report = report_of(GetParam(), options, folder.path());
  expect_complete(report);
  expect_chinese_in(report);
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    expect_in_lecture_notes(report, options, language);
  }
}

// They train, or take long: left out under sanitizers, which the shortest options are enough for.
class LabEffectTest : public LabTest {};
INSTANTIATE_TEST_SUITE_P(All, LabEffectTest, testing::ValuesIn(all_labs()), name_of_test);

TEST_P(LabEffectTest, IsGoneWhereItIsTakenOut) {
  const TemporaryFolder folder;
  Options options = quick_options_of(GetParam());
  if (GetParam().name == "scaling") options = {{"d", "4,64"}, {"seeds", "6"}};
  const Report report = report_of(GetParam(), options, folder.path());
  const Report control = report_of(GetParam(), options, folder.path(), /*is_control=*/true);
  EXPECT_TRUE(control.is_control);
  for (const Section& section : report.sections) {
    if (section.findings.empty()) continue;
    const auto same = std::ranges::find(control.sections, section.name, &Section::name);
    ASSERT_NE(same, control.sections.end()) << section.name;
    EXPECT_FALSE(same->control.empty()) << section.name;
    EXPECT_NE(same->verdict(), section.verdict()) << section.name << ": " << same->control.en;
  }
}

Finding with_result(FindingResult result) {
  Finding finding;
  finding.result = result;
  return finding;
}

// The finding of a map of n = 1, 4, 16 and d = 2, 4, 8.
Finding read_off(const std::function<Finding(double n, double d)>& at) {
  Section section;
  add_map(section, "map",
          {.title = "m", .x_name = "n", .y_name = "d", .x = {1, 4, 16}, .y = {2, 4, 8}, .at = at});
  EXPECT_EQ(section.findings.at(0).name, "map");
  EXPECT_EQ(section.findings.at(0).role, FindingRole::kBeyond);
  return section.findings.at(0);
}

std::string bound_read_off(const std::function<bool(double n, double d)>& holds) {
  using enum FindingResult;
  return read_off(
             [&](double n, double d) { return with_result(holds(n, d) ? kAgrees : kDisagrees); })
      .measured.en;
}

TEST(ClaimMapTest, SaysTheBoundThatPartsItsPoints) {
  EXPECT_EQ(bound_read_off([](double n, double) { return n > 2; }), "n ≥ 4");
  EXPECT_EQ(bound_read_off([](double, double d) { return d < 3; }), "d ≤ 2");
  EXPECT_EQ(bound_read_off([](double n, double d) { return n >= 2 * d; }), "n / d ≥ 2");
  EXPECT_EQ(bound_read_off([](double n, double d) { return n * d < 16; }), "n d ≤ 8");
  EXPECT_EQ(bound_read_off([](double, double) { return false; }), "at no point");
  EXPECT_EQ(bound_read_off([](double, double) { return true; }), "at each point");
}

TEST(ClaimMapTest, SaysTheBoundsOfRowsWhereOneDoesNotDo) {
  EXPECT_EQ(bound_read_off([](double n, double d) { return d < 8 ? n <= 4 : n >= 4; }),
            "d = 2, 4: n ≤ 4; d = 8: n ≥ 4");
  EXPECT_EQ(bound_read_off([](double n, double d) { return n == 1 && d == 4; }),
            "d = 2: at no point; d = 4: n ≤ 1; d = 8: at no point");
  EXPECT_EQ(bound_read_off([](double n, double d) { return n == 4 && d == 4; }),
            "at 1 of 9 points");
}

TEST(ClaimMapTest, SaysWhereNobodyKnows) {
  using enum FindingResult;
  const auto open_below = [](FindingResult below) {
    return read_off([=](double n, double) { return with_result(n > 2 ? kAgrees : below); });
  };
  for (const FindingResult below : {kUndecided, kNotSeen}) {
    EXPECT_EQ(open_below(below).measured.en, "n ≥ 4; undecided at 3 of 9 points");
    EXPECT_EQ(open_below(below).result, kUndecided);
  }
  EXPECT_EQ(open_below(kDisagrees).result, kDisagrees);
  EXPECT_EQ(open_below(kAgrees).result, kAgrees);
}

// A chance of 0.04 counts alone, and not beside another.
TEST(ClaimMapTest, CorrectsForTheChanceOfManyPoints) {
  const Finding finding = read_off([](double n, double) {
    Finding at = with_result(FindingResult::kAgrees);
    at.interval = "0.9 … 1.1";
    at.chance = n > 2 ? 0 : 0.04;
    return at;
  });
  EXPECT_EQ(finding.measured.en, "n ≥ 4; undecided at 3 of 9 points");
}

TEST(ClaimMapTest, ShowsASignAtEachPoint) {
  Section section;
  add_map(section, "map",
          {.title = "m",
           .x_name = "n",
           .y_name = "d",
           .x = {1, 4},
           .y = {2},
           .at = [](double n, double) {
             return with_result(n > 2 ? FindingResult::kAgrees : FindingResult::kUndecided);
           }});
  const auto& table = std::get<Table>(section.figures.at(0));
  EXPECT_TRUE(table.is_map);
  EXPECT_EQ(table.header, (std::vector<Text>{"", "n = 1", "n = 4"}));
  EXPECT_EQ(table.rows, (std::vector<std::vector<Text>>{{"d = 2", "?", "✓"}}));
}

// Losses of two seeds that begin at 1, and are as `end` in the last quarter of the steps.
Losses falling_to(double end) { return Losses(2, {1, 1, 0.5, 0.5, 0.3, 0.3, end, end}); }

TEST(SettledTest, HoldsOnlyForAsManyStepsWhereATrainingStillChanges) {
  Section section;
  add_settled(section, {falling_to(0.3), falling_to(0.29)});
  EXPECT_EQ(section.verdict(), ClaimVerdict::kHolds);
  section = {};
  add_settled(section, {falling_to(0.3), falling_to(0.2)});
  EXPECT_EQ(section.verdict(), ClaimVerdict::kHoldsIf);
  EXPECT_EQ(section.condition().en,
            "it is about the first {--steps} steps of training: the loss still changes");
}

TEST(LabsTest, HaveDifferentNames) {
  std::set<std::string> names;
  for (const Lab& lab : all_labs()) EXPECT_TRUE(names.insert(lab.name).second) << lab.name;
}

// The fewest and smallest numbers that it takes.
std::string least_of(const LabOption& option) {
  std::vector<std::string> texts;
  const double apart = option.numbers == Numbers::kOdd ? 2 : 1;
  for (double number = option.least; texts.size() < option.fewest;) {
    texts.push_back(absl::StrCat(number));
    const bool doubles = option.numbers == Numbers::kMultiples ||
                         option.numbers == Numbers::kDivisors || option.numbers == Numbers::kReal;
    number = doubles ? 2 * number : number + apart;
  }
  return absl::StrJoin(texts, ",");
}

// The trainings of it are as short as can be.
Options shortest_trainings_of(const Lab& lab) {
  Options options = quick_options_of(lab);
  const auto steps = std::ranges::find(lab.options, "steps", &LabOption::name);
  if (steps != lab.options.end()) {
    options.insert_or_assign("steps", least_of(*steps));
    options.insert_or_assign("seeds", "1");
  }
  return options;
}

TEST_P(LabTest, TakesTheLeastOfEachOption) {
  const TemporaryFolder folder;
  const Options shortest = shortest_trainings_of(GetParam());
  Options all = shortest;
  for (const LabOption& option : GetParam().options) {
    Options one = shortest;
    one[option.name] = all[option.name] = least_of(option);
    if (one == shortest) continue;
    const Report report = report_of(GetParam(), one, folder.path());
    EXPECT_EQ(report_text(report, kEnglish).find("nan"), std::string::npos) << option.name;
  }
  report_of(GetParam(), all, folder.path());
}

// All numbers that a figure shows, or a finding.
struct NumbersOf {
  std::vector<double> all;

  void add(const std::vector<double>& numbers) {
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  void add(const Text& text) { all.push_back(std::strtod(text.en.c_str(), nullptr)); }

  void operator()(const LineChart& chart) {
    add({chart.log_x ? 1.0 : 0.0, chart.log_y ? 1.0 : 0.0});
    for (const auto& [name, level] : chart.levels) all.push_back(level);
    for (const Series& series : chart.series) {
      add({series.has_marks ? 1.0 : 0.0, series.is_dashed ? 1.0 : 0.0});
      for (const auto* numbers : {&series.x, &series.y, &series.spread}) add(*numbers);
    }
  }
  void operator()(const HeatMap& map) { add(map.numbers); }
  void operator()(const HeatMaps& maps) {
    for (const HeatMap& map : maps.maps) add(map.numbers);
  }
  void operator()(const Bars& bars) {
    for (const std::vector<double>& shares : bars.shares) add(shares);
  }
  void operator()(const Paths& paths) {
    for (const Path& path : paths.paths) add(path.x), add(path.y);
  }
  void operator()(const Arcs& arcs) { add(arcs.weights); }
  void operator()(const Picture& picture) { add(picture.pixels), add(picture.weights); }
  void operator()(const Table& table) {
    for (const std::vector<Text>& row : table.rows) {
      for (const Text& cell : row) add(cell);
    }
  }
  void operator()(const Finding& finding) {
    all.push_back(finding.predicted_number.value_or(0));
    for (const std::vector<double>& samples : finding.samples) add(samples);
    if (finding.samples.empty()) add(finding.measured);
  }
};

// What stands for them: how many there are, and their sum, in which each has a weight of its own.
struct Summary {
  std::string name;
  size_t count = 0;
  double sum = 0, sizes = 0;
};

Summary summary_of(std::string name, const std::vector<double>& numbers) {
  Summary summary = {std::move(name), numbers.size()};
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) continue;
    const double part = numbers[i] * (1 + std::cos(static_cast<double>(i)) / 2);
    summary.sum += part;
    summary.sizes += std::abs(part);
  }
  return summary;
}

std::vector<Summary> summaries_of(const Report& report) {
  std::vector<Summary> summaries;
  for (const Section& section : report.sections) {
    NumbersOf findings;
    for (const Finding& finding : section.findings) findings(finding);
    summaries.push_back(summary_of(report.name + " " + section.name, findings.all));
    for (const Figure& figure : section.figures) {
      NumbersOf numbers;
      std::visit(numbers, figure);
      const Text title = std::visit([](const auto& each) { return each.title; }, figure);
      summaries.push_back(
          summary_of(absl::StrCat(report.name, " ", section.name, ", ", title.en), numbers.all));
    }
  }
  return summaries;
}

// tests/apps/labs/numbers.txt has a line for each that has numbers: a change that is meant changes
// its line. Times have none. From the models that it has kept it shows the same again.
TEST_P(LabTest, ShowsTheNumbersThatItShowed) {
  const TemporaryFolder folder;
  const auto text = read_file(QKV_SOURCE_DIR "/tests/apps/labs/numbers.txt", 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status();
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::StartsWith(line, GetParam().name + " ")) lines.emplace_back(line);
  }
  const Options options = shortest_trainings_of(GetParam());
  const Report report = report_of(GetParam(), options, folder.path());
  size_t known = 0;
  for (const Summary& now : summaries_of(report)) {
    if (now.count == 0) continue;
    const std::string name = absl::StrCat(now.name, ": ", now.count, " numbers, ");
    const auto line = std::ranges::find_if(
        lines, [&](const std::string& each) { return absl::StartsWith(each, name); });
    if (line == lines.end() && GetParam().measures_time) continue;
    ++known;
    const double sum = line == lines.end() ? INFINITY : std::stod(line->substr(name.size()));
    EXPECT_NEAR(now.sum, sum, 1e-3 * now.sizes + 1e-6)
        << "now " << name << absl::StrFormat("%.6g", now.sum);
  }
  if (!GetParam().measures_time) {
    ++known;
    const std::string shown =
        report_text(report, kEnglish) + report_page(report, Language::kChinese);
    const std::string now = absl::StrCat(GetParam().name, " text and page: ", digest_of(shown));
    EXPECT_TRUE(std::ranges::any_of(
        lines, [&](const std::string& then) { return is_same_line(now, then); }))
        << "now " << now;
    const Report again = report_of(GetParam(), options, folder.path());
    EXPECT_EQ(lecture_notes({report}, {}, kEnglish), lecture_notes({again}, {}, kEnglish));
    EXPECT_EQ(report_page(report, kEnglish), report_page(again, kEnglish));
  }
  EXPECT_EQ(known, lines.size());
}

TEST(LabsTest, TakeWhatTheyHaveByDefault) {
  for (const Lab& lab : all_labs()) EXPECT_TRUE(read_options(lab, {}).ok()) << lab.name;
}

Lab echo_lab() {
  return {.name = "echo",
          .question = "What was asked?",
          .controls = {},
          .options = {{"d", "4,8", "sizes", 1, 64, Numbers::kWhole, 1, 3}},
          .run = [](const LabContext& lab) {
            Section section = {.name = "echo", .claims = {}, .prediction = ""};
            for (const int64_t d : lab.integers("d")) {
              section.findings.push_back(found("d", "", std::to_string(d), true));
            }
            return std::vector<Section>{section};
          }};
}

absl::StatusOr<Report> echo(const Options& options) {
  return run_lab(echo_lab(), options, false, "", say_nothing);
}

TEST(RunLabTest, TakesOptionsOrTheirDefaults) {
  EXPECT_EQ(echo({})->sections[0].findings.size(), 2);
  EXPECT_EQ(echo({{"d", "3"}})->sections[0].findings[0].measured.en, "3");
  EXPECT_EQ(echo({{"d", "3"}})->options[0].second, "3");
}

TEST(RunLabTest, RefusesWhatItCannotRead) {
  for (const char* const text : {"", "x", "1,,2", "-1", "0", "nan", "inf", "1e300", "1;2", "0.4",
                                 "1.5", "65", "4,2", "2,2", "1,2,3,4"}) {
    EXPECT_EQ(echo({{"d", text}}).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(echo({{"d", "4,2"}}).status().message(),
            "--d takes 1 to 3 whole numbers from 1 to 64, in ascending order, separated by commas, "
            "not \"4,2\"");
  EXPECT_EQ(echo({{"seeds", "1"}}).status().message(),
            "the lab echo does not take --seeds; it takes --d");
}

struct KindOfNumbers {
  LabOption option;
  std::vector<std::string> taken, refused;
  std::string wanted;
};

TEST(LabOptionTest, TakesItsKindOfNumbers) {
  const KindOfNumbers kinds[] = {
      {{"n", "6", "", 2, 64},
       {"2", "64"},
       {"1", "65", "2.5", "2,3"},
       "one whole number from 2 to 64"},
      {{"k", "3", "", 3, 7, Numbers::kOdd}, {"3", "7"}, {"4", "1"}, "one odd number from 3 to 7"},
      {{"d", "4", "", 2, 8, Numbers::kMultiples},
       {"2", "8"},
       {"3", "0"},
       "one multiple of 2 up to 8"},
      {{"h", "4", "", 1, 32, Numbers::kDivisors}, {"2", "32"}, {"3", "64"}, "one divisor of 32"},
      {{"h", "1,2", "", 1, 32, Numbers::kDivisors, 2, 3},
       {"1,4", "1,2,32"},
       {"1", "2,4", "1,3", "1,2,4,8"},
       "2 to 3 divisors of 32, among them 1, in ascending order, separated by commas"},
      {{"r", "0.1", "", 0.01, 10, Numbers::kReal},
       {"0.01", "1e-1"},
       {"0.001", "x"},
       "one number from 0.01 to 10"}};
  for (const KindOfNumbers& kind : kinds) {
    EXPECT_EQ(wanted_by(kind.option).en, kind.wanted);
    for (const std::string& text : kind.taken)
      EXPECT_TRUE(read_option(kind.option, text).ok()) << text;
    for (const std::string& text : kind.refused) {
      EXPECT_EQ(
          read_option(kind.option, text).status().message(),
          absl::StrCat("--", kind.option.name, " takes ", kind.wanted, ", not \"", text, "\""));
    }
  }
}

}  // namespace
}  // namespace qkv
