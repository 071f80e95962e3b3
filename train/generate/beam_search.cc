#include "train/generate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace qkv {
namespace {

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

// Of every hypothesis and every token, in a heap with the best on top.
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

// Scores those that came last, and keeps the best of all. Of equals, what ended first stays first.
void rank(std::vector<Hypothesis>& ended, size_t scored, const BeamOptions& options) {
  for (Hypothesis& h : std::span(ended).subspan(scored)) {
    h.score = score_of(h, static_cast<double>(h.tokens.size()), options);
  }
  std::ranges::stable_sort(ended, std::greater(), &Hypothesis::score);
  ended.resize(std::min(ended.size(), static_cast<size_t>(options.width)));
}

Array tokens_of_beam(const std::vector<Hypothesis>& beam) {
  Tokens all;
  for (const Hypothesis& row : beam) all.insert(all.end(), row.tokens.begin(), row.tokens.end());
  return Array::of({std::ssize(beam), std::ssize(beam.front().tokens)}, all);
}

}  // namespace

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
    Tokens prompts;
    for (size_t row = 0; row < beam.size(); ++row) {
      prompts.insert(prompts.end(), prompt.begin(), prompt.end());
    }
    const absl::StatusOr<std::vector<double>> logits =
        finite_logits(model, Array::of({std::ssize(beam), std::ssize(prompt)}, prompts),
                      i > 0 ? tokens_of_beam(beam) : Array(), &cache);
    if (!logits.ok()) return logits.status();
    std::vector<Candidate> candidates = all_candidates(beam, *logits);
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
