#include "train/generate/generate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "framework/core/each_of.h"
#include "framework/kernels/kernels.h"

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

// The logits of Model::next_logits. An error if one of them is not a finite number.
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

// The continuations of prompts of one length. A row that has ended continues, for the rows are read
// together, and is cut in the end.
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
    ASSIGN_OR_RETURN(const std::vector<double> logits,
                     finite_logits(model, prompt, i > 0 ? rows_of(written) : Array(), &cache));
    const size_t classes = logits.size() / prompts.size();
    for (size_t row = 0; row < prompts.size(); ++row) {
      const auto of_row = std::span(logits).subspan(row * classes, classes);
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

struct Candidate {
  size_t row;  // which hypothesis it continues
  int64_t token;
  double logit;
  double log_probability;
};

// Two logits may differ where their log probabilities are rounded to one number.
bool is_worse(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.log_probability, a.row, -a.logit, a.token) >
         std::tuple(-b.log_probability, b.row, -b.logit, b.token);
}

double log_of_sum_of_exponentials(std::span<const double> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

// Candidates of every hypothesis and every token, in a heap with the best on top.
std::vector<Candidate> all_candidates(const std::vector<Hypothesis>& beam,
                                      std::span<const double> logits) {
  const size_t tokens = logits.size() / beam.size();
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (size_t row = 0; row < beam.size(); ++row) {
    const auto of_row = logits.subspan(row * tokens, tokens);
    const double log_sum = log_of_sum_of_exponentials(of_row);
    for (size_t token = 0; token < tokens; ++token) {
      all.push_back({row, static_cast<int64_t>(token), of_row[token],
                     beam[row].log_probability + (of_row[token] - log_sum)});
    }
  }
  std::ranges::make_heap(all, is_worse);
  return all;
}

Candidate take_best(std::vector<Candidate>& heap) {
  std::ranges::pop_heap(heap, is_worse);
  const Candidate best = heap.back();
  heap.pop_back();
  return best;
}

double score_of(const Hypothesis& hypothesis, double length, const BeamOptions& options) {
  return hypothesis.log_probability / std::pow((5 + length) / 6, options.length_penalty);
}

// Scores the last ones, and keeps the best of all. Of equals, the first to end stays first.
void rank(std::vector<Hypothesis>& ended, size_t scored, const BeamOptions& options) {
  for (Hypothesis& h : std::span(ended).subspan(scored)) {
    h.score = score_of(h, static_cast<double>(h.tokens.size()), options);
  }
  std::ranges::stable_sort(ended, std::greater(), &Hypothesis::score);
  ended.resize(std::min(ended.size(), static_cast<size_t>(options.width)));
}

}  // namespace

int64_t sample_next(const Model& model, const Tokens& prompt, const Tokens& written,
                    const SamplingOptions& options, RandomStream& random, KeyValueCache* cache) {
  const Array so_far = written.empty() ? Array() : rows_of({written});
  return sample(model.next_logits(rows_of({prompt}), so_far, cache).to_vector(), options, random);
}

absl::StatusOr<Tokens> generate(const Model& model, const Tokens& prompt, int64_t count,
                                const SamplingOptions& options,
                                const std::function<bool(int64_t)>& each) {
  const auto tell = [&](size_t, int64_t token) { return !each || each(token); };
  ASSIGN_OR_RETURN(std::vector<Tokens> written, write(model, {prompt}, count, options, tell));
  return std::move(written.front());
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
    ASSIGN_OR_RETURN(std::vector<Tokens> written, write(model, together, count, options, tell));
    for (size_t i = 0; i < rows.size(); ++i) all[rows[i]] = std::move(written[i]);
  }
  return all;
}

absl::StatusOr<std::vector<Hypothesis>> beam_search(
    const Model& model, const Tokens& prompt, int64_t count, const BeamOptions& options,
    const std::function<bool(std::span<const int64_t>)>& ends, const std::stop_token& stop) {
  const auto width = static_cast<size_t>(options.width);
  std::vector<Hypothesis> beam(1), ended;
  KeyValueCache cache;
  // A log probability only falls, and weighs least in the longest text.
  const auto can_win = [&] {
    return ended.size() < width ||
           score_of(beam.front(), static_cast<double>(count), options) > ended.back().score;
  };
  for (int64_t i = 0; i < count && !beam.empty() && can_win(); ++i) {
    if (stop.stop_requested()) return absl::CancelledError("the search was stopped");
    const Array prompts = rows_of(std::vector<Tokens>(beam.size(), prompt));
    ASSIGN_OR_RETURN(
        const std::vector<double> logits,
        finite_logits(model, prompts, i > 0 ? rows_of(each_of(beam, &Hypothesis::tokens)) : Array(),
                      &cache));
    std::vector<Candidate> candidates = all_candidates(beam, logits);
    std::vector<Hypothesis> next;
    std::vector<int64_t> continued;  // the rows of `beam`
    const size_t scored = ended.size();
    for (size_t live = 0; live < width && !candidates.empty();) {
      const Candidate best = take_best(candidates);
      Hypothesis longer = {beam[best.row].tokens, best.log_probability};
      longer.tokens.push_back(best.token);
      const bool goes_on = !ends || !ends(longer.tokens);
      live += goes_on;
      if (!goes_on || i + 1 == count) {
        ended.push_back(std::move(longer));
      } else {
        next.push_back(std::move(longer));
        continued.push_back(static_cast<int64_t>(best.row));
      }
    }
    rank(ended, scored, options);
    beam = std::move(next);
    cache.select_rows(continued);
  }
  return ended.empty() ? beam : ended;
}

}  // namespace qkv
