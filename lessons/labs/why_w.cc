// What the maps of queries and keys are for.
#include "lessons/labs/kit.h"
#include "lessons/labs/trained.h"

namespace qkv {
namespace {

// Each letter is the one before the last: a token has to look at the one before it.
std::vector<Trained> train(const LabContext& lab, const char* projections) {
  return train_over_seeds(
      lab, {"name=why-w", "data.task=echo", "data.alphabet=8", "data.length=16", "data.distance=2",
            "model.num_heads=1", "optimizer.learning_rate=3e-3", "optimizer.betas=[0.9, 0.99]",
            "optimizer.schedule=cosine", "train.batch_size=64",
            absl::StrCat("attention.projections=", projections)});
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<Trained> maps = train(lab, lab.is_control() ? "none" : "separate");
  const std::vector<Trained> bare = train(lab, "none");
  return {make_section(
      "why-w.maps", {"A34", "A35-1"},
      {larger("share of tokens that are right, with the maps and without", right_tokens_of(maps),
              right_tokens_of(bare)),
       at_least("the worst seed with the maps", 0.99, least_of(right_tokens_of(maps)))},
      {chart_of_losses({numbered_series("with W_q and W_k", maps[0].losses),
                        numbered_series("softmax(X Xᵀ) X", bare[0].losses)})})};
}

}  // namespace

Lab why_w_lab() {
  return {.name = "why-w",
          .question = "Why not attend with X itself: what are W_q and W_k for?",
          .control = "both models go without maps",
          .duration = "20 s",
          .options = {steps_option("300"), seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
