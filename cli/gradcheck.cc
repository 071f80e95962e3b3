#include "framework/gradcheck/gradcheck.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/gradcheck_json.h"
#include "cli/gradcheck_subjects.h"
#include "cli/gradcheck_table.h"
#include "cli/verbs.h"
#include "framework/core/utf8.h"
#include "framework/gradcheck/check_each_op.h"
#include "framework/gradcheck/coverage.h"
#include "framework/gradcheck/sweep.h"
#include "framework/io/files.h"
#include "framework/mutation/mutation.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Text for people, and JSON for programs. Where the JSON goes to standard output, the text does
// not.
class Output {
 public:
  explicit Output(std::string json_file) : json_file_(std::move(json_file)) {}

  void print(const std::string& text) const {
    if (json_file_ == "-") return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  absl::Status write(const Json& json) const {
    if (json_file_.empty()) return absl::OkStatus();
    const std::string text = json.dump(1) + "\n";
    if (json_file_ != "-") return write_file_atomically(json_file_, text);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return absl::OkStatus();
  }

 private:
  std::string json_file_;
};

struct GradcheckCommandOptions {
  std::vector<std::string> names = {};      // of ops, layers and models; none: all of them
  std::string config = "";                  // checks the model of a config and its loss instead
  std::vector<std::string> overrides = {};  // of the config
  int64_t order = 1;                        // 2: the derivatives of the derivatives, too
  int64_t seed = 1;                         // of the first point
  int64_t seeds = 1;                        // how many points
  bool coverage = false;                    // shows what each op is checked for instead
  bool mutate = false;                      // plants mistakes in the backward formulas instead
  std::string sweep = "";                   // a CSV file for the error against the step instead
  std::string json = "";  // a file for the whole report; "-": standard output, in place of text
  bool verbose = false;   // prints the reports of those that pass, too
};

void add_options(OptionList& options) {
  options.texts("op", "NAME", "An op, layer or model by its name; may be repeated");
  options.text("config", "CONFIG", "Checks the model of a config and its loss, every parameter");
  options.integer("order", "N", "2: the derivatives of the derivatives, too", 1);
  options.flag("mutate", "Plants mistakes in the backward formulas: each must be caught");
  options.flag("coverage", "What each op is checked for");
  options.text("sweep", "FILE.csv", "Writes the error against the step, and shows its picture");
  options.integer("seed", "S", "Another seed, another point", 1);
  options.integer("seeds", "N", "How many points, from --seed on", 1);
  options.text("json", "FILE", "Writes the whole report; - is standard output");
  options.flag("verbose", "The reports of those that pass, too");
  options.set();
}

absl::Status check_options(const GradcheckCommandOptions& o) {
  const auto wrong = [](const char* message) { return absl::InvalidArgumentError(message); };
  if (o.order != 1 && o.order != 2) return wrong("--order must be 1 or 2");
  if (o.seed < 0) return wrong("--seed must be 0 or more");
  if (o.seeds < 1) return wrong("--seeds must be 1 or more");
  if (o.mutate && (o.order != 1 || o.seeds != 1)) {
    return wrong("--mutate plants its mistakes once, at first order: no --order, no --seeds");
  }
  if (o.mutate + o.coverage + !o.sweep.empty() > 1) {
    return wrong("--mutate, --coverage and --sweep exclude each other");
  }
  if (!o.config.empty() && !o.names.empty()) return wrong("--config and --op exclude each other");
  if (!o.config.empty() && (o.mutate || o.coverage)) {
    return wrong("--mutate and --coverage look at ops, not at a config: choose them with --op");
  }
  if (o.config.empty() && !o.overrides.empty()) {
    return wrong("--set changes a config: give --config CONFIG with it");
  }
  if (!o.sweep.empty() && o.config.empty() && o.names.size() != 1) {
    return wrong("--sweep needs one --op NAME, or --config CONFIG");
  }
  if ((!o.sweep.empty() || o.coverage) && !o.json.empty()) {
    return wrong("--json goes with a check or with --mutate");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<GradcheckSubject>> subjects_of(const GradcheckCommandOptions& options,
                                                          uint64_t seed) {
  if (options.config.empty()) return example_subjects(options.names, seed);
  absl::StatusOr<GradcheckSubject> subject = config_subject(options.config, options.overrides);
  if (!subject.ok()) return subject.status();
  return std::vector<GradcheckSubject>{*std::move(subject)};
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
      : options_(options), output_(output) {}

  void check(const GradcheckSubject& subject, uint64_t seed) {
    const GradcheckReport report = gradcheck(subject.f, subject.inputs,
                                             {.order = static_cast<int>(options_.order),
                                              .seed = seed,
                                              .names = subject.input_names,
                                              .concurrent = true});
    row_of(subject).add(report);
    if (!options_.json.empty()) {
      checks_.push_back({{"kind", subject.kind},
                         {"name", subject.name},
                         {"example", subject.example},
                         {"seed", seed},
                         {"report", to_json(report)}});
    }
    if (report.passed() && !options_.verbose) return;
    absl::StrAppend(&reports_, "\n", subject.name, ", ", subject.example, ", seed ", seed, "\n",
                    report.to_text());
    if (!report.passed() && subject.kind != "op") reports_ += wrong_op_of(subject);
  }

  // Prints the table, the reports and the verdict.
  absl::Status end(double seconds) const {
    GradcheckRow all;
    std::vector<std::string> wrong;
    output_.print(gradcheck_table_head());
    for (const GradcheckRow& row : rows_) {
      output_.print(row.to_text());
      all.derivatives += row.derivatives;
      all.examples += row.examples;
      if (row.verdict != Verdict::kPass) wrong.push_back(row.name);
    }
    output_.print(reports_);
    const absl::Status verdict =
        wrong.empty() ? absl::OkStatus()
                      : absl::InternalError(
                            absl::StrCat("gradcheck: did not pass: ", absl::StrJoin(wrong, ", ")));
    output_.print(absl::StrFormat("%d derivatives of %d examples, order %d, in %.1f s: %s\n",
                                  all.derivatives, all.examples, options_.order, seconds,
                                  verdict.ok() ? "PASS" : "not passed"));
    const absl::Status written = output_.write({{"passed", verdict.ok()},
                                                {"order", options_.order},
                                                {"derivatives", all.derivatives},
                                                {"seconds", seconds},
                                                {"checks", checks_}});
    return written.ok() ? verdict : written;
  }

 private:
  GradcheckRow& row_of(const GradcheckSubject& subject) {
    const auto found = std::ranges::find_if(rows_, [&](const GradcheckRow& row) {
      return row.kind == subject.kind && row.name == subject.name;
    });
    if (found != rows_.end()) return *found;
    rows_.push_back({.kind = subject.kind, .name = subject.name});
    return rows_.back();
  }

  const GradcheckCommandOptions& options_;
  const Output& output_;
  std::vector<GradcheckRow> rows_;
  std::string reports_;
  Json checks_ = Json::array();
};

absl::Status check(const GradcheckCommandOptions& options, const Output& output) {
  const Clock::time_point start = Clock::now();
  Checker checker(options, output);
  for (int64_t i = 0; i < options.seeds; ++i) {
    const auto seed = static_cast<uint64_t>(options.seed + i);
    const absl::StatusOr<std::vector<GradcheckSubject>> subjects = subjects_of(options, seed);
    if (!subjects.ok()) return subjects.status();
    for (const GradcheckSubject& subject : *subjects) checker.check(subject, seed);
  }
  return checker.end(seconds_since(start));
}

absl::Status mutate(const GradcheckCommandOptions& options, const Output& output) {
  const absl::StatusOr<std::vector<OpExamples>> functions =
      examples_named(options.names, /*layers_too=*/true);
  if (!functions.ok()) return functions.status();
  const Clock::time_point start = Clock::now();
  const MutationReport report =
      run_mutations(*functions, {.seed = static_cast<uint64_t>(options.seed)});
  output.print(report.to_text());
  output.print(
      absl::StrFormat("%d mutants in %.1f s\n", report.results.size(), seconds_since(start)));
  if (absl::Status status = output.write(to_json(report)); !status.ok()) return status;
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
  const GradcheckCommandOptions options = {.names = given.texts("op"),
                                           .config = given.text("config"),
                                           .overrides = given.set(),
                                           .order = given.integer("order"),
                                           .seed = given.integer("seed"),
                                           .seeds = given.integer("seeds"),
                                           .coverage = given.has("coverage"),
                                           .mutate = given.has("mutate"),
                                           .sweep = given.text("sweep"),
                                           .json = given.text("json"),
                                           .verbose = given.has("verbose")};
  if (absl::Status status = check_options(options); !status.ok()) return status;
  const Output output(options.json);
  if (options.coverage) return cover(options, output);
  if (options.mutate) return mutate(options, output);
  if (!options.sweep.empty()) return sweep(options, output);
  return check(options, output);
}

}  // namespace

Verb gradcheck_verb() {
  return {"gradcheck", "", "checks the gradients of ops, layers and models", add_options, run};
}

}  // namespace qkv
