#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/lessons/verbs.h"
#include "cli/output_files.h"
#include "framework/core/terminal.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"
#include "lessons/gradcheck/run_gradcheck.h"

namespace qkv {
namespace {

void add_gradcheck_options(OptionList& options) {
  options.texts("op", "NAME", "Checks only this op, layer, model or step; may be repeated");
  options.choices("op", names_of_subjects);
  options.text("config", "CONFIG", "Checks the loss of a config's model, for every parameter");
  options.integer("order", "N", "2: also checks second derivatives", 1);
  options.text("precision", "TYPE", "f32, bf16: compares results with f64, within rounding bounds",
               "f64");
  options.choices("precision", names_of<Precision>);
  options.flag("mutate", "Plants mistakes in the backward formulas; the check must catch each");
  options.flag("coverage", "Prints which properties are checked for each op");
  options.text("sweep", "FILE.csv", "Writes the error for each step size, and prints a plot");
  options.integer("seed", "S", "Seed of the first point where gradients are checked", 1);
  options.integer("seeds", "N", "Number of points; each has the next seed", 1);
  options.json("the whole report");
  options.text("html", "FILE", "Writes the report as a page; with --mutate, also the mistakes");
  options.flag("verbose", "Also prints the reports of passed checks");
  options.set();
}

absl::Status check_options(const GradcheckRequest& request, const GivenOptions& given) {
  const SubjectChoice& subjects = request.subjects;
  const bool mutate = given.has("mutate"), coverage = given.has("coverage");
  const bool sweep = given.has("sweep"), has_config = !subjects.config.empty();
  const bool checks_nothing = sweep || coverage;
  const bool one_point = request.order == 1 && request.seeds == 1;
  return reject(
      {{request.order != 1 && request.order != 2, "--order must be 1 or 2"},
       {request.seed < 0, "--seed must be 0 or more"},
       {request.seeds < 1, "--seeds must be 1 or more"},
       {mutate && !one_point,
        "--mutate checks one point at first order; it takes no --order and no --seeds"},
       {mutate + coverage + sweep > 1, "--mutate, --coverage and --sweep exclude each other"},
       {has_config && !subjects.names.empty(), "--config and --op exclude each other"},
       {has_config && (mutate || coverage),
        "--mutate and --coverage check ops, not a config; choose ops with --op"},
       {!has_config && !subjects.overrides.empty(),
        "--set changes a config; it needs --config CONFIG"},
       {subjects.precision != Precision::kF64 &&
            (mutate || checks_nothing || request.makes_page || request.order != 1),
        "--precision takes no --order, --mutate, --coverage, --sweep or --html"},
       {sweep && !has_config && subjects.names.size() != 1,
        "--sweep needs one --op NAME, or --config CONFIG"},
       {checks_nothing && !one_point,
        "--sweep and --coverage check one point at first order; they take no --order and no "
        "--seeds"},
       {given.text("sweep") == "-",
        "--sweep needs the name of a file; standard output shows the plot"},
       {checks_nothing && request.makes_json,
        "--json cannot be combined with --sweep or --coverage"},
       {checks_nothing && request.makes_page,
        "--html cannot be combined with --sweep or --coverage"},
       {given.text("html") == "-" && given.text("json") == "-",
        "--json and --html cannot both go to standard output"}});
}

absl::Status run_gradcheck(const std::string& /*argument*/, const GivenOptions& given) {
  const std::optional<Precision> precision = value_of<Precision>(given.text("precision"));
  if (!precision) return absl::InvalidArgumentError("--precision must be f64, f32 or bf16");
  const std::string sweep = given.text("sweep"), html = given.text("html");
  const bool prints_page = html == "-";
  ProgressLine progress(stderr);
  const GradcheckRequest request = {
      .subjects = {.names = given.texts("op"),
                   .config = given.text("config"),
                   .overrides = given.set(),
                   .precision = *precision},
      .order = given.integer("order"),
      .seed = given.integer("seed"),
      .seeds = given.integer("seeds"),
      .verbose = given.has("verbose"),
      .makes_json = given.has("json"),
      .makes_page = !html.empty(),
      .tell = [&](const std::string& what) { progress.show("checking " + what); }};
  if (absl::Status status = check_options(request, given); !status.ok()) return status;
  const OutputFile files[] = {{"sweep", sweep, kBeginningOfSweep},
                              {"json", json_file(given), kBeginningOfGradcheck},
                              {"html", file_named(html), kBeginningOfPage}};
  if (absl::Status status = check_outputs(files); !status.ok()) return status;
  const auto check = given.has("coverage")           ? show_coverage
                     : given.has("mutate")           ? plant_mistakes
                     : !sweep.empty()                ? sweep_steps
                     : *precision != Precision::kF64 ? check_precision
                                                     : check_gradients;
  const absl::StatusOr<GradcheckOutcome> outcome = check(request);
  progress.clear();
  if (!outcome.ok()) return outcome.status();
  if (!prints_json(given) && !prints_page) show_table(outcome->text);
  if (!sweep.empty()) {
    if (absl::Status s = write_file_atomically(sweep, outcome->csv); !s.ok()) return s;
    const auto steps = std::ranges::count(outcome->csv, '\n') - 1;  // besides the heading
    show(absl::StrCat("wrote ", steps, " steps to ", printable(sweep), "\n"));
  }
  if (absl::Status s = write_json(given, outcome->json); !s.ok()) return s;
  if (absl::Status s = write_output(html, outcome->page); !s.ok()) return s;
  return outcome->verdict;
}

}  // namespace

Verb gradcheck_verb() { return {kGradcheckTitle, add_gradcheck_options, run_gradcheck}; }

}  // namespace qkv
