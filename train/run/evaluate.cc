#include "train/run/evaluate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/graph/op.h"
#include "framework/kernels/reduce.h"
#include "train/run/batch_loss.h"

namespace qkv {
namespace {

struct Counts {
  double loss = 0;
  int64_t right_tokens = 0, tokens = 0, right_sequences = 0, sequences = 0;

  void add(const Model& model, const Batch& batch) {
    ForwardContext context;
    const auto [logits, sum] = batch_loss(model, batch, {.divisor = 1.0}, context);
    loss += sum.item();

    const int64_t positions = batch.targets.size(), classes = logits.dim(-1);
    Array largest({positions}, logits.dtype()), predicted({positions}, DType::i64);
    kernels::max(logits.array(), positions, classes, 1, largest, predicted);
    count(predicted.data<int64_t>(), batch.targets);
  }

  void count(const int64_t* predicted, const Array& targets) {
    const int64_t rows = targets.shape()[0], length = targets.size() / rows;
    const int64_t* target = targets.data<int64_t>();
    for (int64_t row = 0; row < rows; ++row) {
      int64_t counted = 0, right = 0;
      for (int64_t t = 0; t < length; ++t, ++predicted, ++target) {
        if (*target == kIgnoredTarget) continue;
        ++counted;
        right += *predicted == *target;
      }
      tokens += counted;
      right_tokens += right;
      sequences += 1;
      right_sequences += right == counted;
    }
  }
};

}  // namespace

absl::StatusOr<Evaluation> evaluate(const Model& model, const Dataset& dataset, Split split,
                                    int64_t batch_size, const std::stop_token& stop,
                                    const TellProgress& tell) {
  const NoGrad no_grad;
  Counts counts;
  const int64_t examples = dataset.validation_size();
  const auto tell_of = [&](int64_t wanted) {
    tell(absl::StrCat("evaluated ", counts.sequences, " of ", wanted, " examples"));
  };
  if (split == Split::kValidation) {
    for (int64_t first = 0; first < examples; first += batch_size) {
      if (stop.stop_requested()) return absl::CancelledError("the evaluation was stopped");
      counts.add(model, dataset.validation_batch(first, std::min(batch_size, examples - first)));
      tell_of(examples);
    }
  } else {
    const int64_t size = dataset.training_size();
    const int64_t wanted = size > 0 ? std::min(size, examples) : examples;
    for (int64_t i = 0; counts.sequences < wanted; ++i) {
      if (stop.stop_requested()) return absl::CancelledError("the evaluation was stopped");
      counts.add(model, dataset.training_batch(i, batch_size));
      tell_of(wanted);
    }
  }
  const auto share = [](auto part, int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  return Evaluation{.loss = share(counts.loss, counts.tokens),
                    .token_accuracy = share(counts.right_tokens, counts.tokens),
                    .sequence_accuracy = share(counts.right_sequences, counts.sequences),
                    .tokens = counts.tokens,
                    .sequences = counts.sequences};
}

}  // namespace qkv
