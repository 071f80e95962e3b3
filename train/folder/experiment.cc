#include "train/folder/experiment.h"

#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "framework/kernels/matmul.h"
#include "train/folder/reading_progress.h"

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
  absl::StatusOr<std::unique_ptr<Dataset>> dataset =
      make_dataset(config.data, config.seed, form_of(config.model.kind), progress.wait(stop));
  if (!dataset.ok()) return dataset.status();
  if (absl::Status s = check_patches(config.model, (*dataset)->shape()); !s.ok()) return s;
  return dataset;
}

absl::Status check_patches(const ModelOptions& model, const DataShape& data) {
  const int64_t patch = model.patch_size;
  if (!data.is_image() || (data.height % patch == 0 && data.width % patch == 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("\"model.patch_size\" is ", patch,
                                                 ", which does not divide images of ", data.height,
                                                 " x ", data.width, " pixels"));
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

}  // namespace qkv
