// What heads do in models that are trained: how they differ, and what is left without one of them.
#include "apps/labs/heads_count.h"
#include "apps/labs/kit.h"
#include "apps/labs/matrices.h"
#include "apps/labs/trained.h"
#include "framework/nn/with_parameters.h"

namespace qkv {
namespace {

constexpr const char* kWeights = "blocks.0.attention.weights";

// The largest rank of a head's Q Kᵀ in one sequence.   q and k [B, T, H, D]
double largest_rank(const Tensor& q, const Tensor& k) {
  const auto heads_of = [](const Tensor& x) {  // [H, T, D], in f64
    return permute(reshape(cast(slice(x, 0, 0, 1), DType::f64), {x.dim(1), x.dim(2), x.dim(3)}),
                   {1, 0, 2});
  };
  const Tensor products = products_of_rows(heads_of(q), heads_of(k));  // [H, T, T]
  double largest = 0;
  for (int64_t h = 0; h < q.dim(2); ++h) {
    largest = std::max(largest, rank_of(reshape(row_of(products, h), {q.dim(1), q.dim(1)})));
  }
  return largest;
}

// Half of the sum of |P - P'| of two heads' rows, which is 0 … 1: the mean over the pairs.
double apart(const Tensor& weights) {  // [B, H, T, T]
  const int64_t heads = weights.dim(1);
  if (heads == 1) return 0;
  double total = 0;
  for (int64_t a = 0; a < heads; ++a) {
    const Tensor difference = weights - slice(weights, 1, a, 1);
    total += mean(sum(maximum(difference, -difference), -1)).item() / 2;
  }
  return total / static_cast<double>(heads - 1);  // a head and itself add 0
}

// The model with another W_o [C, H D].
Model with_output(const Model& model, const std::function<Tensor(const Tensor&)>& changed) {
  std::vector<Tensor> tensors;
  for (const NamedParameter& parameter : parameters(model)) {
    const bool is_output = parameter.name == "blocks.0.attention.output.weight";
    tensors.push_back(is_output ? changed(parameter.tensor) : parameter.tensor);
  }
  return with_parameters(model, tensors);
}

// The model without what head h has to say: its columns of W_o are zeros.
Model without_head(const Model& model, int64_t h, int64_t heads) {
  return with_output(model, [&](const Tensor& output) {
    std::vector<double> kept(static_cast<size_t>(output.dim(1)), 1);
    const int64_t width = output.dim(1) / heads;
    std::fill_n(kept.begin() + h * width, width, 0);
    return output * Tensor(Array::of({output.dim(1)}, output.dtype(), kept));
  });
}

// The model with noise in what every head says, as a control has it.
Model with_noise(const Trained& trained) {
  return with_output(trained.model, [&](const Tensor& output) {
    return cast(random_normal(RandomStream(trained.config.seed), "noise", output.shape()),
                output.dtype());
  });
}

// The weight of the letter n - 1 - k where letter k of the answer is to be said; n letters, and
// "=", stand before them.   [B, H, T, T]
double weight_of_answer(const Tensor& weights, int64_t n) {
  double total = 0;
  for (int64_t k = 0; k < n; ++k) {
    total += mean(slice(slice(weights, 2, n + k, 1), 3, n - 1 - k, 1)).item();
  }
  return total / static_cast<double>(n);
}

void measure(const LabContext& lab, const Trained& trained, HeadsCount& count) {
  const int64_t heads = trained.config.model.num_heads, length = trained.config.data.length;
  const Batch batch = trained.data->validation_batch(0, 64);
  const Model model = lab.breaks("noise") ? with_noise(trained) : trained.model;
  const auto [result, trace] = trace_loss(model, batch);
  const Tensor weights = trace[kWeights];
  const Tensor before =
      lab.breaks("untrained") ? weights : trace_loss(untrained(trained), batch).trace[kWeights];
  const double whole = result.item();
  Samples without;
  for (int64_t h = 0; h < heads; ++h) {
    without.push_back(trace_loss(without_head(model, h, heads), batch).result.item());
  }
  const auto helps = std::ranges::count_if(without, [&](double loss) { return loss < whole; });
  if (count.loss.empty()) {
    for (int64_t h = 0; h < heads; ++h) {
      const Tensor map = slice(slice(weights, 0, 0, 1), 1, h, 1);
      count.maps.push_back(reshape(map, {map.dim(2), map.dim(3)}));
    }
  }
  count.parameters = parameter_count(parameters(model));
  count.loss.push_back(trained.validation.loss);
  count.right.push_back(trained.validation.token_accuracy);
  count.whole.push_back(whole);
  count.without.push_back(mean_of(without));
  count.helps.push_back(static_cast<double>(helps) / static_cast<double>(heads));
  count.apart.push_back(apart(weights));
  count.apart_before.push_back(apart(before));
  count.answer.push_back(weight_of_answer(weights, length));
  count.answer_before.push_back(weight_of_answer(before, length));
  count.rank = std::max(count.rank,
                        largest_rank(trace["blocks.0.attention.q"], trace["blocks.0.attention.k"]));
}

}  // namespace

HeadsTask measure_heads(const LabContext& lab, const std::vector<int64_t>& heads, HeadsTask task) {
  for (const int64_t number : heads) {
    task.counts.push_back({.heads = number});
    const auto models = train_over_seeds(
        lab, {absl::StrCat("data.task=", task.name), absl::StrCat("data.length=", task.length),
              absl::StrCat("model.num_heads=", lab.is_control() ? 1 : number)});
    for (const Trained& each : models) measure(lab, each, task.counts.back());
  }
  return task;
}

}  // namespace qkv
