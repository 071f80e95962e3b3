// One head, eight, or as many as there are numbers: all with the same number of parameters.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"
#include "train/run/batch_loss.h"

namespace qkv {
namespace {

constexpr const char* kConfig = R"(
name = "heads-count"
[data]
length = 8
validation_examples = 200
[model]
num_layers = 1
d_model = 32
d_ff = 64
[optimizer]
learning_rate = 5e-3
[train]
batch_size = 32
)";

using Samples = std::vector<double>;

// What came of so many heads, over the seeds.
struct Count {
  int64_t heads = 0;
  int64_t parameters = 0;
  double rank = 0;     // of Q Kᵀ, the largest of all heads and seeds
  Samples loss = {};   // on unseen examples
  Samples helps = {};  // share of heads without which the loss is smaller
  Samples apart = {};  // share of the weights by which two heads differ
};

struct Task {
  std::string name;
  std::vector<Count> counts = {};

  const Count& of(int64_t heads) const { return *std::ranges::find(counts, heads, &Count::heads); }
  const Count& best() const {
    return *std::ranges::min_element(counts, {},
                                     [](const Count& count) { return mean_of(count.loss); });
  }
};

// By elimination: pivots below this share of the first are rounding.   [n, n], row-major
double rank_of(std::vector<double> a, size_t n) {
  constexpr double kSmallest = 1e-10;
  double first = 0;
  for (size_t step = 0; step < n; ++step) {
    size_t row = step, column = step;
    for (size_t i = step; i < n; ++i) {
      for (size_t j = step; j < n; ++j) {
        if (std::abs(a[i * n + j]) > std::abs(a[row * n + column])) row = i, column = j;
      }
    }
    const double pivot = a[row * n + column];
    if (step == 0) first = std::abs(pivot);
    if (std::abs(pivot) <= kSmallest * first) return static_cast<double>(step);
    for (size_t j = 0; j < n; ++j) std::swap(a[step * n + j], a[row * n + j]);
    for (size_t i = 0; i < n; ++i) std::swap(a[i * n + step], a[i * n + column]);
    for (size_t i = step + 1; i < n; ++i) {
      const double factor = a[i * n + step] / pivot;
      for (size_t j = step; j < n; ++j) a[i * n + j] -= factor * a[step * n + j];
    }
  }
  return static_cast<double>(n);
}

// The largest rank of a head's Q Kᵀ in one sequence.   q and k [B, T, H, D]
double largest_rank(const Tensor& q, const Tensor& k) {
  const auto heads_of = [](const Tensor& x) {  // [H, T, D], in f64
    return permute(reshape(cast(slice(x, 0, 0, 1), DType::f64), {x.dim(1), x.dim(2), x.dim(3)}),
                   {1, 0, 2});
  };
  const Tensor products = matmul(heads_of(q), heads_of(k), {.transpose_b = true});  // [H, T, T]
  const int64_t length = q.dim(1);
  double largest = 0;
  for (int64_t h = 0; h < q.dim(2); ++h) {
    largest = std::max(largest,
                       rank_of(slice(products, 0, h, 1).to_vector(), static_cast<size_t>(length)));
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

double loss_of(const Model& model, const Batch& batch) {
  ForwardContext context;
  return batch_loss(model, batch, {}, context).loss.item();
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

void measure(const LabContext& lab, const std::string& task, uint64_t seed, Count& count) {
  const int64_t heads = lab.is_control() ? 1 : count.heads;
  const Trained trained = train_or_reuse(
      lab, lab_config(kConfig, {absl::StrCat("data.task=", task), absl::StrCat("seed=", seed),
                                absl::StrCat("model.num_heads=", heads),
                                absl::StrCat("train.steps=", lab.integer("steps"))}));
  const Batch batch = trained.data->validation_batch(0, 64);
  Trace trace;
  ForwardContext context{.trace = &trace};
  const double whole = batch_loss(trained.model, batch, {}, context).loss.item();
  double helps = 0;
  for (int64_t h = 0; h < heads; ++h) {
    helps += loss_of(without_head(trained.model, h, heads), batch) < whole ? 1 : 0;
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
    Count count = {.heads = heads};
    for (const uint64_t seed : lab.seeds()) measure(lab, name, seed, count);
    task.counts.push_back(count);
  }
  return task;
}

Table table_of(const Task& task) {
  Table table = {.title = absl::StrCat("Task ", task.name),
                 .header = {"heads", "parameters", "loss", "rank", "removal helps", "apart"},
                 .rows = {}};
  for (const Count& count : task.counts) {
    table.rows.push_back({absl::StrCat(count.heads), absl::StrCat(count.parameters),
                          format_samples(count.loss), format_number(count.rank),
                          format_number(mean_of(count.helps)),
                          format_number(mean_of(count.apart))});
  }
  return table;
}

// The loss with so many heads over that with so many others.
double share_of_loss(const Task& task, int64_t heads, int64_t others) {
  return mean_of(task.of(heads).loss) / mean_of(task.of(others).loss);
}

Section better_section(const Task& sort, const Task& reverse, int64_t many) {
  const auto better = [&](const Task& task) {
    const double share = share_of_loss(task, many, 1);
    return found(absl::StrCat(task.name, ": loss with ", many, " heads over that with 1"),
                 "below 0.8", format_number(share), share < 0.8);
  };
  const Count& several = sort.of(many);
  return {
      .claims =
          {{"B140",
            "再经过多头注意力，我们可以进一步上面的操作，得到Z‘，这个Z’又是比Z更好地描述了对X而言"
            "哪些东西更重要。",
            "With several heads we get Z', which says even better than Z what in X "
            "matters."},
           {"C142", "自注意力机制采用多个**head**，便可以捕捉不同的相关性。",
            "With several heads self-attention catches different relations."},
           {"B164",
            "多头无非就是一种效果更好的能找到这个合理位置的方法，也就是通过多头分割，把X分到了8个"
            "不同的位置，从这8个不同的位置出发去寻找最终合理的位置",
            "Several heads are a more effective way to the place that makes sense: X is put at 8 "
            "different places, from which to look for it."}},
      .formula = "as many parameters, d / h numbers for each of h heads",
      .prediction =
          "With several heads the loss is smaller than with one; heads look at different tokens, "
          "and none of them is one too many.",
      .findings = {better(sort),
                   larger("sort: loss with 1 head, and with more", sort.of(1).loss, several.loss),
                   found("share of the weights by which two heads differ", "above 0.1",
                         format_samples(several.apart), mean_of(several.apart) > 0.1),
                   found("share of heads without which the loss is smaller", "below 0.1",
                         format_samples(several.helps), mean_of(several.helps) < 0.1),
                   beyond(better(reverse))},
      .figures = {table_of(sort), table_of(reverse)},
      .condition = "a token has to look at several others (sort), not at one (reverse)"};
}

LineChart chart_of(const std::vector<const Task*>& tasks) {
  LineChart chart = {.title = "Loss on unseen examples, by the number of heads",
                     .x_label = "heads",
                     .y_label = "loss",
                     .log_x = true,
                     .log_y = true,
                     .series = {}};
  for (const Task* task : tasks) {
    Series series = {.name = task->name, .x = {}, .y = {}, .spread = {}};
    for (const Count& count : task->counts) {
      series.x.push_back(static_cast<double>(count.heads));
      series.y.push_back(mean_of(count.loss));
      series.spread.push_back(deviation_of(count.loss));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

// By how many deviations over the seeds, of both, the loss lies above that of the best number.
double above_best(const Task& task, const Count& count) {
  const Count& best = task.best();
  const double spread = std::hypot(deviation_of(count.loss), deviation_of(best.loss));
  return &count == &best ? 0 : (mean_of(count.loss) - mean_of(best.loss)) / spread;
}

Table distance_table(const Task& sort, const Task& reverse) {
  Table table = {.title = "Loss above that of the best number, in deviations over the seeds",
                 .header = {"heads", sort.name, reverse.name},
                 .rows = {}};
  for (const Count& count : sort.counts) {
    table.rows.push_back({absl::StrCat(count.heads), format_number(above_best(sort, count)),
                          format_number(above_best(reverse, reverse.of(count.heads)))});
  }
  return table;
}

// One seed has no deviation, and decides nothing.
Finding decided_by_spread(const Task& task, Finding finding) {
  if (task.best().loss.size() < 2) finding.agreement = Agreement::kUndecided;
  return finding;
}

Section eight_section(const Task& sort, const Task& reverse, int64_t some) {
  constexpr double kMost = 2;  // deviations that are nothing to speak of
  const auto suits = [&](const Task& task) {
    const double above = above_best(task, task.of(some));
    return decided_by_spread(task,
                             found(absl::StrCat(task.name, ": ", some, " heads, above the best (",
                                                task.best().heads, "), in deviations"),
                                   "at most 2", format_number(above), above <= kMost));
  };
  const auto matters = [&](const Task& task) {
    const Count& worst = *std::ranges::max_element(
        task.counts, {}, [](const Count& count) { return mean_of(count.loss); });
    const double above = above_best(task, worst);
    return decided_by_spread(task,
                             found(absl::StrCat(task.name, ": the worst number (", worst.heads,
                                                "), above the best, in deviations"),
                                   "more than 2", format_number(above), above > kMost));
  };
  return {
      .claims = {{"B166", "8头是一个经过多次实验得到的比较合适的一个数量。",
                  "8 heads is a number that many experiments have found to suit fairly well."}},
      .formula = "(loss(h) - min loss) / √(σ_h² + σ_min²)",
      .prediction =
          "Of this sentence the 8 is judged: on either task the loss with 8 heads is no further "
          "above that of the best number than seeds are apart, while that of others is.",
      .findings = {suits(sort), suits(reverse), matters(sort), matters(reverse)},
      .figures = {distance_table(sort, reverse), chart_of({&sort, &reverse})},
      .correction =
          "8 is no constant, and not alone: it is what Vaswani et al. took for d_model 512. On "
          "sort 16 and 32 come lower still, on reverse all but 32 are alike. Which numbers suit "
          "depends on the task and on the width: try."};
}

Section too_many_section(const Task& sort, const Task& reverse, int64_t some, int64_t most) {
  const auto worse = [&](const Task& task) {
    const double share = share_of_loss(task, most, some);
    return found(absl::StrCat(task.name, ": loss with ", most, " heads over that with ", some),
                 "above 1.25", format_number(share), share > 1.25);
  };
  return {.claims = {{"B166", "那为什么不是分成100、1000头呢？岂不是越多越好？其实并不是这样",
                      "Why not 100 or 1,000 heads? Are more not better? In fact it is not so."}},
          .formula = "h = d: heads of one number each",
          .prediction = "With as many heads as there are numbers the loss is larger.",
          .findings = {worse(reverse),
                       larger(absl::StrCat("reverse: loss with ", most, " heads and with ", some),
                              reverse.of(most).loss, reverse.of(some).loss),
                       beyond(worse(sort))},
          .figures = {},
          .condition = "a head must tell many places apart (reverse), not just what is larger"};
}

Section wrong_section(const Task& sort, const Task& reverse, int64_t most) {
  const auto wrong = [&](const Task& task) {
    const Samples& helps = task.of(most).helps;
    return found(absl::StrCat(task.name, ": heads of ", most, " whose removal helps"),
                 "more than half", format_samples(helps), mean_of(helps) > 0.5);
  };
  return {
      .claims = {{"B166",
                  "假如说有100个头，里面有80个错误的，那么最终汇总的时候就会掺杂很多错误的信息，"
                  "从而导致不准确",
                  "If of 100 heads 80 are wrong, much wrong information is mixed into the "
                  "sum, which makes it inexact."}},
      .formula = "loss without head m, against loss",
      .prediction =
          "Of too many heads most are wrong: the loss falls when one of them is taken out.",
      .findings = {wrong(sort), wrong(reverse)},
      .figures = {},
      .correction =
          "Many heads do not harm by being wrong: W_o is trained to weigh what they say. What "
          "they lose is rank: d / h dimensions in which to tell tokens apart."};
}

Section rank_section(const Task& sort) {
  constexpr double kWidth = 32;
  Section section = {
      .claims = {{"C142", "即在多个不同的投影空间中捕捉不同的交互信息",
                  "That is, it catches different interactions in several projected spaces."}},
      .formula = "rank(Q_h K_hᵀ) ≤ d_k = d / h",
      .prediction =
          "Each space has d / h dimensions: the rank of a head's scores is that, or the number "
          "of tokens.",
      .findings = {},
      .figures = {}};
  constexpr double kTokens = 16;  // the question, "=", and all of the answer but the last
  for (const Count& count : sort.counts) {
    const double width = kWidth / static_cast<double>(count.heads);
    section.findings.push_back(exact(absl::StrCat("rank of Q Kᵀ, heads: ", count.heads),
                                     std::min(width, kTokens), count.rank, 0));
  }
  const auto [fewest, most] = std::ranges::minmax(sort.counts, {}, &Count::parameters);
  section.findings.push_back(exact("parameters, the most and the fewest of all",
                                   static_cast<double>(fewest.parameters),
                                   static_cast<double>(most.parameters), 0));
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<int64_t> heads = lab.integers("heads");
  const int64_t most = *std::ranges::max_element(heads);
  // Of those that are neither 1 nor the most, the one nearest to 8.
  const int64_t some = *std::ranges::min_element(heads, {}, [&](int64_t h) {
    return h == 1 || h == most ? 1e9 : std::abs(std::log2(static_cast<double>(h) / 8));
  });
  const Task sort = measure_all(lab, "sort"), reverse = measure_all(lab, "reverse");
  return {better_section(sort, reverse, some), eight_section(sort, reverse, some),
          too_many_section(sort, reverse, some, most), wrong_section(sort, reverse, most),
          rank_section(sort)};
}

}  // namespace

Lab heads_count_lab() {
  return {.name = "heads-count",
          .question = "Are more heads better, and 8 the right number?",
          .control = "every model has one head, whatever is said of it",
          .duration = "35 s",
          .options = {{"heads", "1,2,4,8,16,32", "of the models", 1, 32, Numbers::kDivisors, 3, 6},
                      steps_option("300"),
                      seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
