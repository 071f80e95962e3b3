#include "train/folder/experiment.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "framework/core/text/mistakes.h"
#include "framework/core/text/utf8.h"
#include "framework/kernels/product/matmul.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"
#include "train/folder/checkpoint.h"
#include "train/folder/reading_progress.h"
#include "train/folder/run_folder.h"

namespace qkv {

DType precision_dtype(const TrainOptions& options) {
  return options.precision == Precision::kF64 ? DType::f64 : DType::f32;
}

std::string precision_note(const TrainOptions& options) {
  if (options.precision != Precision::kBf16 || kernels::bf16_products_are_fast()) return "";
  return "precision bf16: this processor has no instructions for bf16 products (AVX-512 bf16, "
         "AMX); it will not be faster than f32";
}

absl::StatusOr<std::unique_ptr<Dataset>> make_dataset(const Config& config,
                                                      const std::stop_token& stop) {
  ReadingProgress progress;
  ASSIGN_OR_RETURN(
      std::unique_ptr<Dataset> dataset,
      make_dataset(config.data, config.seed, form_of(config.model.kind), progress.wait(stop)));
  RETURN_IF_ERROR(check_patches(config.model, dataset->shape()));
  return dataset;
}

absl::Status check_patches(const ModelOptions& model, const DataShape& data) {
  const int64_t patch = model.patch_size;
  if (!data.is_image() || (data.height % patch == 0 && data.width % patch == 0)) {
    return absl::OkStatus();
  }
  return invalid_argument("\"model.patch_size\" is ", patch, ", which does not divide images of ",
                          data.height, " x ", data.width, " pixels");
}

Model make_model(const Config& config, const DataShape& data) {
  const RandomStream random = RandomStream(config.seed).derive("initialization");
  return Model(config.model, data,
               Initializer(random, precision_dtype(config.train),
                           /*bf16_products=*/config.train.precision == Precision::kBf16));
}

std::vector<NamedParameter> parameters_without_numbers(const Config& config,
                                                       const DataShape& data) {
  return parameters(
      Model(config.model, data, Initializer::shapes_only(precision_dtype(config.train))));
}

int64_t count_parameters(const Config& config, const DataShape& data) {
  return parameter_count(parameters_without_numbers(config, data));
}

namespace {

// The parameters with a row for each token or class: those that one token more makes larger.
std::set<std::string> parameters_of_tokens(const Config& config, DataShape data) {
  const std::vector<NamedParameter> now = parameters_without_numbers(config, data);
  ++data.vocabulary_size;
  if (data.classes > 0) ++data.classes;
  const std::vector<NamedParameter> larger = parameters_without_numbers(config, data);
  std::set<std::string> names;
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i].tensor.shape() != larger[i].tensor.shape()) names.insert(now[i].name);
  }
  return names;
}

std::string list(const std::string& title, const std::vector<std::string>& items) {
  return absl::StrCat(title, ": ", listed(items));
}

// Where equal shapes may mean something else: "model.num_heads is 8, but was 4".
std::vector<std::string> changes_of_model(const Config& now, const Config& before) {
  std::vector<std::string> changes = config_changes(now, before);
  std::erase_if(changes, [](const std::string& change) {
    return !change.starts_with("model.") && !change.starts_with("attention.");
  });
  return changes;
}

// Weights that were imported come as a whole: the sizes with which the config would fit.
absl::Status shapes_clash(const std::string& path, const std::string& name, const Array& there,
                          const Array& here, const Config& config, const Checkpoint& source) {
  std::vector<std::string> fits;
  Config now = config, then = source.config;
  const std::vector<Field> wanted = config_fields(now), given = config_fields(then);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string key = wanted[i].key();
    const bool is_size = key == "model.d_model" || key == "model.d_ff" ||
                         key == (source.data.is_image() ? "model.patch_size" : "data.length");
    if (!is_size || wanted[i].to_string() == given[i].to_string()) continue;
    fits.push_back(absl::StrCat(key, " = ", given[i].to_string()));
  }
  if (source.data.is_image()) {
    fits.push_back(absl::StrCat("images of ", source.data.height, " x ", source.data.width,
                                " pixels and ", source.data.channels, " channels"));
  }
  return invalid_argument(path, ": ", name, " is ", there.describe(), " there, but ",
                          here.describe(), " in this model; what would fit: ", listed(fits));
}

}  // namespace

absl::StatusOr<FirstWeights> find_first_weights(const Config& config, const Dataset& dataset) {
  FirstWeights weights;
  if (config.train.from.empty()) return weights;
  const absl::StatusOr<std::string> found_path = find_checkpoint(config.train.from);
  if (!found_path.ok()) {
    return absl::Status(found_path.status().code(),
                        absl::StrCat("train.from: ", found_path.status().message()));
  }
  const std::string& path = *found_path;
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, load_checkpoint(path));

  std::map<std::string, const Array*> there;
  for (const NamedArray& a : checkpoint.arrays) {
    if (!a.name.starts_with(kOptimizerPrefix)) there[a.name] = &a.array;
  }
  const bool same_tokens = checkpoint.vocabulary == dataset.vocabulary() &&
                           checkpoint.answers() == dataset.class_names();
  const std::set<std::string> of_tokens = parameters_of_tokens(config, dataset.shape());
  const std::vector<NamedParameter> wanted = parameters_without_numbers(config, dataset.shape());
  std::vector<std::string> left, added;  // there, and here
  for (const auto& [name, tensor] : wanted) {
    const auto found = there.find(name);
    if (found == there.end()) {
      added.push_back(name);
      continue;
    }
    const Array& array = *found->second;
    there.erase(found);
    if (!same_tokens && of_tokens.contains(name)) {
      left.push_back(absl::StrCat(name, " (another vocabulary)"));
    } else if (array.shape() != tensor.shape() && !checkpoint.imported_from.empty()) {
      return shapes_clash(path, name, array, tensor.array(), config, checkpoint);
    } else if (array.shape() != tensor.shape()) {
      left.push_back(
          absl::StrCat(name, " (", array.describe(), ", here ", tensor.array().describe(), ")"));
    } else {
      const DType dtype = tensor.array().dtype();
      weights.arrays.push_back({name, array.dtype() == dtype
                                          ? array
                                          : Array::of(array.shape(), dtype, array.to_vector())});
      const int64_t count = not_finite_in(weights.arrays.back().array).count;
      if (count == 0) continue;
      return data_loss(path, ": ", count, " of the ", array.size(), " numbers of ", name,
                       " are not finite");
    }
  }
  // A bias alone has learned nothing without its matrix.
  const auto is_matrix = [](const NamedArray& a) { return a.array.shape().rank() > 1; };
  if (std::ranges::none_of(weights.arrays, is_matrix)) {
    return invalid_argument("train.from: no matrix of ", path, " fits this model",
                            same_tokens ? "" : ", whose vocabulary is another one, too");
  }
  for (const auto& [name, array] : there) left.push_back(name + " (not in this model)");
  weights.notes.push_back(absl::StrCat("begins with ", weights.arrays.size(), " of its ",
                                       wanted.size(), " parameters from ", printable(path),
                                       ", step ", checkpoint.state.step));
  if (!left.empty()) weights.notes.push_back(list("not taken from there", left));
  if (!added.empty()) weights.notes.push_back(list("not there, so they begin anew", added));
  const std::vector<std::string> changes = changes_of_model(config, checkpoint.config);
  if (!changes.empty()) {
    weights.notes.push_back(list("the model differs", changes));
  }
  return weights;
}

}  // namespace qkv
