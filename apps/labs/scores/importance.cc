// Whether similarity is importance: a layer that has learned which word belongs to which.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/scores/lookup.h"

namespace qkv {
namespace {

Finding has_learned(const LabContext& lab, const std::vector<Lookup>& lookups) {
  return named("learned",
               premise(below(say("error of the answers"), blind_error(lab.integer("n")) / 2,
                             values_of(lookups, &Lookup::last_loss))));
}

std::vector<Lookup> train_all(const LabContext& lab, double steps) {
  return over_seeds(lab, [&](uint64_t seed) {
    return train_lookup(RandomStream(seed), {.n = lab.integer("n"),
                                             .d = lab.integer("d"),
                                             .steps = std::llround(steps),
                                             .is_lawful = !lab.is_control()});
  });
}

Section importance_section(const LabContext& lab) {
  const std::vector<Lookup> lookups = train_all(lab, 300);
  // Each word is most like itself, so that it does not count as a candidate.
  const auto at_partners = [](const std::vector<Lookup>& all, const auto& likeness) {
    return values_of(all, [&](const Lookup& each) {
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
  Section section = make_section(
      "importance.importance",
      {has_learned(lab, lookups),
       named("maps", above(say("share of words for which q·k is largest at the word that matters"),
                           chance, at_partners(lookups, mapped))),
       beyond(named("plain",
                    above(say("share of words for which x·x is largest at the word that matters"),
                          chance, at_partners(lookups, plain)))),
       larger(say("share of pairs of keys in the order of the weights: by q·k, and by x·x"),
              values_of(
                  lookups,
                  [&](const Lookup& each) { return share_in_order(mapped(each), each.weights()); }),
              values_of(lookups,
                        [&](const Lookup& each) {
                          return share_in_order(plain(each), each.weights());
                        }))},
      {HeatMaps{.title = say("Likeness"),
                .maps = {heat_map_of("x·x / √d", plain(first), say("words"), say("words")),
                         heat_map_of("q·k / √d", mapped(first), say("words"), say("words"))}},
       heat_map_of(say("Weights P"), first.weights(), say("queries"), say("keys"))});
  add_map(section, "map",
          {.title = say("q·k is largest at the word that matters for 9 of 10 words of d numbers"),
           .x_name = say("steps"),
           .y_name = "d",
           .x = {10, 30, 100, 300},
           .y = {2, 4, 8, 16},
           .at = [&](double steps, double d) {
             return at_least("", 0.9, at_partners(train_all(lab.with("d", d), steps), mapped));
           }});
  return section;
}

std::vector<Section> run(const LabContext& lab) { return {importance_section(lab)}; }

}  // namespace

Lab importance_lab() { return make_lab("importance", run); }

}  // namespace qkv
