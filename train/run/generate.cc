#include "train/run/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qkv {
int64_t sample_next(const Model& model, const std::vector<int64_t>& tokens,
                    const SamplingOptions& options, RandomStream& random, KeyValueCache* cache) {
  const std::vector<double> logits = model.next_logits(tokens, cache).to_vector();
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

std::vector<int64_t> generate(const Model& model, std::vector<int64_t> prompt, int64_t count,
                              const SamplingOptions& options,
                              const std::function<bool(int64_t)>& each) {
  RandomStream random = RandomStream(options.seed).derive("generation");
  KeyValueCache cache;
  std::vector<int64_t> generated;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t next = sample_next(model, prompt, options, random, &cache);
    prompt.push_back(next);
    generated.push_back(next);
    if (each && !each(next)) break;
  }
  return generated;
}

}  // namespace qkv
