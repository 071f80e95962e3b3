#include "train/run/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "framework/graph/op.h"
#include "framework/kernels/reduce.h"
#include "train/run/batch_loss.h"

namespace qkv {
namespace {

class Counts {
 public:
  explicit Counts(const Dataset& dataset) : classes_(classes_of(dataset)) {
    confusion_.resize(static_cast<size_t>(classes_ * classes_));
    if (dataset.has_answers()) return;
    unknown_token_ = dataset.vocabulary().unknown();
    for (const std::string& text : dataset.vocabulary().texts()) {
      bytes_of_tokens_.push_back(std::ssize(text));
    }
  }

  int64_t sequences() const { return sequences_; }

  void add(const Model& model, const Batch& batch) {
    ForwardContext context;
    const auto [logits, sum] = batch_loss(model, batch, {.divisor = 1.0}, context);
    loss_ += sum.item();

    const int64_t positions = batch.targets.size(), classes = logits.dim(-1);
    Array largest({positions}, logits.dtype()), predicted({positions}, DType::i64);
    kernels::max(logits.array(), positions, classes, 1, largest, predicted);
    count(predicted.data<int64_t>(), batch.targets);
    if (classes_ > 0) count_classes(logits, predicted.data<int64_t>(), batch.targets);
  }

  Evaluation shares() const {
    const auto share = [](auto part, int64_t whole) {
      return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    return {.loss = share(loss_, tokens_),
            .token_accuracy = share(right_tokens_, tokens_),
            .sequence_accuracy = share(right_sequences_, sequences_),
            .tokens = tokens_,
            .sequences = sequences_,
            .unknown_tokens = unknown_,
            .bits_per_byte = unknown_ > 0 ? 0.0 : share(loss_ / std::numbers::ln2, bytes_),
            .top5_accuracy = share(in_top5_, sequences_),
            .confusion = confusion_};
  }

 private:
  static int64_t classes_of(const Dataset& dataset) {
    return dataset.form() == DataForm::kClass ? dataset.shape().classes : 0;
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
        unknown_ += *target == unknown_token_;
        if (!bytes_of_tokens_.empty()) bytes_ += bytes_of_tokens_[static_cast<size_t>(*target)];
      }
      tokens_ += counted;
      right_tokens_ += right;
      sequences_ += 1;
      right_sequences_ += right == counted;
    }
  }

  // A class of equal logit that comes before the target is more likely.
  void count_classes(const Tensor& logits, const int64_t* predicted, const Array& targets) {
    const std::vector<double> all = logits.to_vector();
    const int64_t* target = targets.data<int64_t>();
    for (int64_t row = 0; row < targets.size(); ++row) {
      ++confusion_[static_cast<size_t>(target[row] * classes_ + predicted[row])];
      const double* of_row = all.data() + row * classes_;
      int64_t more_likely = 0;
      for (int64_t c = 0; c < classes_; ++c) {
        const double difference = of_row[c] - of_row[target[row]];
        more_likely += difference > 0 || (difference == 0 && c < target[row]);
      }
      in_top5_ += more_likely < 5;
    }
  }

  int64_t classes_;                       // 0: answers are no classes
  std::vector<int64_t> bytes_of_tokens_;  // none where there are answers
  std::optional<int64_t> unknown_token_;
  double loss_ = 0;
  int64_t right_tokens_ = 0, tokens_ = 0, right_sequences_ = 0, sequences_ = 0;
  int64_t bytes_ = 0, unknown_ = 0, in_top5_ = 0;
  std::vector<int64_t> confusion_;
};

}  // namespace

absl::StatusOr<Evaluation> evaluate(const Model& model, const Dataset& dataset, Split split,
                                    int64_t batch_size, const std::stop_token& stop,
                                    const TellProgress& tell) {
  const NoGrad no_grad;
  Counts counts(dataset);
  const int64_t examples = dataset.validation_size();
  const auto tell_of = [&](int64_t wanted) {
    tell(absl::StrCat("evaluated ", counts.sequences(), " of ", wanted, " examples"));
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
    for (int64_t i = 0; counts.sequences() < wanted; ++i) {
      if (stop.stop_requested()) return absl::CancelledError("the evaluation was stopped");
      counts.add(model, dataset.training_batch(i, batch_size));
      tell_of(wanted);
    }
  }
  return counts.shares();
}

int64_t Evaluation::classes() const {
  return std::llround(std::sqrt(static_cast<double>(confusion.size())));
}

}  // namespace qkv
