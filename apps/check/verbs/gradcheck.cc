#include <algorithm>

#include "apps/check/run_gradcheck.h"
#include "cli/kit.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

void add_gradcheck_options(OptionList& options) {
  options.texts("op", "NAME", "Checks only this op, layer, model or step; may be repeated");
  options.choices("op", names_of_subjects);
  options.text("config", "CONFIG", "Checks the loss of a config's model, for every parameter");
  options.integer("order", "N", "2: also checks second derivatives", 1);
  options.text("precision", "TYPE",
               "f32, bf16: compares results with f64: how many digits are right", "f64");
  options.one_of("precision", names_of<Precision>);
  options.flag("mutate", "Plants mistakes in the backward formulas; the check must catch each");
  options.text("sweep", "FILE.csv", "Writes the error for each step size, and prints a plot");
  options.integer("seed", "S", "Seed of the first point where gradients are checked", 1);
  options.integer("seeds", "N", "Number of points; each has the next seed", 1);
  options.json("the whole report");
  options.text("out", "FILE", "Writes the report as a page; with --mutate, also the mistakes");
  options.text("lang", "en|zh", "Language that the page begins with", "en");
  options.one_of("lang", names_of<Language>);
  options.flag("verbose", "Also prints the reports of passed checks");
  options.set();
  OptionRules& rules = options.rules();
  rules.exclude({"mutate"}, {"sweep"});
  rules.exclude({"mutate", "sweep"}, {"order", "seeds"}, "one point is checked at first order");
  rules.exclude({"config"}, {"op"}, "both say what is checked");
  rules.exclude({"config"}, {"mutate"}, "ops are checked, which --op chooses");
  rules.need({"set"}, "config");
  rules.need({"lang"}, "out");
  rules.exclude({"precision=f32", "precision=bf16"}, {"order", "mutate", "sweep", "out"},
                "results are compared with f64");
  rules.exclude({"sweep"}, {"json", "out", "verbose"}, "there is no report");
  rules.exclude({"json=-"}, {"out=-"}, "standard output takes one of them");
  rules.exclude({"verbose"}, {"json=-", "out=-"}, "the document has all reports");
  rules.exclude({"verbose"}, {"mutate"}, "a mistake that is caught has no report");
}

absl::Status check_options(const GradcheckRequest& request, const GivenOptions& given) {
  const SubjectChoice& subjects = request.subjects;
  return reject({{request.order != 1 && request.order != 2, "--order must be 1 or 2"},
                 {request.seed < 0, "--seed must be 0 or more"},
                 {request.seeds < 1, "--seeds must be 1 or more"},
                 {given.has("sweep") && subjects.config.empty() && subjects.names.size() != 1,
                  "--sweep needs one --op NAME, or --config CONFIG"},
                 {given.text("sweep") == "-",
                  "--sweep needs the name of a file; standard output shows the plot"}});
}

absl::Status run_gradcheck(const std::string& /*argument*/, const GivenOptions& given) {
  const auto precision = given.value<Precision>("precision");
  const std::string sweep = given.text("sweep"), page = given.text("out");
  const bool prints_page = page == "-";
  ProgressLine progress(stderr);
  const GradcheckRequest request = {
      .subjects = {.names = given.texts("op"),
                   .config = given.text("config"),
                   .overrides = given.set(),
                   .precision = precision},
      .order = given.integer("order"),
      .seed = given.integer("seed"),
      .seeds = given.integer("seeds"),
      .verbose = given.has("verbose"),
      .makes_json = given.has("json"),
      .makes_page = !page.empty(),
      .language = given.value<Language>("lang"),
      .tell = [&](const std::string& what) { progress.show("checking " + what); }};
  RETURN_IF_ERROR(check_options(request, given));
  const OutputFile files[] = {{"sweep", sweep, "step,forward_error,"},
                              {"json", json_file(given), "{\n \"format\": \"qkv gradcheck\""},
                              {"out", file_named(page), kBeginningOfPage}};
  RETURN_IF_ERROR(check_outputs(files));
  const auto check = given.has("mutate")            ? plant_mistakes
                     : !sweep.empty()               ? sweep_steps
                     : precision != Precision::kF64 ? check_precision
                                                    : check_gradients;
  const absl::StatusOr<GradcheckOutcome> outcome = check(request);
  progress.clear();
  if (!outcome.ok()) return outcome.status();
  if (!prints_json(given) && !prints_page) show_table(outcome->text);
  if (!sweep.empty()) {
    RETURN_IF_ERROR(write_file_atomically(sweep, outcome->csv));
    const auto steps = std::ranges::count(outcome->csv, '\n') - 1;  // besides the heading
    show(absl::StrCat("wrote ", steps, " steps to ", printable(sweep), "\n"));
  }
  RETURN_IF_ERROR(write_json(given, outcome->json));
  RETURN_IF_ERROR(write_output(page, outcome->page));
  return outcome->verdict;
}

}  // namespace

Verb gradcheck_verb() {
  return {{"gradcheck", "", "checks gradients of ops, layers, models, training steps"},
          add_gradcheck_options,
          run_gradcheck};
}

}  // namespace qkv
