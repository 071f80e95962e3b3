#include "train/evaluate/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "absl/strings/str_cat.h"
#include "framework/core/memory/storage.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/kernels/kernels.h"

namespace qkv {
namespace {

class Counts {
 public:
  explicit Counts(const Dataset& dataset)
      : classes_(classes_of(dataset)), has_endings_(dataset.has_endings()) {
    confusion_.resize(static_cast<size_t>(classes_ * classes_));
    if (classes_ == 0) unknown_token_ = dataset.vocabulary().unknown();
    has_answers_ = dataset.has_answers();
    if (has_answers_) return;
    for (const std::string& text : dataset.vocabulary().texts()) {
      bytes_of_tokens_.push_back(std::ssize(text));
    }
  }

  // Returns the loss of the batch.
  double add(const Model& model, Batch batch) {
    const Array targets = batch.targets;
    if (has_endings_) batch.targets = without_ends(targets);
    ForwardContext context;
    const auto [logits, sum] = batch_loss(model, batch, {.divisor = 1.0}, context);
    const int64_t positions = batch.targets.size(), classes = logits.dim(-1);
    Array largest({positions}, logits.dtype()), predicted({positions}, DType::i64);
    kernels::max(logits.array(), positions, classes, 1, largest, predicted);
    count(predicted.data<int64_t>(), targets, batch.targets.data<int64_t>());
    if (classes_ > 0) count_classes(logits, predicted.data<int64_t>(), batch.targets);
    return sum.item();
  }

  Evaluation shares(double loss) const {
    const auto share = [](auto part, int64_t whole) {
      return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    return {
        .loss = share(loss, tokens_),
        .token_accuracy = share(right_tokens_, tokens_),
        .tokens = tokens_,
        .end_accuracy = has_endings_ ? std::optional(share(right_ends_, sequences_)) : std::nullopt,
        .sequence_accuracy = share(right_sequences_, sequences_),
        .sequences = sequences_,
        .unknown_tokens = unknown_,
        .bits_per_byte = unknown_ > 0 ? 0.0 : share(loss / std::numbers::ln2, bytes_),
        .top5_accuracy = share(in_top5_, sequences_),
        .confusion = confusion_};
  }

 private:
  static int64_t classes_of(const Dataset& dataset) {
    return dataset.form() == DataForm::kClass ? dataset.shape().classes : 0;
  }

  // The last target of each row is ignored.
  static Array without_ends(const Array& targets) {
    Array others = targets.copy();
    const int64_t rows = targets.shape()[0], length = targets.size() / rows;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t* end = others.mutable_data<int64_t>() + (row + 1) * length - 1;
      while (*end == kIgnoredTarget) --end;
      *end = kIgnoredTarget;
    }
    return others;
  }

  // `own`: the targets that are not ends.
  void count(const int64_t* predicted, const Array& targets, const int64_t* own) {
    const int64_t rows = targets.shape()[0], length = targets.size() / rows;
    const int64_t* target = targets.data<int64_t>();
    for (int64_t row = 0; row < rows; ++row) {
      bool all_right = true;
      for (int64_t t = 0; t < length; ++t, ++predicted, ++target, ++own) {
        if (*target == kIgnoredTarget) continue;
        const bool is_known = !has_answers_ || *target != unknown_token_;  // else never right
        const bool is_right = *predicted == *target && is_known;
        all_right = all_right && is_right;
        if (*own == kIgnoredTarget) {
          right_ends_ += is_right;
          continue;
        }
        ++tokens_;
        right_tokens_ += is_right;
        unknown_ += *target == unknown_token_;
        if (!bytes_of_tokens_.empty()) bytes_ += bytes_of_tokens_[*target];
      }
      ++sequences_;
      right_sequences_ += all_right;
    }
  }

  // A class of equal logit that comes before the target is more likely.
  void count_classes(const Tensor& logits, const int64_t* predicted, const Array& targets) {
    const std::vector<double> all = logits.to_vector();
    const int64_t* target = targets.data<int64_t>();
    for (int64_t row = 0; row < targets.size(); ++row) {
      ++confusion_[target[row] * classes_ + predicted[row]];
      const double* of_row = all.data() + row * classes_;
      int64_t more_likely = 0;
      for (int64_t c = 0; c < classes_; ++c) {
        const double difference = of_row[c] - of_row[target[row]];
        more_likely += difference > 0 || (difference == 0 && c < target[row]);
      }
      in_top5_ += more_likely < 5;
    }
  }

  int64_t classes_;  // 0: answers are not classes
  bool has_endings_;
  std::vector<int64_t> bytes_of_tokens_;  // none where there are answers
  std::optional<int64_t> unknown_token_;
  bool has_answers_ = false;
  int64_t right_tokens_ = 0, tokens_ = 0, right_sequences_ = 0, sequences_ = 0;
  int64_t right_ends_ = 0, bytes_ = 0, unknown_ = 0, in_top5_ = 0;
  std::vector<int64_t> confusion_;
};

}  // namespace

BatchLoss batch_loss(const Model& model, const Batch& batch, CrossEntropyOptions options,
                     ForwardContext& context) {
  const std::vector<Tensor> inputs(batch.inputs.begin(), batch.inputs.end());
  options.ignored = kIgnoredTarget;
  const Tensor logits = model(inputs, context);
  return {logits, cross_entropy(logits, Tensor(batch.targets), options)};
}

absl::StatusOr<Evaluation> evaluate(const Model& model, const Dataset& dataset, Split split,
                                    int64_t batch_size, const std::stop_token& stop,
                                    const TellProgress& tell) {
  const NoGrad no_grad;
  Counts counts(dataset);
  const bool validates = split == Split::kValidation;
  const int64_t examples = dataset.validation_size(), training = dataset.training_size();
  const int64_t wanted = validates || training == 0 ? examples : std::min(training, examples);
  const int64_t rows =  // of a batch
      validates || training == 0 ? batch_size : std::min(training, batch_size);
  const int64_t batches = (wanted + rows - 1) / rows;
  double loss = 0;
  for (int64_t i = 0; i < batches; ++i) {
    if (stop.stop_requested()) return absl::CancelledError("the evaluation was stopped");
    // The last batch may have fewer rows: the freed memory fits none of its arrays.
    if (validates && examples - i * rows < rows) release_cached_memory();
    loss += counts.add(
        model, validates ? dataset.validation_batch(i * rows, std::min(rows, examples - i * rows))
                         : dataset.training_batch(i, batch_size));
    const int64_t all = validates ? wanted : batches * rows;
    tell(absl::StrCat("evaluated ", std::min((i + 1) * rows, all), " of ", all, " examples"));
  }
  return counts.shares(loss);
}

int64_t Evaluation::classes() const {
  return std::llround(std::sqrt(static_cast<double>(confusion.size())));
}

}  // namespace qkv
