#include <cstdlib>
#include <memory>

#include "absl/strings/match.h"
#include "cli/batch_file.h"
#include "cli/kit.h"
#include "data/show_data.h"
#include "train/config/config.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

constexpr int64_t kMaxImages = 10000;  // in one picture

void add_data_options(OptionList& options) {
  options.set();
  options.split();
  options.integer("samples", "N", "Number of examples to show", 5);
  add_export_options(options,
                     "Writes batches to a safetensors file, or sample images to a FILE.png");
  options.flag("verbose", "Also prints the whole vocabulary, and the names of all classes");
  options.rules().exclude({"samples"}, {"export"}, "a picture has samples", {"export=*.png"});
  options.rules().exclude({"batches"}, {"export=*.png"}, "a picture has samples");
  options.rules().exclude({"verbose"}, {"export"}, "--export only writes a file");
}

Colours terminal_colours() {
  if (!takes_colours(stdout)) return Colours::kNone;
  const char* const said = std::getenv("COLORTERM");
  const std::string kind = said == nullptr ? "" : said;
  return kind == "truecolor" || kind == "24bit" ? Colours::kAll : Colours::k256;
}

absl::Status export_images(const Dataset& dataset, Split split, int64_t samples,
                           const std::string& path) {
  if (!dataset.shape().is_image()) {
    return invalid_argument("--export: ", path, " would be a picture, but the data have no images");
  }
  if (samples < 1 || samples > kMaxImages) {
    return invalid_argument("--samples must be 1 … ", kMaxImages, " when they become one picture");
  }
  ASSIGN_OR_RETURN(const std::string classes, write_contact_sheet(dataset, split, samples, path));
  show(absl::StrCat("wrote ", printable(path), ", images of\n", classes));
  return absl::OkStatus();
}

absl::Status run_data(const std::string& config, const GivenOptions& given) {
  const Split split = given.split();
  const int64_t samples = given.integer("samples");
  if (samples < 0) return absl::InvalidArgumentError("--samples must be 0 or more");
  RETURN_IF_ERROR(check_export_options(given, /*may_be_picture=*/true));
  ASSIGN_OR_RETURN(LoadedConfig loaded, load_config(config, given.set()));
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset, make_dataset(loaded.config));
  if (const std::string file = given.text("export"); !file.empty()) {
    if (absl::EndsWithIgnoreCase(file, ".png")) {
      return export_images(*dataset, split, samples, file);
    }
    return export_batches(*dataset, split, loaded.config.train.batch_size, given);
  }
  for (const std::string& note : dataset->notes()) say_note(note);
  show(describe_dataset(*dataset, given.has("verbose")));
  print(absl::StrCat("\n", describe_examples(*dataset, split, samples, terminal_colours())));
  return absl::OkStatus();
}

}  // namespace

Verb data_verb() {
  return {{"data", "CONFIG", "shows the examples that a config makes, or exports them"},
          add_data_options,
          run_data};
}

}  // namespace qkv
