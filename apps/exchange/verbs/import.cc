#include <filesystem>

#include "apps/exchange/hugging_face/folder.h"
#include "cli/kit.h"

namespace qkv {
namespace {

void add_import_options(OptionList& options) {
  options.text("out", "RUN", "Folder of the run; by default runs/FOLDER");
}

absl::Status run_import(const std::string& folder, const GivenOptions& given) {
  const std::filesystem::path whole = std::filesystem::absolute(folder + "/").lexically_normal();
  const std::string run = given.has("out")
                              ? given.text("out")
                              : absl::StrCat("runs/", whole.parent_path().filename().string());
  absl::Status imported = import_hugging_face(folder, run, say_note);
  if (imported.ok()) show(absl::StrCat("wrote ", printable(run), "\n"));
  return imported;
}

}  // namespace

Verb import_verb() {
  return {{"import", "FOLDER", "makes a run from a Hugging Face model"},
          add_import_options,
          run_import};
}

}  // namespace qkv
