#include "apps/check/run_gradcheck.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/check/findings.h"
#include "apps/check/mutation/mutation.h"
#include "apps/check/precision/precision_check.h"
#include "apps/check/step_sweep.h"
#include "apps/report/gradcheck/diagnosis.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/gradcheck/json_values.h"
#include "apps/report/gradcheck/wrong_op.h"
#include "apps/report/writers/text_chart.h"
#include "framework/core/clock.h"
#include "framework/core/error.h"
#include "framework/gradcheck/gradcheck_report.h"
#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

// Everything in a report. Numbers that are not finite are the strings "nan", "inf" and "-inf",
// which JSON has no numbers for.
Json to_json(const GradcheckReport& report) { return Json::parse(gradcheck_json(report)); }

Json to_json(const MutationReport& report) {
  Json mutants = Json::array();
  for (const MutationResult& result : report.results) {
    mutants.push_back({{"mutant", result.mutant.to_text()},
                       {"function", result.mutant.function},
                       {"op", result.mutant.op},
                       {"killed", result.killed},
                       {"example", result.example},
                       {"how", result.how},
                       {"equivalent_because", result.equivalent_because}});
  }
  return {{"score_percent", json_number(report.score())},
          {"planted", report.results.size()},
          {"killed", report.killed()},
          {"equivalent", report.equivalent()},
          {"not_runnable", report.not_runnable},
          {"mutants", mutants}};
}

Json to_json(const PrecisionReport& report) {
  Json results = Json::array();
  for (const ResultPrecision& result : report.results) {
    Json elements = Json::array();
    for (const ElementPrecision& e : result.elements) {
      elements.push_back({{"verdict", name_of(e.verdict)},
                          {"element", e.element},
                          {"narrow", json_number(e.narrow)},
                          {"exact", json_number(e.exact)},
                          {"error", json_number(e.error)},
                          {"bound", json_number(e.bound)}});
    }
    results.push_back({{"verdict", name_of(result.verdict)},
                       {"name", result.name},
                       {"dtype", dtype_name(result.dtype)},
                       {"shape", json_sizes(result.shape)},
                       {"compared", result.compared},
                       {"digits", json_or_null(result.digits)},
                       {"elements", elements}});
  }
  return {{"verdict", name_of(report.verdict())},
          {"kinks", report.kinks},
          {"roundings", json_number(report.roundings)},
          {"results", results}};
}

std::string json_document(const Json& content) {
  Json document = {{"format", "qkv gradcheck"}};
  document.update(content);
  return document.dump(1) + "\n";
}

absl::Status not_passed(const std::vector<std::string>& names) {
  if (names.empty()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("gradcheck: these did not pass: ", absl::StrJoin(names, ", ")));
}

const char* verdict_word(const absl::Status& verdict) {
  return verdict.ok() ? "PASS" : "not passed";
}

std::string examples_word(int64_t count) {
  return absl::StrCat(count, count == 1 ? " example" : " examples");
}

// "softmax, rows of 5; 12 of 285 examples"
std::string place_of(const GradcheckSubject& subject, size_t number, size_t count) {
  return absl::StrCat(subject.name, ", ", subject.example, "; ", number, " of ",
                      examples_word(static_cast<int64_t>(count)));
}

template <class Check>
absl::Status check_all(const GradcheckRequest& request, const Check& check) {
  for (int64_t i = 0; i < request.seeds; ++i) {
    const auto seed = static_cast<uint64_t>(request.seed + i);
    ASSIGN_OR_RETURN(const std::vector<GradcheckSubject> subjects,
                     subjects_of(request.subjects, seed));
    for (size_t done = 0; const GradcheckSubject& subject : subjects) {
      request.tell(place_of(subject, ++done, subjects.size()));
      check(subject, seed);
    }
  }
  return absl::OkStatus();
}

// The reports of single checks: as text those that did not pass, and as JSON all.
class Reports {
 public:
  explicit Reports(const GradcheckRequest& request) : request_(request) {}

  template <class Report>
  void add(const GradcheckSubject& subject, uint64_t seed, const Report& report) {
    if (request_.makes_json) {
      json_.push_back({{"kind", subject.kind},
                       {"name", subject.name},
                       {"example", subject.example},
                       {"seed", seed},
                       {"report", to_json(report)}});
    }
    if (report.passed() && !request_.verbose) return;
    absl::StrAppend(&text_, "\n", subject.name, ", ", subject.example, ", seed ", seed, "\n",
                    report.to_text());
  }

  const std::string& text() const { return text_; }
  const Json& json() const { return json_; }

 private:
  const GradcheckRequest& request_;
  std::string text_;
  Json json_ = Json::array();
};

class GradientCheck {
 public:
  explicit GradientCheck(const GradcheckRequest& request) : request_(request), reports_(request) {
    findings_.order = request.order;
    findings_.seed = request.seed;
    findings_.seeds = request.seeds;
  }

  absl::Status run() {
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < request_.seeds; ++i) {
      RETURN_IF_ERROR(check_point(static_cast<uint64_t>(request_.seed + i)));
    }
    findings_.seconds = seconds_since(start);
    return absl::OkStatus();
  }

  // All but the page.
  GradcheckOutcome outcome() const {
    std::vector<std::string> wrong;
    std::string rows;
    for (const CheckedFunction& function : findings_.functions) {
      rows += function.row.to_text();
      if (function.row.verdict != Verdict::kPass) wrong.push_back(function.row.name);
    }
    const absl::Status verdict = not_passed(wrong);
    const GradcheckRow all = findings_.total();
    const std::string total = absl::StrFormat(
        "%d derivatives of %s, order %d, in %.1f s: %s\n", all.derivatives,
        examples_word(all.examples), request_.order, findings_.seconds, verdict_word(verdict));
    GradcheckOutcome outcome = {
        .text = absl::StrCat(gradcheck_table_head(), rows, reports_.text(), total),
        .verdict = verdict};
    if (request_.makes_json) {
      outcome.json = json_document({{"passed", verdict.ok()},
                                    {"order", request_.order},
                                    {"derivatives", all.derivatives},
                                    {"seconds", findings_.seconds},
                                    {"checks", reports_.json()}});
    }
    return outcome;
  }

  // With a V curve of each function, and the mistakes that were planted, if any.
  absl::StatusOr<std::string> page(std::optional<MutationReport> mutations = std::nullopt) {
    GradcheckRequest first_point = request_;
    first_point.seeds = 1;
    RETURN_IF_ERROR(check_all(first_point, [this](const GradcheckSubject& subject, uint64_t seed) {
      CheckedFunction& function = findings_.function(subject.kind, subject.name);
      if (function.curve.points.empty()) function.curve = step_curve_of(subject, seed);
    }));
    findings_.mutations = std::move(mutations);
    return gradcheck_page(findings_, request_.language);
  }

 private:
  // Many subjects at a time, each by one thread.
  absl::Status check_point(uint64_t seed) {
    ASSIGN_OR_RETURN(const std::vector<GradcheckSubject> subjects,
                     subjects_of(request_.subjects, seed));
    std::vector<GradcheckReport> checked(subjects.size());
    std::mutex one_at_a_time;
    size_t begun = 0;
    kernels::parallel_for(std::ssize(checked), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        const GradcheckSubject& subject = subjects[at];
        const auto tell = [&](const std::string& what) {
          const std::scoped_lock lock(one_at_a_time);
          begun += what.empty() ? 1 : 0;
          const bool is_alone = subjects.size() == 1;
          request_.tell(is_alone && !what.empty() ? absl::StrCat(subject.name, ": ", what)
                                                  : place_of(subject, begun, subjects.size()));
        };
        tell("");
        checked[at] = check(subject, seed, tell);
      }
    });
    for (size_t i = 0; i < checked.size(); ++i) take(subjects[i], seed, checked[i]);
    return absl::OkStatus();
  }

  GradcheckReport check(const GradcheckSubject& subject, uint64_t seed,
                        const TellProgress& tell) const {
    return gradcheck(subject.f, subject.inputs,
                     {.order = static_cast<int>(request_.order),
                      .seed = seed,
                      .names = subject.input_names,
                      .tell = tell,
                      .diagnose = diagnose,
                      .name_wrong_op = name_wrong_op});
  }

  void take(const GradcheckSubject& subject, uint64_t seed, const GradcheckReport& report) {
    CheckedFunction& function = findings_.function(subject.kind, subject.name);
    function.row.add(report);
    reports_.add(subject, seed, report);
    const bool is_first_point = seed == static_cast<uint64_t>(request_.seed);
    if (!request_.makes_page || (!is_first_point && report.passed())) return;
    function.examples.push_back({.name = subject.example, .seed = seed, .report = report});
  }

  static StepCurve step_curve_of(const GradcheckSubject& subject, uint64_t seed) {
    StepCurve curve{.example = subject.example};
    try {
      curve.points = step_sweep(subject.f, subject.inputs, seed);
    } catch (const Error& error) {
      curve.why_none = error.what();
    }
    return curve;
  }

  const GradcheckRequest& request_;
  GradcheckFindings findings_;
  Reports reports_;
};

PrecisionRow& row_of(const GradcheckSubject& subject, std::vector<PrecisionRow>& rows) {
  const auto found = std::ranges::find_if(rows, [&](const PrecisionRow& row) {
    return row.kind == subject.kind && row.name == subject.name;
  });
  if (found != rows.end()) return *found;
  rows.push_back({.kind = subject.kind, .name = subject.name});
  return rows.back();
}

}  // namespace

absl::StatusOr<GradcheckOutcome> check_gradients(const GradcheckRequest& request) {
  GradientCheck check(request);
  RETURN_IF_ERROR(check.run());
  GradcheckOutcome outcome = check.outcome();
  if (!request.makes_page) return outcome;
  ASSIGN_OR_RETURN(outcome.page, check.page());
  return outcome;
}

absl::StatusOr<GradcheckOutcome> check_precision(const GradcheckRequest& request) {
  const Clock::time_point start = Clock::now();
  const Precision precision = request.subjects.precision;
  PrecisionOptions options;
  std::vector<PrecisionRow> rows;
  Reports reports(request);
  const auto check = [&](const GradcheckSubject& subject, uint64_t seed) {
    options.seed = seed;
    options.names = subject.input_names;
    const PrecisionReport report = precision_check(subject.f, subject.inputs, options);
    PrecisionRow& row = row_of(subject, rows);
    const bool is_narrow =
        precision != Precision::kBf16 || report.roundoff >= unit_roundoff(DType::bf16);
    if (!is_narrow) return;  // all of it is f32
    row.add(report);
    reports.add(subject, seed, report);
  };
  RETURN_IF_ERROR(check_all(request, check));

  std::string text = precision_table_head();
  std::vector<std::string> without_bf16, wrong;
  int64_t compared = 0, examples = 0;
  for (const PrecisionRow& row : rows) {
    if (row.examples == 0) {
      without_bf16.push_back(row.name);
      continue;
    }
    text += row.to_text();
    compared += row.compared;
    examples += row.examples;
    if (row.verdict != Verdict::kPass) wrong.push_back(row.name);
  }
  if (examples == 0) {
    return invalid_argument("--precision bf16: these have no bf16 version: ",
                            absl::StrJoin(without_bf16, ", "));
  }
  const double seconds = seconds_since(start);
  GradcheckOutcome outcome = {.verdict = not_passed(wrong)};
  outcome.text = absl::StrCat(
      text, reports.text(),
      without_bf16.empty()
          ? ""
          : absl::StrCat("not available in bf16: ", absl::StrJoin(without_bf16, ", "), "\n"),
      absl::StrFormat("%d numbers of %s in %s against f64, in %.1f s: %s\n", compared,
                      examples_word(examples), name_of(precision), seconds,
                      verdict_word(outcome.verdict)));
  if (request.makes_json) {
    outcome.json = json_document({{"passed", outcome.verdict.ok()},
                                  {"precision", name_of(precision)},
                                  {"seconds", seconds},
                                  {"checks", reports.json()}});
  }
  return outcome;
}

absl::StatusOr<GradcheckOutcome> plant_mistakes(const GradcheckRequest& request) {
  ASSIGN_OR_RETURN(const std::vector<OpExamples> functions, examples_named(request.subjects.names));
  GradientCheck check(request);
  GradcheckOutcome outcome;
  if (request.makes_page) {  // which has the check, too
    RETURN_IF_ERROR(check.run());
    outcome = check.outcome();
    outcome.json = "";
  }
  std::optional<MutationReport> planted;
  if (outcome.verdict.ok()) {  // else a mistake is there already
    const Clock::time_point start = Clock::now();
    planted = run_mutations(functions,
                            {.seed = static_cast<uint64_t>(request.seed), .tell = request.tell});
    absl::StrAppend(
        &outcome.text, planted->to_text(),
        absl::StrFormat("%d mutants in %.1f s\n", planted->results.size(), seconds_since(start)));
    if (request.makes_json) outcome.json = json_document(to_json(*planted));
    if (const size_t survivors = planted->survivors().size(); survivors > 0) {
      outcome.verdict = absl::InternalError(
          absl::StrCat("gradcheck: ", survivors, " planted mistakes were not caught"));
    }
  }
  if (!request.makes_page) return outcome;
  ASSIGN_OR_RETURN(outcome.page, check.page(std::move(planted)));
  return outcome;
}

absl::StatusOr<GradcheckOutcome> sweep_steps(const GradcheckRequest& request) {
  const auto seed = static_cast<uint64_t>(request.seed);
  ASSIGN_OR_RETURN(const std::vector<GradcheckSubject> subjects,
                   subjects_of(request.subjects, seed));
  const GradcheckSubject& subject = subjects.front();
  request.tell(absl::StrCat(subject.name, ", ", subject.example));
  const std::vector<SweepPoint> points = step_sweep(subject.f, subject.inputs, seed);
  return GradcheckOutcome{
      .text = absl::StrCat(subject.name, "\n",
                           figure_text(sweep_chart(points, subject.example), Language::kEnglish)),
      .csv = sweep_csv(points)};
}

}  // namespace qkv
