// One head, eight, or as many as there are numbers: all with the same number of parameters.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/nn/with_parameters.h"

namespace qkv {
namespace {

// The results for one number of heads, over the seeds.
struct HeadsCount {
  int64_t heads = 0;
  Samples loss = {}, right = {};  // on unseen examples
  Samples whole = {};             // loss on a few of them
  Samples without = {};           // the same without a head, the mean over the heads
  Samples helps = {};             // share of heads without which it is smaller
  Samples answer = {};            // reverse: weight of the letter that is the answer
  Samples answer_before = {};
  Tensor map = {};  // weights [T, T] of the first head, of one example of the first seed
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

// The work of heads in trained models: what a model can do without one.

constexpr const char* kWeights = "blocks.0.attention.weights";

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
    const Tensor first = slice(slice(weights, 0, 0, 1), 1, 0, 1);
    count.map = reshape(first, {first.dim(2), first.dim(3)});
  }
  count.loss.push_back(trained.validation.loss);
  count.right.push_back(trained.validation.token_accuracy);
  count.whole.push_back(whole);
  count.without.push_back(mean_of(without));
  count.helps.push_back(static_cast<double>(helps) / static_cast<double>(heads));
  count.answer.push_back(weight_of_answer(weights, length));
  count.answer_before.push_back(weight_of_answer(before, length));
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
  return table_by(
      say("Task {0}", task.name),
      {say("heads"), say("loss"), say("right"), say("heads without which it is smaller")},
      task.counts, [](const HeadsCount& count) {
        return std::vector{absl::StrCat(count.heads), format_samples(count.loss),
                           format_samples(count.right), format_number(mean_of(count.helps))};
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

Section matters_section(const HeadsTask& reverse) {
  const HeadsCount& one = reverse.counts.front();
  return make_section(
      "heads-count.matters",
      {is_learned(reverse, one),
       larger(say("one head: weight of the letter that is the answer, after training and before"),
              one.answer, one.answer_before)},
      {heat_map_of(say("reverse, one head: weights after training"), one.map, say("query"),
                   say("key"))});
}

// For each seed the loss of a count over the least of all counts, on the worse of both tasks: 1
// where it is the best everywhere.
Samples regret_of(const HeadsTask& sort, const HeadsTask& reverse, int64_t heads) {
  Samples worst(sort.counts.front().loss.size(), 0.0);
  for (const HeadsTask* const task : {&sort, &reverse}) {
    for (size_t seed = 0; seed < worst.size(); ++seed) {
      const Samples losses =
          values_of(task->counts, [=](const HeadsCount& count) { return count.loss[seed]; });
      worst[seed] = std::max(worst[seed], task->with_heads(heads).loss[seed] / least_of(losses));
    }
  }
  return worst;
}

Section eight_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  Section section = make_section(
      "heads-count.eight",
      {is_learned(sort, sort.with_heads(some)), is_learned(reverse, reverse.with_heads(some))},
      {line_chart(say("Loss on unseen examples"), log_axis(say("heads")), log_axis(say("loss")),
                  {series_by(sort.name, sort.counts, &HeadsCount::heads, &HeadsCount::loss),
                   series_by(reverse.name, reverse.counts, &HeadsCount::heads, &HeadsCount::loss)}),
       table_of(sort), table_of(reverse)});
  for (const int64_t rival : {sort.counts.front().heads, sort.counts.back().heads}) {
    section.add(
        larger(say("loss over the least of all, the worse task, heads: {0}, and: {1}", rival, some),
               regret_of(sort, reverse, rival), regret_of(sort, reverse, some)));
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
    section.add(named(absl::StrCat(task->name, "_helps"),
                      above(say("{0}: share of {1} heads without which the loss is smaller",
                                task->name, many.heads),
                            0.5, many.helps)));
    section.add(
        named(task->name, larger(say("{0}: loss with all of {1} heads, and without one of them",
                                     task->name, many.heads),
                                 many.whole, many.without)));
  }
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
  return {matters_section(reverse), eight_section(sort, reverse, some),
          too_many_section(sort, reverse, some), wrong_section(sort, reverse)};
}

}  // namespace

Lab heads_count_lab() { return make_lab("heads-count", run); }

}  // namespace qkv
