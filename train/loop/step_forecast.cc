#include "train/loop/step_forecast.h"

#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/core/dtype.h"
#include "framework/core/memory/out_of_memory.h"
#include "framework/core/memory/storage.h"
#include "framework/core/text/columns.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/kernels/product/product_log.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

// The bytes kept between steps for each parameter: the weight, the two means of Adam or the
// velocity, and the mean of train.average.
uint64_t bytes_kept(const Config& config, uint64_t bytes) {
  const uint64_t of_optimizer = config.optimizer.kind == OptimizerKind::kSgd ? 1 : 2;
  return (1 + of_optimizer + (config.train.average > 0 ? 1 : 0)) * bytes;
}

// What Muon makes of its largest matrix: an update, twice, and three products of its shorter side,
// each at most as large.
uint64_t bytes_of_muon(const Config& config, const Model& model) {
  int64_t largest = 0;
  for (const NamedParameter& p : parameters(model)) {
    if (group_of(p) == ParameterGroup::kMatrix) largest = std::max(largest, p.tensor.size());
  }
  return 5 * static_cast<uint64_t>(largest) * dtype_bytes(precision_dtype(config.train));
}

// The process's memory where arrays need `bytes`: freed memory stays held, and not all of it fits
// the next request. By measurement a fifth is idle, besides 2 MiB for the threads and kernels of a
// run.
uint64_t taken(uint64_t bytes) { return bytes + bytes / 4 + (2 << 20); }

struct Need {
  uint64_t bytes = 0;     // at the peak, beyond what was in use before
  uint64_t matrices = 0;  // of all that matrix products read and write
  double flops = 0;       // of these products
};

template <class Run>
Need measure(const Run& run) {
  const uint64_t before = allocator_statistics().bytes_in_use;
  reset_peak_bytes_in_use();
  const kernels::ProductLog products;
  run();
  const uint64_t peak = allocator_statistics().peak_bytes_in_use - before;
  return {peak, kernels::bytes_of_matrices(products.products()), products.flops()};
}

// Enough examples for the batch to need more than the gradients of the parameters do: with fewer,
// the peak is at another place.
int64_t few_examples(const Config& config, const DataShape& data) {
  constexpr int64_t kPositions = 1024, kFew = 4;
  const int64_t patch = config.model.patch_size;
  const int64_t length =
      data.is_image() ? data.height * data.width / (patch * patch) : data.max_length;
  return std::max(kFew, kPositions / std::max<int64_t>(length, 1));
}

// The need of `examples`, from that of `few` and of twice as many. `run` gets their number.
template <class Run>
Need extrapolate(int64_t examples, int64_t few, const Run& run) {
  const int64_t more = std::min(examples, 2 * few);
  Need need = measure([&] { run(more); });
  const auto others = static_cast<uint64_t>(examples - more);
  if (others == 0) return need;
  const Need least = measure([&] { run(few); });
  const auto added = static_cast<uint64_t>(few);
  need.bytes += (need.bytes - std::min(need.bytes, least.bytes)) / added * others;
  need.matrices += (need.matrices - std::min(need.matrices, least.matrices)) / added * others;
  need.flops += (need.flops - least.flops) / static_cast<double>(few) * static_cast<double>(others);
  return need;
}

// A layer with parameters of its own.
struct Part {
  std::string path;                 // "blocks.*.attention.query"
  std::vector<std::string> shapes;  // "[64, 64]"
  int64_t parameters = 0;           // of all that are alike
  int64_t count = 0;                // how many are alike
};

// "blocks.3.attention.query.weight" -> "blocks.*.attention.query", "weight"
std::pair<std::string, std::string> part_of(const std::string& name) {
  std::vector<std::string> words = absl::StrSplit(name, '.');
  const std::string last = words.back();
  words.pop_back();
  int64_t number = 0;
  for (std::string& word : words) {
    if (absl::SimpleAtoi(word, &number)) word = "*";
  }
  return {absl::StrJoin(words, "."), last};
}

std::vector<Part> parts_of(const std::vector<NamedParameter>& parameters) {
  std::vector<Part> parts;
  std::map<std::string, std::map<std::string, int64_t>> seen;  // parameters of a part, by name
  for (const NamedParameter& parameter : parameters) {
    const auto [path, name] = part_of(parameter.name);
    if (!seen.contains(path)) parts.push_back({.path = path, .shapes = {}});
    Part* part = &parts.back();
    for (Part& each : parts) {
      if (each.path == path) part = &each;
    }
    const int64_t count = ++seen[path][name];
    if (count == 1) part->shapes.push_back(parameter.tensor.shape().to_string());
    part->count = std::max(part->count, count);
    part->parameters += parameter.tensor.size();
  }
  return parts;
}

std::string flops_text(double flops) {
  if (flops >= 1e12) return absl::StrFormat("%.3g TFLOP", flops * 1e-12);
  if (flops >= 1e9) return absl::StrFormat("%.3g GFLOP", flops * 1e-9);
  return absl::StrFormat("%.3g MFLOP", flops * 1e-6);
}

}  // namespace

StepForecast foresee_step(const Config& config, const Dataset& dataset, uint64_t available) {
  const TrainOptions& train = config.train;
  const uint64_t bytes = static_cast<uint64_t>(count_parameters(config, dataset.shape())) *
                         dtype_bytes(precision_dtype(train));
  const uint64_t kept = bytes_kept(config, bytes);
  // On their way along the tree of the shards, as many sums wait as it has levels.
  const uint64_t waiting =
      bytes * static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(train.shards - 1)));
  StepForecast forecast = {.parameters = kept + bytes + waiting};
  if (forecast.parameters > available) {
    forecast.is_whole = false;
    return forecast;
  }
  // Sizes alone count. Zeros take no time to make, and the optimizer works in place.
  Config zeros = config;
  zeros.model.init_std = 0;
  const Model model = make_model(zeros, dataset.shape());
  const int64_t known = dataset.training_size(), unseen = dataset.validation_size();
  const auto drawn = [&](int64_t rows) { return known > 0 ? std::min(known, rows) : rows; };
  const int64_t pieces = train.accumulation_steps * train.shards;
  const int64_t batch = drawn(train.batch_size), piece = (batch + pieces - 1) / pieces;
  const int64_t few = few_examples(config, dataset.shape());
  const Need step = extrapolate(piece, few, [&](int64_t examples) {
    ForwardContext context;
    context.training = true;
    accumulate_gradients(model, parameters(model), dataset.training_batch(0, examples), 1,
                         train.label_smoothing, context);
  });
  // Where there are answers, batches of training examples are evaluated, too.
  const int64_t rows = train.validation_batch_size();
  const int64_t evaluated =
      std::max(std::min(rows, unseen), dataset.has_answers() ? drawn(rows) : 1);
  const Need evaluation = extrapolate(evaluated, few, [&](int64_t examples) {
    const NoGrad no_grad;
    ForwardContext context;
    batch_loss(model,
               examples <= unseen ? dataset.validation_batch(0, examples)
                                  : dataset.training_batch(0, examples),
               {.divisor = 1.0}, context);
  });
  release_cached_memory();
  if (config.optimizer.kind == OptimizerKind::kMuon) {
    forecast.parameters += bytes_of_muon(config, model);
  }
  const uint64_t total = taken(std::max(kept + waiting + step.bytes, forecast.parameters));
  forecast.batch = total - std::min(total, forecast.parameters);
  forecast.evaluation = taken(kept + evaluation.bytes);
  forecast.matrices = step.matrices;
  forecast.flops = step.flops / static_cast<double>(piece) * static_cast<double>(batch);
  return forecast;
}

std::string describe(const StepForecast& forecast) {
  return absl::StrCat("about ", describe_bytes(forecast.total()), " of memory");
}

absl::Status check_memory(const StepForecast& forecast, uint64_t available) {
  if (forecast.total() <= available) return absl::OkStatus();
  const std::string parameters =
      absl::StrCat(describe_bytes(forecast.parameters),
                   " for the parameters, their gradients and the optimizer");
  if (!forecast.is_whole) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this training needs ", parameters, " alone, but only ", describe_bytes(available),
        " are free; a smaller model.d_model, model.d_ff or model.num_layers needs less"));
  }
  const std::string all = absl::StrCat("this training needs ", describe(forecast), ", but only ",
                                       describe_bytes(available), " are free: ");
  if (forecast.parameters + forecast.batch <= available) {
    return absl::ResourceExhaustedError(
        absl::StrCat(all, describe_bytes(forecast.evaluation),
                     " for an evaluation; a smaller train.eval_batch_size needs less, which is "
                     "train.batch_size where it is 0"));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      all, parameters, ", ", describe_bytes(forecast.batch),
      " for a batch; a smaller train.batch_size or more train.accumulation_steps need less for a "
      "batch, a shorter data.length or a smaller model less for each example"));
}

std::string model_summary(const Config& config, const Dataset& dataset,
                          const StepForecast& forecast) {
  const std::vector<NamedParameter> all = parameters_without_numbers(config, dataset.shape());
  std::vector<std::vector<std::string>> rows = {{"layer", "times", "parameters", "shapes"}};
  for (const Part& part : parts_of(all)) {
    rows.push_back({part.path, part.count > 1 ? absl::StrCat(part.count) : "",
                    absl::StrCat(part.parameters), absl::StrJoin(part.shapes, " ")});
  }
  const int64_t count = parameter_count(all);
  rows.push_back({"all", "", absl::StrCat(count), ""});
  std::string text = aligned(rows, {.left = 1});
  if (!forecast.is_whole) {
    return absl::StrCat(text, describe_bytes(forecast.parameters),
                        " for the parameters, their gradients and the optimizer\n");
  }
  return absl::StrCat(text, "a step: ", flops_text(forecast.flops), " of matrix products, ",
                      describe(forecast), " (", describe_bytes(forecast.parameters),
                      " for the parameters, their gradients and the optimizer)\n");
}

}  // namespace qkv
