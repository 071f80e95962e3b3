#include "train/loop/model_summary.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "framework/core/columns.h"
#include "framework/core/out_of_memory.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

// A layer: what has parameters of its own.
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

std::string model_summary(const Config& config, const Dataset& dataset,
                          const StepForecast& forecast) {
  const Model model(config.model, dataset.shape(),
                    Initializer::shapes_only(precision_dtype(config.train)));
  const std::vector<NamedParameter> all = parameters(model);
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
