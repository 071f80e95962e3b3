#include "train/generate/generate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "framework/kernels/elementwise.h"

namespace qkv {
namespace {

int64_t sample(std::span<const double> logits, const SamplingOptions& options,
               RandomStream& random) {
  std::vector<size_t> order(logits.size());  // the most likely first; equals by their number
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return logits[i]; });
  if (options.temperature == 0) return static_cast<int64_t>(order[0]);

  if (options.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(options.top_k)));
  std::vector<double> weights;
  double total = 0;
  for (const size_t i : order) {
    weights.push_back(std::exp((logits[i] - logits[order[0]]) / options.temperature));
    total += weights.back();
  }
  size_t kept = 0;
  double kept_weight = 0;
  while (kept < weights.size() && (kept == 0 || kept_weight < options.top_p * total)) {
    kept_weight += weights[kept++];
  }
  double rest = random.uniform() * kept_weight;
  for (size_t i = 0; i < kept; ++i) {
    rest -= weights[i];
    if (rest < 0) return static_cast<int64_t>(order[i]);
  }
  return static_cast<int64_t>(order[kept - 1]);
}

Array rows_of(const std::vector<Tokens>& rows) {
  Tokens all;
  for (const Tokens& row : rows) all.insert(all.end(), row.begin(), row.end());
  return Array::of({std::ssize(rows), std::ssize(rows.front())}, all);
}

// What follows prompts of one length. A row that has ended is written on, for the rows are read
// together, and cut in the end.
absl::StatusOr<std::vector<Tokens>> write(const Model& model, const std::vector<Tokens>& prompts,
                                          int64_t count, const SamplingOptions& options,
                                          const EachTokenOf& each) {
  RandomStream random = RandomStream(options.seed).derive("generation");
  if (options.sample > 0) random = random.derive(options.sample);
  std::vector<RandomStream> randoms(prompts.size(), random);
  const Array prompt = rows_of(prompts);
  KeyValueCache cache;
  std::vector<Tokens> written(prompts.size());
  constexpr size_t kGoesOn = 0;
  std::vector<size_t> lengths(prompts.size(), kGoesOn);  // of those that have ended
  for (int64_t i = 0; i < count && std::ranges::count(lengths, kGoesOn) > 0; ++i) {
    const absl::StatusOr<std::vector<double>> logits =
        finite_logits(model, prompt, i > 0 ? rows_of(written) : Array(), &cache);
    if (!logits.ok()) return logits.status();
    const size_t classes = logits->size() / prompts.size();
    for (size_t row = 0; row < prompts.size(); ++row) {
      const auto of_row = std::span(*logits).subspan(row * classes, classes);
      written[row].push_back(sample(of_row, options, randoms[row]));
      const bool told = each && lengths[row] == kGoesOn;
      if (told && !each(row, written[row].back())) lengths[row] = written[row].size();
    }
  }
  for (size_t row = 0; row < prompts.size(); ++row) {
    if (lengths[row] != kGoesOn) written[row].resize(lengths[row]);
  }
  return written;
}

}  // namespace

int64_t sample_next(const Model& model, const Tokens& prompt, const Tokens& written,
                    const SamplingOptions& options, RandomStream& random, KeyValueCache* cache) {
  const Array so_far = written.empty() ? Array() : rows_of({written});
  return sample(model.next_logits(rows_of({prompt}), so_far, cache).to_vector(), options, random);
}

absl::StatusOr<std::vector<double>> finite_logits(const Model& model, const Array& prompts,
                                                  const Array& written, KeyValueCache* cache) {
  const Tensor logits = model.next_logits(prompts, written, cache);
  if (!kernels::all_finite(logits.array())) {
    return absl::DataLossError(
        "the logits are not all finite numbers: some numbers of this model are too large to "
        "compute with");
  }
  return logits.to_vector();
}

absl::StatusOr<Tokens> generate(const Model& model, const Tokens& prompt, int64_t count,
                                const SamplingOptions& options,
                                const std::function<bool(int64_t)>& each) {
  const auto tell = [&](size_t, int64_t token) { return !each || each(token); };
  absl::StatusOr<std::vector<Tokens>> written = write(model, {prompt}, count, options, tell);
  if (!written.ok()) return written.status();
  return std::move(written->front());
}

absl::StatusOr<std::vector<Tokens>> generate_all(const Model& model,
                                                 const std::vector<Tokens>& prompts, int64_t count,
                                                 const SamplingOptions& options,
                                                 const EachTokenOf& each) {
  std::map<size_t, std::vector<size_t>> by_length;
  for (size_t i = 0; i < prompts.size(); ++i) by_length[prompts[i].size()].push_back(i);
  std::vector<Tokens> all(prompts.size());
  for (const auto& [length, rows] : by_length) {
    std::vector<Tokens> together;
    for (const size_t row : rows) together.push_back(prompts[row]);
    const auto tell = [&each, &rows = rows](size_t row, int64_t token) {
      return !each || each(rows[row], token);
    };
    absl::StatusOr<std::vector<Tokens>> written = write(model, together, count, options, tell);
    if (!written.ok()) return written.status();
    for (size_t i = 0; i < rows.size(); ++i) all[rows[i]] = std::move((*written)[i]);
  }
  return all;
}

}  // namespace qkv
