// One head, eight, or as many as there are numbers: all with the same number of parameters.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/nn/with_parameters.h"

namespace qkv {
namespace {

// The results for one number of heads, over the seeds.
struct HeadsCount {
  int64_t heads = 0;
  int64_t parameters = 0;
  double rank = 0;                // of Q Kᵀ, the largest of all heads and seeds
  Samples loss = {}, right = {};  // on unseen examples
  Samples whole = {};             // loss on a few of them
  Samples without = {};           // the same without a head, the mean over the heads
  Samples helps = {};             // share of heads without which it is smaller
  Samples apart = {};             // share of the weights by which two heads differ
  Samples apart_before = {};      // the same before training
  Samples answer = {};            // reverse: weight of the letter that is the answer
  Samples answer_before = {};
  std::vector<Tensor> maps = {};  // weights [T, T] of each head, of one example of the first seed
};

// On one task, the fewest heads first.
struct HeadsTask {
  std::string name;
  int64_t length;
  std::vector<HeadsCount> counts = {};

  const HeadsCount& with_heads(int64_t heads) const {
    return *std::ranges::find(counts, heads, &HeadsCount::heads);
  }
};

// The work of heads in trained models: how they differ, and what a model can do without one.

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

// Trains with each of these numbers of heads, and looks at what the heads do.
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

constexpr int64_t kWidth = 32;    // d
constexpr double kLearned = 0.9;  // share of tokens that are right, of a task that is learned

Table table_of(const HeadsTask& task) {
  return table_by(say("Task {0}", task.name),
                  {say("heads"), say("parameters"), say("loss"), say("right"), say("rank"),
                   say("heads without which it is smaller"), say("two heads differ by")},
                  task.counts, [](const HeadsCount& count) {
                    return std::vector{
                        absl::StrCat(count.heads),          absl::StrCat(count.parameters),
                        format_samples(count.loss),         format_samples(count.right),
                        format_number(count.rank),          format_number(mean_of(count.helps)),
                        format_number(mean_of(count.apart))};
                  });
}

Finding is_learned(const HeadsTask& task, const HeadsCount& count) {
  return premise(at_least(say("{0}: tokens that are right, heads: {1}", task.name, count.heads),
                          kLearned, count.right));
}

Finding larger_loss(const HeadsTask& task, const HeadsCount& a, const HeadsCount& b) {
  return larger(say("{0}: loss, heads: {1}, and: {2}", task.name, a.heads, b.heads), a.loss,
                b.loss);
}

// The first heads of `count`, each with a row for each query.
HeatMaps maps_of(const Text& title, const HeadsCount& count) {
  constexpr size_t kMost = 4;
  HeatMaps maps = {.title = title};
  for (size_t h = 0; h < std::min(kMost, count.maps.size()); ++h) {
    maps.maps.push_back(heat_map_of(say("head {0}", h + 1), count.maps[h]));
    maps.maps.back().row_axis = say("query");
    maps.maps.back().column_axis = say("key");
  }
  return maps;
}

Section matters_section(const HeadsTask& reverse) {
  const HeadsCount& one = reverse.counts.front();
  return make_section(
      "heads-count.matters",
      {is_learned(reverse, one),
       larger(say("one head: weight of the letter that is the answer, after training and before"),
              one.answer, one.answer_before)},
      {maps_of(say("reverse, one head: weights after training"), one)});
}

Section better_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  return make_section(
      "heads-count.better",
      {is_learned(sort, sort.with_heads(some)),
       larger_loss(sort, sort.counts.front(), sort.with_heads(some)),
       beyond(named("reverse",
                    larger_loss(reverse, reverse.counts.front(), reverse.with_heads(some))))},
      {line_chart(say("Loss on unseen examples"), log_axis(say("heads")), log_axis(say("loss")),
                  {series_by(sort.name, sort.counts, &HeadsCount::heads, &HeadsCount::loss),
                   series_by(reverse.name, reverse.counts, &HeadsCount::heads, &HeadsCount::loss)}),
       table_of(sort), table_of(reverse)});
}

Section different_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  const auto more = [&](const HeadsTask& task) {
    const HeadsCount& count = task.with_heads(some);
    return larger(
        say("{0}: by how much of their weights two of {1} heads differ, after training and "
            "before",
            task.name, some),
        count.apart, count.apart_before);
  };
  return make_section("heads-count.different",
                      {is_learned(sort, sort.with_heads(some)), more(sort), more(reverse)},
                      {maps_of(say("reverse, the first of {0} heads: weights after training", some),
                               reverse.with_heads(some))});
}

Section eight_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  Section section = make_section("heads-count.eight");
  for (const HeadsTask* const task : {&sort, &reverse}) {
    const HeadsCount& suits = task->with_heads(some);
    section.add(named(absl::StrCat(task->name, "_learned"), is_learned(*task, suits)));
    for (const HeadsCount* const rival : {&task->counts.front(), &task->counts.back()}) {
      Samples shares;
      for (size_t i = 0; i < suits.loss.size(); ++i) {
        shares.push_back(suits.loss[i] / rival->loss[i]);
      }
      const bool is_one = rival == &task->counts.front();
      section.add(named(
          absl::StrCat(task->name, is_one ? "_one" : "_most"),
          at_most(say("{0}: loss, heads: {1}, over that with: {2}", task->name, some, rival->heads),
                  1, shares)));
    }
  }
  return section;
}

Section too_many_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  return make_section(
      "heads-count.too-many",
      {is_learned(reverse, reverse.with_heads(some)),
       larger_loss(reverse, reverse.counts.back(), reverse.with_heads(some)),
       beyond(named("sort", larger_loss(sort, sort.counts.back(), sort.with_heads(some))))});
}

Section wrong_section(const HeadsTask& sort, const HeadsTask& reverse) {
  Section section = make_section("heads-count.wrong");
  for (const HeadsTask* const task : {&sort, &reverse}) {
    const HeadsCount& many = task->counts.back();
    section.add(named(task == &sort ? "" : "learned", is_learned(*task, many)));
    section.add(above(
        say("{0}: share of {1} heads without which the loss is smaller", task->name, many.heads),
        0.5, many.helps));
    section.add(
        named(task->name, larger(say("{0}: loss with all of {1} heads, and without one of them",
                                     task->name, many.heads),
                                 many.whole, many.without)));
  }
  return section;
}

Section rank_section(const HeadsTask& sort) {
  Section section = make_section("heads-count.rank");
  const int64_t tokens = 2 * sort.length;  // the question, "=", and all of the answer but the last
  for (const HeadsCount& count : sort.counts) {
    section.add(equal(say("rank of Q Kᵀ, heads: {0}", count.heads),
                      std::min(kWidth / count.heads, tokens), count.rank));
  }
  const auto [fewest, most] = std::ranges::minmax(sort.counts, {}, &HeadsCount::parameters);
  section.add(
      equal(say("parameters, the most and the fewest of all"), fewest.parameters, most.parameters));
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<int64_t> heads = lab.integers("heads");
  if (heads.back() < kWidth) heads.push_back(kWidth);
  // The count nearest to 8 that is neither 1 nor the largest.
  const int64_t some = *std::ranges::min_element(heads, {}, [&](int64_t h) {
    return h == 1 || h == kWidth ? 1e9 : std::abs(std::log2(static_cast<double>(h) / 8));
  });
  const HeadsTask sort = measure_heads(lab, heads, {.name = "sort", .length = 5}),
                  reverse = measure_heads(lab, heads, {.name = "reverse", .length = 8});
  return {matters_section(reverse),
          better_section(sort, reverse, some),
          different_section(sort, reverse, some),
          eight_section(sort, reverse, some),
          too_many_section(sort, reverse, some),
          wrong_section(sort, reverse),
          rank_section(sort)};
}

}  // namespace

Lab heads_count_lab() { return make_lab("heads-count", run); }

}  // namespace qkv
