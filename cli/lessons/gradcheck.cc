#include "framework/gradcheck/gradcheck.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/lessons/gradcheck_json.h"
#include "cli/lessons/gradcheck_precision.h"
#include "cli/lessons/gradcheck_subjects.h"
#include "cli/lessons/verbs.h"
#include "cli/output_files.h"
#include "framework/core/error.h"
#include "framework/core/utf8.h"
#include "framework/gradcheck/check_each_op.h"
#include "framework/gradcheck/coverage.h"
#include "framework/gradcheck/sweep.h"
#include "framework/io/files.h"
#include "framework/mutation/mutation.h"
#include "lessons/gradcheck/gradcheck_page.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Text and a page for people, and JSON for programs. Where the JSON or the page goes to standard
// output, the text does not.
class Output {
 public:
  Output(std::string json_file, std::string html_file)
      : json_file_(std::move(json_file)), html_file_(std::move(html_file)) {}

  void print(const std::string& text) const {
    if (json_file_ == "-" || html_file_ == "-") return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  absl::Status write(const Json& json) const {
    if (json_file_.empty()) return absl::OkStatus();
    Json document = {{"format", "qkv gradcheck"}};
    document.update(json);
    return write_to(json_file_, document.dump(1) + "\n");
  }

  absl::Status write(const GradcheckFindings& findings) const {
    return html_file_.empty() ? absl::OkStatus() : write_to(html_file_, gradcheck_page(findings));
  }

 private:
  static absl::Status write_to(const std::string& file, const std::string& text) {
    if (file != "-") return write_file_atomically(file, text);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return absl::OkStatus();
  }

  std::string json_file_, html_file_;
};

struct GradcheckCommandOptions {
  std::vector<std::string> names = {};      // ops, layers, models, steps; empty: all
  std::string config = "";                  // instead checks the loss of this config's model
  std::vector<std::string> overrides = {};  // for the config
  int64_t order = 1;                        // 2: second derivatives, too
  Precision precision = Precision::kF64;    // others: compared with f64, within rounding bounds
  int64_t seed = 1;                         // gives the first point
  int64_t seeds = 1;                        // the number of points
  bool coverage = false;                    // instead prints which properties are checked
  bool mutate = false;                      // instead plants mistakes in the backward formulas
  std::string sweep = "";                   // instead writes the errors by step size to this file
  std::string json = "";  // the file for the whole report; "-": standard output, without text
  std::string html = "";  // the file for the report's page; "-" as with json
  bool verbose = false;   // also prints the reports of passed checks
};

void add_options(OptionList& options) {
  options.texts("op", "NAME", "Checks only this op, layer, model or step; may be repeated");
  options.text("config", "CONFIG", "Checks the loss of a config's model, for every parameter");
  options.integer("order", "N", "2: also checks second derivatives", 1);
  options.text("precision", "TYPE", "f32, bf16: compares results with f64, within rounding bounds",
               "f64");
  options.flag("mutate", "Plants mistakes in the backward formulas; the check must catch each");
  options.flag("coverage", "Prints which properties are checked for each op");
  options.text("sweep", "FILE.csv", "Writes the error for each step size, and prints a plot");
  options.integer("seed", "S", "Seed of the first point where gradients are checked", 1);
  options.integer("seeds", "N", "Number of points; each has the next seed", 1);
  options.text("json", "FILE", "Writes the whole report as JSON; -: to standard output");
  options.text("html", "FILE", "Writes the report as a page; with --mutate, also the mistakes");
  options.flag("verbose", "Also prints the reports of passed checks");
  options.set();
}

absl::Status check_options(const GradcheckCommandOptions& o) {
  const auto wrong = [](const char* message) { return absl::InvalidArgumentError(message); };
  if (o.order != 1 && o.order != 2) return wrong("--order must be 1 or 2");
  if (o.seed < 0) return wrong("--seed must be 0 or more");
  if (o.seeds < 1) return wrong("--seeds must be 1 or more");
  if (o.mutate && (o.order != 1 || o.seeds != 1)) {
    return wrong("--mutate checks one point at first order; it takes no --order and no --seeds");
  }
  if (o.mutate + o.coverage + !o.sweep.empty() > 1) {
    return wrong("--mutate, --coverage and --sweep exclude each other");
  }
  if (!o.config.empty() && !o.names.empty()) return wrong("--config and --op exclude each other");
  if (!o.config.empty() && (o.mutate || o.coverage)) {
    return wrong("--mutate and --coverage check ops, not a config; choose ops with --op");
  }
  if (o.config.empty() && !o.overrides.empty()) {
    return wrong("--set changes a config; it needs --config CONFIG");
  }
  if (o.precision != Precision::kF64 &&
      (o.mutate || o.coverage || !o.sweep.empty() || !o.html.empty() || o.order != 1)) {
    return wrong("--precision takes no --order, --mutate, --coverage, --sweep or --html");
  }
  if (!o.sweep.empty() && o.config.empty() && o.names.size() != 1) {
    return wrong("--sweep needs one --op NAME, or --config CONFIG");
  }
  const bool checks_nothing = !o.sweep.empty() || o.coverage;
  if (checks_nothing && (o.order != 1 || o.seeds != 1)) {
    return wrong(
        "--sweep and --coverage check one point at first order; they take no --order and no "
        "--seeds");
  }
  if (o.sweep == "-")
    return wrong("--sweep needs the name of a file; standard output shows the plot");
  if (checks_nothing && !o.json.empty()) {
    return wrong("--json does not go with --sweep or --coverage");
  }
  if (checks_nothing && !o.html.empty()) {
    return wrong("--html does not go with --sweep or --coverage");
  }
  if (o.html == "-" && o.json == "-") {
    return wrong("--json and --html cannot both go to standard output");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<GradcheckSubject>> subjects_of(const GradcheckCommandOptions& options,
                                                          uint64_t seed) {
  if (options.config.empty()) return example_subjects(options.names, seed, options.precision);
  absl::StatusOr<GradcheckSubject> subject =
      config_subject(options.config, options.overrides, options.precision);
  if (!subject.ok()) return subject.status();
  return std::vector<GradcheckSubject>{*std::move(subject)};
}

StepCurve step_curve_of(const GradcheckSubject& subject, uint64_t seed) {
  StepCurve curve{.example = subject.example};
  try {
    curve.points = step_sweep(subject.f, subject.inputs, seed);
  } catch (const Error& error) {
    curve.why_none = error.what();
  }
  return curve;
}

// Which op of a layer or a model is it?
std::string wrong_op_of(const GradcheckSubject& subject) {
  const std::vector<OpCheck> wrong = find_wrong_ops(subject.f, subject.inputs);
  if (wrong.empty()) return "each of its ops passes by itself\n";
  return absl::StrCat("the first op that does not pass by itself is ", wrong[0].to_text(), "\n",
                      wrong[0].report.to_text());
}

class Checker {
 public:
  Checker(const GradcheckCommandOptions& options, const Output& output)
      : options_(options), output_(output) {
    findings_.order = options.order;
    findings_.seed = options.seed;
    findings_.seeds = options.seeds;
  }

  // Fails where there is nothing to check; verdict() names what did not pass.
  absl::Status check_all() {
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < options_.seeds; ++i) {
      const auto seed = static_cast<uint64_t>(options_.seed + i);
      const absl::StatusOr<std::vector<GradcheckSubject>> subjects = subjects_of(options_, seed);
      if (!subjects.ok()) return subjects.status();
      for (const GradcheckSubject& subject : *subjects) check(subject, seed);
    }
    findings_.seconds = seconds_since(start);
    return absl::OkStatus();
  }

  // The table, the reports and the verdict.
  void print() const {
    output_.print(gradcheck_table_head());
    for (const CheckedFunction& function : findings_.functions) {
      output_.print(function.row.to_text());
    }
    output_.print(reports_);
    const GradcheckRow all = findings_.total();
    if (all.missed > 0.0) {
      output_.print(absl::StrFormat(
          "the elements of large inputs are checked in blocks; the probability of missing a wrong "
          "one is\nat most %.0e; --verbose prints the size of errors that this holds for\n",
          all.missed));
    }
    output_.print(absl::StrFormat("%d derivatives of %d %s, order %d, in %.1f s: %s\n",
                                  all.derivatives, all.examples,
                                  all.examples == 1 ? "example" : "examples", options_.order,
                                  findings_.seconds, verdict().ok() ? "PASS" : "not passed"));
  }

  absl::Status verdict() const {
    std::vector<std::string> wrong;
    for (const CheckedFunction& function : findings_.functions) {
      if (function.row.verdict != Verdict::kPass) wrong.push_back(function.row.name);
    }
    if (wrong.empty()) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("gradcheck: did not pass: ", absl::StrJoin(wrong, ", ")));
  }

  Json json() const {
    return {{"passed", verdict().ok()},
            {"order", options_.order},
            {"derivatives", findings_.total().derivatives},
            {"seconds", findings_.seconds},
            {"checks", checks_}};
  }

  // Writes the page, with a V curve of each function and the mistakes that were planted, if any.
  absl::Status write_page(std::optional<MutationReport> mutations) {
    if (options_.html.empty()) return absl::OkStatus();
    const auto seed = static_cast<uint64_t>(options_.seed);
    const absl::StatusOr<std::vector<GradcheckSubject>> subjects = subjects_of(options_, seed);
    if (!subjects.ok()) return subjects.status();
    for (const GradcheckSubject& subject : *subjects) {
      CheckedFunction& function = findings_.function(subject.kind, subject.name);
      if (function.curve.points.empty()) function.curve = step_curve_of(subject, seed);
    }
    findings_.mutations = std::move(mutations);
    return output_.write(findings_);
  }

 private:
  void check(const GradcheckSubject& subject, uint64_t seed) {
    const GradcheckReport report = gradcheck(subject.f, subject.inputs,
                                             {.order = static_cast<int>(options_.order),
                                              .seed = seed,
                                              .names = subject.input_names,
                                              .concurrent = true});
    CheckedFunction& function = findings_.function(subject.kind, subject.name);
    function.row.add(report);
    if (!options_.json.empty()) {
      checks_.push_back({{"kind", subject.kind},
                         {"name", subject.name},
                         {"example", subject.example},
                         {"seed", seed},
                         {"report", to_json(report)}});
    }
    const bool has_wrong_op = !report.passed() && subject.kind != "op";
    const std::string wrong_op = has_wrong_op ? wrong_op_of(subject) : "";
    const bool is_first_point = seed == static_cast<uint64_t>(options_.seed);
    if (!options_.html.empty() && (is_first_point || !report.passed())) {
      function.examples.push_back(
          {.name = subject.example, .seed = seed, .report = report, .wrong_op = wrong_op});
    }
    if (report.passed() && !options_.verbose) return;
    absl::StrAppend(&reports_, "\n", subject.name, ", ", subject.example, ", seed ", seed, "\n",
                    report.to_text(), wrong_op);
  }

  const GradcheckCommandOptions& options_;
  const Output& output_;
  GradcheckFindings findings_;
  std::string reports_;
  Json checks_ = Json::array();
};

absl::Status check(const GradcheckCommandOptions& options, const Output& output) {
  Checker checker(options, output);
  if (absl::Status status = checker.check_all(); !status.ok()) return status;
  checker.print();
  if (absl::Status status = output.write(checker.json()); !status.ok()) return status;
  if (absl::Status status = checker.write_page({}); !status.ok()) return status;
  return checker.verdict();
}

absl::Status check_precision(const GradcheckCommandOptions& options, const Output& output) {
  const Clock::time_point start = Clock::now();
  PrecisionOptions elements;
  if (!options.config.empty()) elements.all_elements = elements.sampled;  // it is large
  PrecisionChecker checker(options.precision, options.verbose, !options.json.empty());
  for (int64_t i = 0; i < options.seeds; ++i) {
    const auto seed = static_cast<uint64_t>(options.seed + i);
    const absl::StatusOr<std::vector<GradcheckSubject>> subjects = subjects_of(options, seed);
    if (!subjects.ok()) return subjects.status();
    elements.seed = seed;
    for (const GradcheckSubject& subject : *subjects) checker.check(subject, elements);
  }
  if (checker.empty()) return checker.status();
  const double seconds = seconds_since(start);
  output.print(checker.text(seconds));
  if (absl::Status status = output.write(checker.json(seconds)); !status.ok()) return status;
  return checker.status();
}

absl::Status mutate(const GradcheckCommandOptions& options, const Output& output) {
  const absl::StatusOr<std::vector<OpExamples>> functions =
      examples_named(options.names, /*layers_too=*/true);
  if (!functions.ok()) return functions.status();
  Checker checker(options, output);
  if (!options.html.empty()) {  // the page has the check, too
    if (absl::Status status = checker.check_all(); !status.ok()) return status;
    checker.print();
    if (absl::Status verdict = checker.verdict(); !verdict.ok()) {
      const absl::Status written = checker.write_page({});
      return written.ok() ? verdict : written;
    }
  }
  const Clock::time_point start = Clock::now();
  const MutationReport report =
      run_mutations(*functions, {.seed = static_cast<uint64_t>(options.seed)});
  output.print(report.to_text());
  output.print(
      absl::StrFormat("%d mutants in %.1f s\n", report.results.size(), seconds_since(start)));
  if (absl::Status status = output.write(to_json(report)); !status.ok()) return status;
  if (absl::Status status = checker.write_page(report); !status.ok()) return status;
  const size_t survivors = report.survivors().size();
  if (survivors == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("gradcheck: ", survivors, " planted mistakes were not caught"));
}

absl::Status cover(const GradcheckCommandOptions& options, const Output& output) {
  const absl::StatusOr<std::vector<OpExamples>> ops =
      examples_named(options.names, /*layers_too=*/false);
  if (!ops.ok()) return ops.status();
  const std::vector<CoverageRow> rows = coverage(*ops, static_cast<uint64_t>(options.seed));
  output.print(coverage_text(rows));
  if (std::ranges::all_of(rows, &CoverageRow::complete)) return absl::OkStatus();
  return absl::InternalError("gradcheck: not every op is covered");
}

absl::Status sweep(const GradcheckCommandOptions& options, const Output& output) {
  const auto seed = static_cast<uint64_t>(options.seed);
  const absl::StatusOr<std::vector<GradcheckSubject>> subjects = subjects_of(options, seed);
  if (!subjects.ok()) return subjects.status();
  const GradcheckSubject& subject = subjects->front();
  const std::vector<SweepPoint> points = step_sweep(subject.f, subject.inputs, seed);
  if (absl::Status status = write_file_atomically(options.sweep, sweep_csv(points)); !status.ok()) {
    return status;
  }
  output.print(absl::StrCat(subject.name, ", ", subject.example, "\n", sweep_picture(points),
                            "wrote ", points.size(), " steps to ", printable(options.sweep), "\n"));
  return absl::OkStatus();
}

absl::Status run(const std::string& /*argument*/, const GivenOptions& given) {
  const absl::StatusOr<Precision> precision = gradcheck_precision(given.text("precision"));
  if (!precision.ok()) return precision.status();
  const GradcheckCommandOptions options = {.names = given.texts("op"),
                                           .config = given.text("config"),
                                           .overrides = given.set(),
                                           .order = given.integer("order"),
                                           .precision = *precision,
                                           .seed = given.integer("seed"),
                                           .seeds = given.integer("seeds"),
                                           .coverage = given.has("coverage"),
                                           .mutate = given.has("mutate"),
                                           .sweep = given.text("sweep"),
                                           .json = given.text("json"),
                                           .html = given.text("html"),
                                           .verbose = given.has("verbose")};
  if (absl::Status status = check_options(options); !status.ok()) return status;
  const auto file = [](const std::string& name) { return name == "-" ? "" : name; };
  const OutputFile files[] = {{"sweep", options.sweep, kBeginningOfSweep},
                              {"json", file(options.json), kBeginningOfGradcheck},
                              {"html", file(options.html), kBeginningOfPage}};
  if (absl::Status status = check_outputs(files); !status.ok()) return status;
  const Output output(options.json, options.html);
  if (options.coverage) return cover(options, output);
  if (options.mutate) return mutate(options, output);
  if (!options.sweep.empty()) return sweep(options, output);
  if (options.precision != Precision::kF64) return check_precision(options, output);
  return check(options, output);
}

}  // namespace

Verb gradcheck_verb() { return {kGradcheckTitle, add_options, run}; }

}  // namespace qkv
