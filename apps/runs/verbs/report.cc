#include "apps/runs/run_page.h"
#include "cli/kit.h"

namespace qkv {
namespace {

void add_report_options(OptionList& options) {
  options.text("out", "FILE", "The page to write; -: to standard output");
  options.text("lang", "en|zh", "Language that the page begins with", "en");
  options.one_of("lang", names_of<Language>);
}

absl::Status run_report(const std::string& run, const GivenOptions& given) {
  const std::string path = given.text("out");
  absl::Status status = reject({{path.empty(), "report needs --out FILE, the page to write"}});
  if (!status.ok()) return status;
  const OutputFile file = {"out", file_named(path), kBeginningOfPage};
  if (status = check_outputs({&file, 1}); !status.ok()) return status;
  const absl::StatusOr<std::string> page = run_page(run, given.value<Language>("lang"), say_note);
  if (!page.ok()) return page.status();
  if (status = write_output(path, *page); !status.ok()) return status;
  if (path != "-") show(absl::StrCat("wrote ", printable(path), "\n"));
  return absl::OkStatus();
}

}  // namespace

Verb report_verb() {
  return {
      {"report", "RUN", "writes a page that shows all of a run"}, add_report_options, run_report};
}

}  // namespace qkv
