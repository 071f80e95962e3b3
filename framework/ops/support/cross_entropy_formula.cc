#include "framework/ops/support/cross_entropy_formula.h"

#include <algorithm>
#include <span>

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

struct Targets {
  Tensor index;    // i64 [N, 1]: 0 where ignored
  Tensor ignored;  // boolean [N, 1]
};

Targets read_targets(const Array& targets, int64_t ignored) {
  const Shape column = {targets.size(), 1};
  Array index(column, DType::i64), mask(column, DType::boolean);
  for (int64_t i = 0; i < targets.size(); ++i) {
    const int64_t target = targets.data<int64_t>()[i];
    const bool skip = target == ignored;
    index.mutable_data<int64_t>()[i] = skip ? 0 : target;
    mask.mutable_data<bool>()[i] = skip;
  }
  return {Tensor(index), Tensor(mask)};
}

// Logits that may be anything in the rows that are ignored.
Tensor counted_logits(const Tensor& logits, const Targets& rows) {
  return kernels::all_finite(logits.array()) ? logits : masked_fill(logits, rows.ignored, 0.0);
}

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

void check_cross_entropy(const Tensor& logits, const Tensor& targets,
                         const CrossEntropyOptions& options) {
  check_floating("cross_entropy", {"logits", logits});
  check_targets(logits, targets, options.ignored);
  check_options(logits, options);
}

double divisor_of(const Array& targets, const CrossEntropyOptions& options) {
  if (options.divisor != 0) return options.divisor;
  const std::span<const int64_t> all(targets.data<int64_t>(), static_cast<size_t>(targets.size()));
  const int64_t counted = targets.size() - std::ranges::count(all, options.ignored);
  return static_cast<double>(std::max<int64_t>(counted, 1));
}

Tensor cross_entropy_formula(const Tensor& logits, const Array& targets,
                             const CrossEntropyOptions& options) {
  if (logits.dim(1) == 0) return sum(logits, 1);  // no classes: every target is ignored
  const Targets rows = read_targets(targets, options.ignored);
  const Float128 s = options.label_smoothing;
  const Tensor log_p = log_softmax(counted_logits(logits, rows));
  Tensor loss = (s - 1) * gather(log_p, 1, rows.index);
  if (s > 0) loss = loss - s * mean(log_p, 1, /*keep_axis=*/true);
  return reshape(masked_fill(loss, rows.ignored, 0.0), {targets.size()});
}

Tensor cross_entropy_gradient(const Tensor& logits, const Array& targets,
                              const CrossEntropyOptions& options, const Tensor& dloss) {
  const Targets rows = read_targets(targets, options.ignored);
  const int64_t n = logits.dim(0), classes = logits.dim(1);
  const Float128 s = options.label_smoothing;
  const Tensor hot = reshape(one_hot(rows.index, classes, logits.dtype()), {n, classes});
  const Tensor q = (1 - s) * hot + s / static_cast<Float128>(classes);
  const Tensor dlogits = (softmax(counted_logits(logits, rows)) - q) * reshape(dloss, {n, 1});
  return masked_fill(dlogits, rows.ignored, 0.0);
}

}  // namespace qkv
