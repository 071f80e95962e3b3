// What the maps of queries and keys are for. Each letter is the one before the last: a token has to
// look at the one before it.
#include "lessons/labs/kit.h"
#include "lessons/labs/trained.h"

namespace qkv {
namespace {

std::vector<Section> run(const LabContext& lab) {
  const auto train = [&](const char* projections) {
    return train_over_seeds(lab, {absl::StrCat("attention.projections=", projections)});
  };
  const std::vector<Trained> maps = train(lab.is_control() ? "none" : "separate");
  const std::vector<Trained> bare = train("none");
  return {make_section(
      "why-w.maps",
      {larger("share of tokens that are right, with the maps and without", right_tokens_of(maps),
              right_tokens_of(bare)),
       at_least("the worst seed with the maps", 0.99, least_of(right_tokens_of(maps)))},
      {chart_of_losses({numbered_series("with W_q and W_k", maps[0].losses),
                        numbered_series("softmax(X Xᵀ) X", bare[0].losses)})})};
}

}  // namespace

Lab why_w_lab() { return make_lab("why-w", run); }

}  // namespace qkv
