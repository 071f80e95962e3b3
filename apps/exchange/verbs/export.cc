#include <filesystem>
#include <string_view>

#include "absl/strings/str_join.h"
#include "apps/exchange/export_formats.h"
#include "cli/kit.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

void add_export_options(OptionList& options) {
  OptionRules::Names before;
  for (const ExportFormat& format : export_formats()) {
    options.text(format.option, format.value, format.help);
    options.rules().exclude({format.option}, before, "export writes one format at a time");
    before.push_back(format.option);
  }
}

absl::Status run_export(const std::string& name, const GivenOptions& given) {
  std::vector<std::string> options;
  const ExportFormat* chosen = nullptr;
  for (const ExportFormat& format : export_formats()) {
    options.push_back(absl::StrCat("--", format.option, " ", format.value));
    if (given.has(format.option)) chosen = &format;
  }
  if (!chosen) {
    return invalid_argument("export needs ", absl::StrJoin(options, " or "), ", what to write");
  }
  const ExportFormat& format = *chosen;
  const std::string named = given.text(format.option);
  const std::vector<ExportedFile> files = format.files(named);
  std::vector<OutputFile> outputs;
  for (const auto& [path, beginning] : files) outputs.push_back({format.option, path, beginning});
  std::error_code ignored;
  const bool new_folder =
      format.value == std::string_view("FOLDER") && !std::filesystem::exists(named, ignored);
  if (!new_folder) RETURN_IF_ERROR(check_outputs(outputs));
  ASSIGN_OR_RETURN(const LoadedRun run, load_run(name));
  if (const std::string unknown = unknown_choice(run.checkpoint.config.model); !unknown.empty()) {
    return failed_precondition(run.path, ": no format has words for ", unknown);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> made, format.make(run, named));
  if (new_folder) RETURN_IF_ERROR(make_folder(named));
  std::vector<FileToWrite> written;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!made[i].empty()) written.push_back({files[i].path, made[i]});
  }
  absl::Status status = write_files_together(written);
  if (!status.ok() && new_folder) std::filesystem::remove(named, ignored);
  if (!status.ok()) return status;
  for (const FileToWrite& file : written) {
    show(absl::StrCat("wrote ", printable(file.path), "\n"));
  }
  return absl::OkStatus();
}

}  // namespace

Verb export_verb() {
  return {{"export", "RUN", "writes a model for other programs"}, add_export_options, run_export};
}

}  // namespace qkv
