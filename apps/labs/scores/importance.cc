// Whether similarity is importance: a layer that has learned which word belongs to which.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/scores/lookup.h"

namespace qkv {
namespace {

HeatMap pairs_map(const Text& title, const Tensor& pairs) {
  return heat_map_of(title, pairs, say("words"), say("words"));
}

Finding has_learned(const LabContext& lab, const std::vector<Lookup>& lookups) {
  return named("learned",
               premise(below(say("error of the answers"), blind_error(lab.integer("n")) / 2,
                             values_of(lookups, &Lookup::last_loss))));
}

Section importance_section(const LabContext& lab, const std::vector<Lookup>& lookups) {
  // Each word is most like itself, so that it does not count as a candidate.
  const auto at_partners = [&](const auto& likeness) {
    return values_of(lookups, [&](const Lookup& each) {
      const Tensor itself = identity(each.words.dim(0)) * 1e9;
      return share_of_partners(each, likeness(each) - itself);
    });
  };
  const auto plain = [](const Lookup& each) {
    return products_of_rows(each.words, each.words) / std::sqrt(each.d());
  };
  const auto mapped = [](const Lookup& each) { return each.scores(); };
  const double chance = 1 / static_cast<double>(lab.integer("n") - 1);
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
  constexpr int64_t kSteps = 300;
  return {importance_section(lab, over_seeds(lab, [&](uint64_t seed) {
                               return train_lookup(RandomStream(seed),
                                                   {.n = lab.integer("n"),
                                                    .d = lab.integer("d"),
                                                    .steps = kSteps,
                                                    .is_lawful = !lab.is_control()});
                             }))};
}

}  // namespace

Lab importance_lab() { return make_lab("importance", run); }

}  // namespace qkv
