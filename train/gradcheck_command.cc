#include "train/gradcheck_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/autograd/check_each_op.h"
#include "framework/autograd/gradcheck.h"
#include "framework/autograd/sweep.h"
#include "train/files.h"
#include "train/gradcheck_subjects.h"

namespace qkv {
namespace {

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// The checks of one op, layer or model: a row of the table.
struct Row {
  std::string kind, name;
  int64_t examples = 0, derivatives = 0;
  double worst = 0.0;  // error / tolerance
  int64_t failed = 0;
  std::string reports = "";  // of those that did not pass, or of all
};

double worst_of(const GradcheckReport& report) {
  double worst = 0.0;
  for (const InputReport& input : report.inputs) {
    if (input.tolerance > 0.0) worst = std::max(worst, input.error / input.tolerance);
  }
  return worst;
}

constexpr char kRowFormat[] = "%-6s %-20s %8s %11s %11s  %s\n";

std::string row_text(const Row& row) {
  return absl::StrFormat(kRowFormat, row.kind, row.name, absl::StrCat(row.examples),
                         absl::StrCat(row.derivatives), absl::StrFormat("%.1e", row.worst),
                         row.failed == 0 ? "PASS" : "FAIL");
}

class Table {
 public:
  explicit Table(const GradcheckCommandOptions& options) : options_(options) {}

  void check(const GradcheckSubject& subject, uint64_t seed) {
    if (row_.name != subject.name || row_.kind != subject.kind) {
      end_row();
      row_ = {.kind = subject.kind, .name = subject.name};
    }
    const GradcheckReport report = gradcheck(
        subject.f, subject.inputs, {.order = static_cast<int>(options_.order), .seed = seed});
    ++row_.examples;
    row_.derivatives += report.elements;
    row_.worst = std::max(row_.worst, worst_of(report));
    if (!report.passed()) ++row_.failed;
    if (report.passed() && !options_.verbose) return;
    absl::StrAppend(&row_.reports, "\n", subject.name, ", ", subject.example, "\n",
                    report.to_text());
    if (!report.passed()) explain(subject);
  }

  // The reports and the verdict on all.
  absl::Status end() {
    end_row();
    print(reports_);
    if (wrong_.empty()) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("gradcheck: did not pass: ", absl::StrJoin(wrong_, ", ")));
  }

  int64_t derivatives() const { return derivatives_; }
  int64_t examples() const { return examples_; }

 private:
  void end_row() {
    if (row_.name.empty()) return;
    if (examples_ == 0) {
      print(absl::StrFormat(kRowFormat, "", "", "examples", "derivatives", "error/tol.", ""));
    }
    print(row_text(row_));
    derivatives_ += row_.derivatives;
    examples_ += row_.examples;
    if (row_.failed > 0) wrong_.push_back(row_.name);
    reports_ += row_.reports;
    row_ = Row();
  }

  // Which op of a layer or a model is it?
  void explain(const GradcheckSubject& subject) {
    if (subject.kind == "op") return;
    const std::vector<OpCheck> wrong = find_wrong_ops(subject.f, subject.inputs);
    if (wrong.empty()) {
      absl::StrAppend(&row_.reports, "each of its ops passes by itself\n");
      return;
    }
    absl::StrAppend(&row_.reports, "the first wrong op is ", wrong[0].to_text(), "\n",
                    wrong[0].report.to_text());
  }

  const GradcheckCommandOptions& options_;
  Row row_;
  std::vector<std::string> wrong_;
  std::string reports_;
  int64_t derivatives_ = 0, examples_ = 0;
};

absl::Status check_options(const GradcheckCommandOptions& options) {
  if (options.order != 1 && options.order != 2) {
    return absl::InvalidArgumentError("--order must be 1 or 2");
  }
  if (options.seeds < 1) return absl::InvalidArgumentError("--seeds must be 1 or more");
  if (!options.config.empty() && !options.names.empty()) {
    return absl::InvalidArgumentError("--config and --op exclude each other");
  }
  if (options.config.empty() && !options.overrides.empty()) {
    return absl::InvalidArgumentError("--set changes a config: give --config CONFIG with it");
  }
  if (!options.sweep.empty() && options.config.empty() && options.names.size() != 1) {
    return absl::InvalidArgumentError("--sweep needs one --op NAME, or --config CONFIG");
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

absl::Status sweep(const GradcheckSubject& subject, const GradcheckCommandOptions& options) {
  const std::vector<SweepPoint> points = step_sweep(subject.f, subject.inputs, options.seed);
  if (absl::Status status = write_file_atomically(options.sweep, sweep_csv(points)); !status.ok()) {
    return status;
  }
  print(absl::StrCat(subject.name, ", ", subject.example, "\n", sweep_picture(points), "wrote ",
                     points.size(), " steps to ", options.sweep, "\n"));
  return absl::OkStatus();
}

}  // namespace

absl::Status gradcheck_command(const GradcheckCommandOptions& options) {
  if (absl::Status status = check_options(options); !status.ok()) return status;
  const auto start = std::chrono::steady_clock::now();
  Table table(options);
  for (int64_t i = 0; i < options.seeds; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    const absl::StatusOr<std::vector<GradcheckSubject>> subjects = subjects_of(options, seed);
    if (!subjects.ok()) return subjects.status();
    if (!options.sweep.empty()) return sweep(subjects->front(), options);
    for (const GradcheckSubject& subject : *subjects) table.check(subject, seed);
  }
  const absl::Status status = table.end();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  print(absl::StrFormat("%d derivatives of %d examples, order %d, in %.1f s: %s\n",
                        table.derivatives(), table.examples(), options.order, elapsed.count(),
                        status.ok() ? "PASS" : "FAIL"));
  return status;
}

}  // namespace qkv
