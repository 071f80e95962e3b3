// The use of the maps of queries and keys. Two letters take turns: a token has to look at the other
// letter than its own.
#include "absl/strings/match.h"
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/nn/with_parameters.h"

namespace qkv {
namespace {

// The weights of sentences that were not in training.   [B, 1, T, T]
Tensor attention_of(const Trained& trained, int64_t sentences) {
  const Batch batch = trained.data->validation_batch(0, sentences);
  return attention_weights_in(trace_loss(trained.model, batch).trace).front();
}

// The weight that a token gives those that hold the letter it is asked for: two letters take turns,
// so they are an odd number of places before it. The mean over sentences and tokens.
double weight_of_the_answer(const Trained& trained) {
  const Tensor weights = attention_of(trained, trained.data->validation_size());
  const std::vector<double> numbers = weights.to_vector();
  const auto sentences = static_cast<size_t>(weights.dim(0)),
             n = static_cast<size_t>(weights.dim(3));
  double total = 0;
  for (size_t b = 0; b < sentences; ++b) {
    for (size_t i = 1; i < n; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if ((i - j) % 2 == 1) total += numbers[(b * n + i) * n + j];
      }
    }
  }
  return total / static_cast<double>(sentences * (n - 1));
}

HeatMap map_of(const Text& title, const Trained& trained) {
  const Tensor weights = attention_of(trained, 1);
  const int64_t n = weights.dim(3);
  HeatMap map = heat_map_of(title, reshape(weights, {n, n}));
  map.row_axis = say("queries");
  map.column_axis = say("keys");
  return map;
}

bool is_map(const std::string& name) {
  return std::ranges::any_of(std::vector{"query", "key", "value", "output"}, [&](const char* map) {
    return absl::EndsWith(name, absl::StrCat("attention.", map, ".weight"));
  });
}

// The trained model with the W of its start; in a control nothing is put back.
Model with_first_maps(const LabContext& lab, const Trained& trained) {
  const std::vector<NamedParameter> first = parameters(untrained(trained));
  std::vector<Tensor> tensors;
  for (const NamedParameter& each : parameters(trained.model)) {
    const bool put_back = is_map(each.name) && !lab.breaks("kept");
    tensors.push_back(put_back ? first[tensors.size()].tensor : each.tensor);
  }
  return with_parameters(trained.model, tensors);
}

Section trained_section(const LabContext& lab, const std::vector<Trained>& models) {
  const auto loss_of = [](const Model& model, const Trained& trained) {
    const Batch batch = trained.data->validation_batch(0, trained.data->validation_size());
    return trace_loss(model, batch).result.item();
  };
  return make_section(
      "why-w.trained",
      {larger(
          say("loss with the W of the start, and with those that were trained"),
          values_of(models,
                    [&](const Trained& each) { return loss_of(with_first_maps(lab, each), each); }),
          values_of(models, [&](const Trained& each) { return loss_of(each.model, each); }))});
}

std::vector<Section> run(const LabContext& lab) {
  const auto train = [&](const char* projections, const char* d_ff = "64") {
    return train_over_seeds(lab, {absl::StrCat("attention.projections=", projections),
                                  absl::StrCat("model.d_ff=", d_ff)});
  };
  const std::vector<Trained> maps = train(lab.is_control() ? "none" : "separate");
  const std::vector<Trained> bare = train("none");
  // Biases aside, the four maps have 4 · 32² parameters: as many as 64 more numbers inside of a
  // feed-forward layer.
  const std::vector<Trained> wide = train("none", "128");
  const auto looked_at = [](const std::vector<Trained>& all) {
    return values_of(all, weight_of_the_answer);
  };
  const Samples right = right_tokens_of(maps);
  return {
      make_section(
          "why-w.maps",
          {premise(at_least(say("share of tokens that are right with the maps, the worst seed"),
                            0.99, least_of(right))),
           named("maps", larger(say("share of tokens that are right, with the maps and without"),
                                right, right_tokens_of(bare))),
           larger(say("the same, without the maps but with as many parameters"), right,
                  right_tokens_of(wide)),
           named("looked",
                 larger(say("weight of the letter that comes next, with the maps and without"),
                        looked_at(maps), looked_at(bare)))},
          {HeatMaps{.title = say("Weights of a sentence, first seed"),
                    .maps = {map_of(say("with W_q and W_k"), maps[0]),
                             map_of("softmax(X Xᵀ) X", bare[0])}},
           chart_of_losses({numbered_series(say("with W_q and W_k"), maps[0].losses),
                            numbered_series("softmax(X Xᵀ) X", bare[0].losses),
                            numbered_series(say("as many parameters"), wide[0].losses)})}),
      trained_section(lab, maps)};
}

}  // namespace

Lab why_w_lab() { return make_lab("why-w", run); }

}  // namespace qkv
