// Whether similarity is importance: a layer that has learned which word belongs to which.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/scores/lookup.h"

namespace qkv {
namespace {

HeatMap pairs_map(const Text& title, const Tensor& pairs) {
  return heat_map_of(title, pairs, say("words"), say("words"));
}

std::vector<Lookup> train_lookups(const LabContext& lab) {
  constexpr int64_t kSteps = 300;
  return over_seeds(lab, [&](uint64_t seed) {
    return train_lookup(RandomStream(seed), {.n = lab.integer("n"),
                                             .d = lab.integer("d"),
                                             .steps = kSteps,
                                             .is_lawful = !lab.is_control()});
  });
}

Finding has_learned(const LabContext& lab, const std::vector<Lookup>& lookups) {
  return named("learned",
               premise(below(say("error of the answers"), blind_error(lab.integer("n")) / 2,
                             values_of(lookups, &Lookup::last_loss))));
}

// The change if a query cannot see a key: |p - p without it|, of each query and key.   [n, n]
Tensor removals(const Lookup& lookup) {
  const int64_t n = lookup.words.dim(0);
  const Tensor scores = lookup.scores(), weights = softmax(scores);
  std::vector<Tensor> columns;
  for (int64_t j = 0; j < n; ++j) {
    const Tensor hidden = row_of(identity(n), j) * -1e9;
    columns.push_back(lengths_of_rows(softmax(scores + hidden) - weights));
  }
  return stack(columns, 1);
}

// One query, and its keys by their scores.
Table ranking_table(const Lookup& lookup) {
  const Samples scores = row_of(lookup.scores(), 0).to_vector(),
                weights = row_of(lookup.weights(), 0).to_vector(),
                changes = row_of(removals(lookup), 0).to_vector();
  std::vector<size_t> keys(scores.size());
  std::iota(keys.begin(), keys.end(), 0);
  std::ranges::sort(keys, std::greater{}, [&](size_t key) { return scores[key]; });
  return table_by(say("Word 0 asks; word {0} is the one that matters to it", lookup.partners[0]),
                  {say("key"), "s", "a", say("what changes without it")}, keys, [&](size_t key) {
                    return std::vector<Text>{std::to_string(key), format_number(scores[key]),
                                             format_number(weights[key]),
                                             format_number(changes[key])};
                  });
}

Section ranking_section(const LabContext& lab, const std::vector<Lookup>& lookups) {
  const auto over = [&](const auto& f) { return values_of(lookups, f); };
  const Lookup& first = lookups[0];
  std::vector<Text> names;
  for (int64_t i = 0; i < first.words.dim(0); ++i) names.push_back(std::to_string(i));
  const double chance = 1 / static_cast<double>(lab.integer("n"));
  return make_section(
      "importance.ranking",
      {has_learned(lab, lookups),
       equal(say("share of pairs of keys whose probabilities are in the order of s"), 1,
             least_of(over([](const Lookup& each) {
               return share_in_order(each.scores(), each.weights());
             }))),
       above(say("share of queries whose answer changes most without their first key"), chance,
             over([](const Lookup& each) {
               return share_with_same_largest(removals(each), each.scores());
             }))},
      {Arcs{.title = say("One query and its keys"),
            .queries = {"0"},
            .keys = names,
            .weights = row_of(first.weights(), 0).to_vector()},
       ranking_table(first)});
}

Section importance_section(const LabContext& lab, const std::vector<Lookup>& lookups) {
  const auto at_partners = [&](const auto& likeness) {
    return values_of(lookups,
                     [&](const Lookup& each) { return share_of_partners(each, likeness(each)); });
  };
  const auto plain = [](const Lookup& each) {
    return products_of_rows(each.words, each.words) / std::sqrt(each.d());
  };
  const auto mapped = [](const Lookup& each) { return each.scores(); };
  const double chance = 1 / static_cast<double>(lab.integer("n"));
  const Lookup& first = lookups[0];
  return make_section(
      "importance.importance",
      {has_learned(lab, lookups),
       named("maps", above(say("share of words for which q·k is largest at the word that matters"),
                           chance, at_partners(mapped))),
       beyond(named("plain",
                    above(say("share of words for which x·x is largest at the word that matters"),
                          chance, at_partners(plain)))),
       larger(say("share of pairs of keys in the order of the weights: by q·k, and by x·x"),
              values_of(
                  lookups,
                  [&](const Lookup& each) { return share_in_order(mapped(each), each.weights()); }),
              values_of(lookups,
                        [&](const Lookup& each) {
                          return share_in_order(plain(each), each.weights());
                        }))},
      {HeatMaps{
           .title = say("Likeness"),
           .maps = {pairs_map("x·x / √d", plain(first)), pairs_map("q·k / √d", mapped(first))}},
       heat_map_of(say("Weights P"), first.weights(), say("queries"), say("keys"))});
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<Lookup> lookups = train_lookups(lab);
  return {importance_section(lab, lookups), ranking_section(lab, lookups)};
}

}  // namespace

Lab importance_lab() { return make_lab("importance", run); }

}  // namespace qkv
