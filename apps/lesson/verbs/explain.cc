#include "absl/strings/str_join.h"
#include "apps/lesson/document.h"
#include "apps/lesson/fitted_page.h"
#include "apps/lesson/lesson_examples.h"
#include "apps/lesson/lesson_of_run.h"
#include "apps/lesson/tape.h"
#include "apps/lesson/walk.h"
#include "apps/report/texts/text.h"
#include "cli/kit.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

constexpr int64_t kBytesOfMegabyte = 1000000, kMostMegabytes = 500;  // a browser reads no more

void add_explain_options(OptionList& options) {
  options.text("prompt", "TEXT", "The text that the model reads; by default a validation example");
  options.text("target", "TEXT", "The text that should follow; by default the answer");
  options.integer("validation", "N",
                  "Number of the validation example, counted from 0; by default that of "
                  "the first eight with the largest loss");
  options.text("example", "NAME",
               absl::StrCat("Explains a built-in example, which needs no run: ",
                            absl::StrJoin(lesson_names(), ", ")));
  options.choices("example", lesson_names);
  options.integer("layer", "N",
                  "Begins at this attention layer, counted from 0; by default where attention is "
                  "sharpest");
  options.integer("head", "N",
                  "Begins at this head of the layer; by default the sharpest, or 0 with --layer");
  options.integer("position", "N", "Begins at the query of this position; by default 0");
  options.set("Changes the model: --set attention.causal=false; may be repeated");
  options.text("out", "FILE", "The page to write; by default NAME.html");
  options.integer("max-size", "MB",
                  "Size of the page: of a larger model it has one block, or one layer", 2);
  options.flag("forms",
               "The page can also show the model with other heads, positions or projections");
  options.flag("text", "Prints the steps of one head in the terminal; no page without --out");
  options.json("all numbers, and no page without --out,");
  options.text("lang", "en|zh", "Language that the page begins with; by default the browser's");
  options.one_of("lang", names_of<Language>);
  OptionRules& rules = options.rules();
  rules.exclude({"example"}, {"RUN"}, "both say what is explained");
  rules.exclude({"prompt"}, {"validation"}, "both say what the model reads");
  rules.exclude({"prompt", "validation"}, {"example"}, "--example has its own text");
  rules.need({"target"}, "prompt");
  rules.exclude({"text"}, {"json=-"}, "standard output has the JSON alone");
  rules.exclude({"max-size", "forms", "lang"}, {"json", "text"}, "they make no page by themselves",
                {"out"});
}

absl::StatusOr<Lesson> chosen_lesson(const std::string& run, const GivenOptions& given) {
  if (given.has("example")) return find_lesson(given.text("example"));
  RunExample example = {.validation = given.integer_if_given("validation")};
  if (given.has("prompt")) example.prompt = given.text("prompt");
  if (given.has("target")) example.target = given.text("target");
  return lesson_of_run(run, example, say_note);
}

absl::Status run_explain(const std::string& name, const GivenOptions& given) {
  const int64_t max_size = given.integer("max-size");
  absl::Status s = reject(
      {{name.empty() && !given.has("example"), "explain needs a RUN, or --example three-words"},
       {max_size < 1 || max_size > kMostMegabytes,
        absl::StrCat("--max-size must be between 1 and ", kMostMegabytes, ", not ", max_size)}});
  if (!s.ok()) return s;
  absl::StatusOr<Lesson> lesson = chosen_lesson(name, given);
  if (!lesson.ok()) return lesson.status();
  const absl::StatusOr<Config> config = config_with(*lesson, given.set());
  if (!config.ok()) return config.status();
  const bool page_is_asked_for = given.has("out") || !(given.has("json") || given.has("text"));
  std::string page_path = given.text("out");
  if (page_is_asked_for && page_path.empty()) page_path = lesson->config.name + ".html";
  const OutputFile files[] = {{"out", page_path, kBeginningOfPage},
                              {"json", json_file(given), R"({"format":"qkv lesson")"}};
  if (s = check_outputs(files); !s.ok()) return s;
  const bool as_text = page_is_asked_for || given.has("json");
  s = check_memory(config->model, lesson->model.data(), lesson->batch, lesson->form(), as_text);
  if (!s.ok()) return s;
  if (!given.set().empty()) lesson = with_settings(*lesson, given.set());
  if (!lesson.ok()) return lesson.status();
  lesson->language = given.text("lang");
  lesson->has_forms = given.has("forms") || lesson->practice;
  ProgressLine progress(stderr);
  progress.show("computing forward and backward");
  Recording recording = record(lesson->model, lesson->batch, lesson->form());
  const Beginning beginning = {.layer = given.integer_if_given("layer"),
                               .head = given.integer_if_given("head"),
                               .position = given.integer_if_given("position")};
  if (s = begin_at(beginning, recording, *lesson); !s.ok()) return s;
  progress.clear();
  const auto note = [&](const std::string& text) {
    progress.clear();
    say_note(text);
  };
  for (const std::string& warning : warnings_of(*lesson, recording)) say_note(warning);
  if (given.has("text") && !prints_json(given)) show(lesson_walk(recording, *lesson));
  if (!name.empty() && given.set().empty() && as_text) {  // it was trained so
    const auto most = given.has("json") ? std::nullopt : std::optional(max_size);
    add_history(name, recording, most, *lesson, note,
                [&](const std::string& what) { progress.show(what); });
  }
  if (given.has("json")) s = write_json(given, lesson_document(recording, *lesson, 0));
  if (!s.ok() || !page_is_asked_for) return s;
  progress.show("making the page");
  const std::string page =
      fitted_page(std::move(recording), *lesson, max_size * kBytesOfMegabyte, note);
  if (s = write_file_atomically(page_path, page); !s.ok()) return s;
  progress.clear();
  if (!prints_json(given)) show(absl::StrCat("wrote ", printable(page_path), "\n"));
  return s;
}

}  // namespace

Verb explain_verb() {
  return {{"explain", "[RUN]", "shows every number of attention, forward and backward"},
          add_explain_options,
          run_explain};
}

}  // namespace qkv
