// One head, eight, or as many as there are numbers: all with the same number of parameters.
#include "lessons/labs/kit.h"
#include "lessons/labs/matrices.h"
#include "lessons/labs/trained.h"

namespace qkv {
namespace {

// What came of so many heads, over the seeds.
struct Count {
  int64_t heads = 0;
  int64_t parameters = 0;
  double rank = 0;     // of Q Kᵀ, the largest of all heads and seeds
  Samples loss = {};   // on unseen examples
  Samples helps = {};  // share of heads without which the loss is smaller
  Samples apart = {};  // share of the weights by which two heads differ
};

double mean_loss(const Count& count) { return mean_of(count.loss); }

struct Task {
  std::string name;
  std::vector<Count> counts = {};

  const Count& with_heads(int64_t heads) const {
    return *std::ranges::find(counts, heads, &Count::heads);
  }
  const Count& best() const { return *std::ranges::min_element(counts, {}, mean_loss); }
};

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

// The model without what head h has to say: its columns of W_o are zeros.
Model without_head(const Model& model, int64_t h, int64_t heads) {
  std::vector<Tensor> tensors;
  for (const NamedParameter& parameter : parameters(model)) {
    Tensor tensor = parameter.tensor;
    if (parameter.name == "blocks.0.attention.output.weight") {  // [C, H D]
      std::vector<double> kept(static_cast<size_t>(tensor.dim(1)), 1);
      const int64_t width = tensor.dim(1) / heads;
      std::fill_n(kept.begin() + h * width, width, 0);
      tensor = tensor * Tensor(Array::of({tensor.dim(1)}, tensor.dtype(), kept));
    }
    tensors.push_back(tensor);
  }
  return with_parameters(model, tensors);
}

void measure(const Trained& trained, Count& count) {
  const int64_t heads = trained.config.model.num_heads;
  const Batch batch = trained.data->validation_batch(0, 64);
  const auto [result, trace] = trace_loss(trained.model, batch);
  const double whole = result.item();
  double helps = 0;
  for (int64_t h = 0; h < heads; ++h) {
    helps += trace_loss(without_head(trained.model, h, heads), batch).result.item() < whole ? 1 : 0;
  }
  count.parameters = parameter_count(parameters(trained.model));
  count.loss.push_back(trained.validation.loss);
  count.helps.push_back(helps / static_cast<double>(heads));
  count.apart.push_back(apart(trace["blocks.0.attention.weights"]));
  count.rank = std::max(count.rank,
                        largest_rank(trace["blocks.0.attention.q"], trace["blocks.0.attention.k"]));
}

Task measure_all(const LabContext& lab, const std::string& name) {
  Task task = {.name = name};
  for (const int64_t heads : lab.integers("heads")) {
    task.counts.push_back({.heads = heads});
    const auto models =
        train_over_seeds(lab, {absl::StrCat("data.task=", name),
                               absl::StrCat("model.num_heads=", lab.is_control() ? 1 : heads)});
    for (const Trained& each : models) measure(each, task.counts.back());
  }
  return task;
}

Table table_of(const Task& task) {
  return table_by(absl::StrCat("Task ", task.name),
                  {"heads", "parameters", "loss", "rank", "removal helps", "apart"}, task.counts,
                  [](const Count& count) {
                    return std::vector{
                        absl::StrCat(count.heads),           absl::StrCat(count.parameters),
                        format_samples(count.loss),          format_number(count.rank),
                        format_number(mean_of(count.helps)), format_number(mean_of(count.apart))};
                  });
}

// The loss with so many heads over that with so many others, beside a bound.
Finding share_of_loss(Finding (*judge)(Text, double, const Measurement&), double bound,
                      const Task& task, int64_t heads, int64_t others) {
  return judge(absl::StrCat(task.name, ": loss with ", heads, " heads over that with ", others),
               bound, mean_loss(task.with_heads(heads)) / mean_loss(task.with_heads(others)));
}

Section better_section(const Task& sort, const Task& reverse, int64_t many) {
  const Count& several = sort.with_heads(many);
  return make_section(
      "heads-count.better",
      {share_of_loss(below, 0.8, sort, many, 1),
       larger("sort: loss with 1 head, and with more", sort.with_heads(1).loss, several.loss),
       above("share of the weights by which two heads differ", 0.1, several.apart),
       below("share of heads without which the loss is smaller", 0.1, several.helps),
       beyond(share_of_loss(below, 0.8, reverse, many, 1))},
      {table_of(sort), table_of(reverse)});
}

// By how many deviations over the seeds, of both, the loss lies above that of the best number.
double above_best(const Task& task, const Count& count) {
  const Count& best = task.best();
  const double spread = std::hypot(deviation_of(count.loss), deviation_of(best.loss));
  return &count == &best ? 0 : (mean_of(count.loss) - mean_of(best.loss)) / spread;
}

Table distance_table(const Task& sort, const Task& reverse) {
  return table_by("Loss above that of the best number, in deviations over the seeds",
                  {"heads", sort.name, reverse.name}, sort.counts, [&](const Count& count) {
                    return std::vector{
                        absl::StrCat(count.heads), format_number(above_best(sort, count)),
                        format_number(above_best(reverse, reverse.with_heads(count.heads)))};
                  });
}

Section eight_section(const Task& sort, const Task& reverse, int64_t some) {
  constexpr double kMost = 2;  // deviations that are nothing to speak of
  const auto judge = [](const Task& task, const std::string& what, const Count& count,
                        bool is_far) {
    const double above = above_best(task, count);
    Finding finding = found(absl::StrCat(task.name, ": ", what),
                            is_far ? "more than 2" : "at most 2", above, is_far == (above > kMost));
    // One seed has no standard deviation.
    if (count.loss.size() < 2) finding.result = FindingResult::kUndecided;
    return finding;
  };
  const auto suits = [&](const Task& task) {
    const std::string what =
        absl::StrCat(some, " heads, above the best (", task.best().heads, "), in deviations");
    return judge(task, what, task.with_heads(some), /*is_far=*/false);
  };
  const auto matters = [&](const Task& task) {
    const Count& worst = *std::ranges::max_element(task.counts, {}, mean_loss);
    const std::string what =
        absl::StrCat("the worst number (", worst.heads, "), above the best, in deviations");
    return judge(task, what, worst, /*is_far=*/true);
  };
  return make_section(
      "heads-count.eight", {suits(sort), suits(reverse), matters(sort), matters(reverse)},
      {distance_table(sort, reverse),
       line_chart("Loss on unseen examples, by the number of heads", log_axis("heads"),
                  log_axis("loss"),
                  {series_by(sort.name, sort.counts, &Count::heads, &Count::loss),
                   series_by(reverse.name, reverse.counts, &Count::heads, &Count::loss)})});
}

Section too_many_section(const Task& sort, const Task& reverse, int64_t some, int64_t most) {
  return make_section("heads-count.too-many",
                      {share_of_loss(above, 1.25, reverse, most, some),
                       larger(absl::StrCat("reverse: loss with ", most, " heads and with ", some),
                              reverse.with_heads(most).loss, reverse.with_heads(some).loss),
                       beyond(share_of_loss(above, 1.25, sort, most, some))});
}

Section wrong_section(const Task& sort, const Task& reverse, int64_t most) {
  const auto wrong = [&](const Task& task) {
    return found(absl::StrCat(task.name, ": heads of ", most, " whose removal helps"),
                 "more than half", task.with_heads(most).helps,
                 mean_of(task.with_heads(most).helps) > 0.5);
  };
  return make_section("heads-count.wrong", {wrong(sort), wrong(reverse)});
}

Section rank_section(const Task& sort) {
  Section section = make_section("heads-count.rank");
  constexpr double kWidth = 32,
                   kTokens = 16;  // the question, "=", and all of the answer but the last
  for (const Count& count : sort.counts) {
    const double width = kWidth / static_cast<double>(count.heads);
    section.add(equal(absl::StrCat("rank of Q Kᵀ, heads: ", count.heads), std::min(width, kTokens),
                      count.rank));
  }
  const auto [fewest, most] = std::ranges::minmax(sort.counts, {}, &Count::parameters);
  section.add(
      equal("parameters, the most and the fewest of all", fewest.parameters, most.parameters));
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<int64_t> heads = lab.integers("heads");
  const int64_t most = std::ranges::max(heads);
  // The count nearest to 8 that is neither 1 nor the largest.
  const int64_t some = *std::ranges::min_element(heads, {}, [&](int64_t h) {
    return h == 1 || h == most ? 1e9 : std::abs(std::log2(static_cast<double>(h) / 8));
  });
  const Task sort = measure_all(lab, "sort"), reverse = measure_all(lab, "reverse");
  return {better_section(sort, reverse, some), eight_section(sort, reverse, some),
          too_many_section(sort, reverse, some, most), wrong_section(sort, reverse, most),
          rank_section(sort)};
}

}  // namespace

Lab heads_count_lab() { return make_lab("heads-count", run); }

}  // namespace qkv
