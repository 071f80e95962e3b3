// With V classes, smoothing s, and one target class for each row:
//   p = softmax(logits),  q = (1 - s) one_hot(target) + s / V      logits, p, q: [N, V]
//   loss = -sum(q log(p)) over V, 0 where the target is ignored    target, loss: [N]
//   dlogits = (p - q) dloss, 0 where the target is ignored
// What comes out is sum(loss) / divisor, a scalar.
//
// Label smoothing: Szegedy et al., "Rethinking the Inception architecture", 2016.

#include <algorithm>

#include "framework/kernels/softmax.h"
#include "framework/ops/kit.h"

namespace qkv {
namespace {

struct Targets {
  Tensor index;         // i64 [N, 1]: 0 where ignored
  Tensor ignored;       // boolean [N, 1]
  int64_t counted = 0;  // how many are not ignored
};

Targets read_targets(const Array& targets, int64_t ignored) {
  const Shape column = {targets.size(), 1};
  Array index(column, DType::i64), mask(column, DType::boolean);
  Targets result;
  for (int64_t i = 0; i < targets.size(); ++i) {
    const int64_t target = targets.data<int64_t>()[i];
    const bool skip = target == ignored;
    index.mutable_data<int64_t>()[i] = skip ? 0 : target;
    mask.mutable_data<bool>()[i] = skip;
    if (!skip) ++result.counted;
  }
  result.index = Tensor(index);
  result.ignored = Tensor(mask);
  return result;
}

// Logits that may be anything in the rows that are ignored.
Tensor counted_logits(const Tensor& logits, const Targets& rows) {
  return kernels::all_finite(logits.array()) ? logits : masked_fill(logits, rows.ignored, 0.0);
}

Tensor losses_composed(const Tensor& logits, const Array& targets,
                       const CrossEntropyOptions& options) {
  if (logits.dim(1) == 0) return sum(logits, 1);  // no classes: every target is ignored
  const Targets rows = read_targets(targets, options.ignored);
  const Scalar s = options.label_smoothing;
  const Tensor log_p = log_softmax(counted_logits(logits, rows));
  Tensor loss = scale(gather(log_p, 1, rows.index), s - 1);
  if (s > 0) loss = loss - scale(mean(log_p, 1, /*keep_axis=*/true), s);
  return reshape(masked_fill(loss, rows.ignored, 0.0), {targets.size()});
}

class CrossEntropy final : public Op, public HasAttributes, public HasKept {
 public:
  CrossEntropy(const Array& targets, const CrossEntropyOptions& options)
      : targets_(targets), options_(options) {}
  std::string_view name() const override { return "cross_entropy"; }
  std::vector<Attribute> attributes() const override {
    return {{"targets", targets_},
            {"ignored", options_.ignored},
            {"label_smoothing", options_.label_smoothing}};
  }

  Array forward(const Inputs& x) override {
    Array loss(targets_.shape(), x[0].dtype());
    log_sum_exp_ = Array(targets_.shape(), x[0].dtype());
    kernels::cross_entropy(x[0], targets_, options_.ignored, options_.label_smoothing, loss,
                           log_sum_exp_);
    return loss;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dloss) const override {
    const Tensor& logits = saved.input(0);
    if (!may_fuse({logits, dloss})) return {backward_composed(logits, dloss)};
    Array dlogits(logits.shape(), logits.dtype());
    kernels::cross_entropy_backward(logits.array(), targets_, log_sum_exp_, options_.ignored,
                                    options_.label_smoothing, dloss.array(), dlogits);
    return {Tensor(dlogits)};
  }

  std::vector<Kept> kept() override {
    return {{"targets", &targets_}, {"log_sum_exp", &log_sum_exp_}};
  }

 private:
  Tensor backward_composed(const Tensor& logits, const Tensor& dloss) const {
    const Targets rows = read_targets(targets_, options_.ignored);
    const int64_t n = logits.dim(0), classes = logits.dim(1);
    const Scalar s = options_.label_smoothing;
    const Tensor hot = reshape(one_hot(rows.index, classes, logits.dtype()), {n, classes});
    const Tensor q = scale(hot, 1 - s) + s / static_cast<Scalar>(classes);
    const Tensor dlogits = (softmax(counted_logits(logits, rows)) - q) * reshape(dloss, {n, 1});
    return masked_fill(dlogits, rows.ignored, 0.0);
  }

  Array targets_;  // [N]
  CrossEntropyOptions options_;
  Array log_sum_exp_;  // [N]
};

void check_targets(const Tensor& logits, const Tensor& targets, int64_t ignored) {
  check_axis("cross_entropy", {"logits", logits}, -1);
  check_dtype("cross_entropy", {"targets", targets}, DType::i64);
  const std::string all = describe({{"logits", logits}, {"targets", targets}});
  if (targets.shape() != logits.shape().without(-1)) {
    fail(absl::StrCat("cross_entropy: targets must be ", logits.shape().without(-1).to_string(),
                      ", one for each row: ", all));
  }
  const int64_t classes = logits.dim(-1);
  for (int64_t i = 0; i < targets.size(); ++i) {
    const int64_t target = targets.array().data<int64_t>()[i];
    if (target == ignored || (target >= 0 && target < classes)) continue;
    fail(absl::StrCat("cross_entropy: ", all, ": targets holds ", target, " at element ", i,
                      "; it must be from 0 to ", classes - 1, ", or ", ignored, " to be ignored"));
  }
}

void check_options(const Tensor& logits, const CrossEntropyOptions& options) {
  if (!(options.label_smoothing >= 0.0 && options.label_smoothing <= 1.0)) {
    fail(absl::StrCat("cross_entropy: label_smoothing must be from 0 to 1, not ",
                      options.label_smoothing, ": ", describe({{"logits", logits}})));
  }
  if (!(options.divisor >= 0.0)) {
    fail(absl::StrCat("cross_entropy: divisor must not be negative: ", options.divisor, ": ",
                      describe({{"logits", logits}})));
  }
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  check_floating("cross_entropy", {"logits", logits});
  check_targets(logits, targets, options.ignored);
  check_options(logits, options);
  const Array rows = targets.array().reshaped({targets.size()});
  const Tensor flat = reshape(logits, {targets.size(), logits.dim(-1)});
  const Tensor losses = composed_only() || flat.dim(1) == 0
                            ? losses_composed(flat, rows, options)
                            : apply<CrossEntropy>({flat}, rows, options);
  double divisor = options.divisor;
  if (divisor == 0.0) {
    const int64_t counted = read_targets(rows, options.ignored).counted;
    divisor = static_cast<double>(std::max<int64_t>(counted, 1));
  }
  return scale(sum(losses), 1 / Scalar(divisor));
}

OpExamples cross_entropy_examples() {
  const auto f = [](CrossEntropyOptions options) {
    return [options](std::span<const Tensor> x) { return cross_entropy(x[0], x[1], options); };
  };
  const ExampleInput logits = {Fill::kNormal, {2, 3, 5}};
  const ExampleInput all = {Fill::kIndices, {2, 3}, 5}, some = {Fill::kTargets, {2, 3}, 5};
  return {
      .op = "cross_entropy",
      .examples = {{"every row", {logits, all}, f({})},
                   {"some ignored", {logits, some}, f({})},
                   {"label smoothing", {logits, some}, f({.label_smoothing = 0.1})},
                   {"a class ignored", {logits, all}, f({.ignored = 2})},
                   {"divided by a number", {logits, some}, f({.divisor = 2.5})},
                   {"all ignored",
                    {{Fill::kNormal, {3, 4}}},
                    [](std::span<const Tensor> x) {
                      return cross_entropy(x[0], full({3}, -1, DType::i64),
                                           {.label_smoothing = 0.1});
                    }},
                   {"one row", {{Fill::kNormal, {4}}, {Fill::kIndices, {}, 4}}, f({})}},
      .errors =
          {{"a target beyond the classes",
            [] {
              const std::vector<int64_t> targets = {0, -1, 5};
              cross_entropy(zeros({3, 5}), Tensor(Array::of({3}, targets)));
            },
            "cross_entropy: logits f32[3, 5], targets i64[3]: targets holds 5 at element 2; it "
            "must be from 0 to 4, or -1 to be ignored"},
           {"another shape",
            [] {
              cross_entropy(zeros({2, 3, 5}), zeros({2}, DType::i64));
            },
            "cross_entropy: targets must be [2, 3], one for each row: logits f32[2, 3, 5], targets "
            "i64[2]"},
           {"targets of numbers",
            [] {
              cross_entropy(zeros({2, 5}), zeros({2}));
            },
            "cross_entropy: needs i64: targets f32[2]"},
           {"too much smoothing",
            [] {
              cross_entropy(zeros({2, 5}), zeros({2}, DType::i64), {.label_smoothing = 1.5});
            },
            "cross_entropy: label_smoothing must be from 0 to 1, not 1.5: logits f32[2, 5]"},
           {"a negative divisor",
            [] {
              cross_entropy(zeros({2, 5}), zeros({2}, DType::i64), {.divisor = -1.0});
            },
            "cross_entropy: divisor must not be negative: -1: logits f32[2, 5]"}},
  };
}

}  // namespace qkv
