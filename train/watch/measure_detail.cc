#include "train/watch/measure_detail.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "framework/graph/middleware.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/kernels/kernels.h"
#include "framework/kernels/parallel.h"
#include "framework/nn/trace.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// So that a line is not much longer than it needs to be.
double with_six_digits(double number) {
  double rounded = number;
  return absl::SimpleAtod(absl::StrFormat("%.6g", number), &rounded) ? rounded : number;
}

double norm_of(const Array& array) {
  return std::sqrt(static_cast<double>(kernels::sum_of_squares(array)));
}

// The mean over all queries.   weights [B, H, Tq, Tk] -> H numbers
std::vector<double> entropies_of(const Tensor& weights) {
  const int64_t batch = weights.dim(0), heads = weights.dim(1), queries = weights.dim(2),
                keys = weights.dim(3);
  const std::vector<double> all = weights.to_vector();
  std::vector<double> result;
  for (int64_t head = 0; head < heads; ++head) {
    double sum = 0;
    for (int64_t row = 0; row < batch; ++row) {
      const double* first = all.data() + (row * heads + head) * queries * keys;
      sum += kernels::parallel_sum<double>(
          queries, kernels::piece_rows(keys), [&](int64_t begin, int64_t end) {
            double part = 0;
            for (const double* p = first + begin * keys; p < first + end * keys; ++p) {
              if (*p > 0) part -= *p * std::log(*p);
            }
            return part;
          });
    }
    result.push_back(with_six_digits(sum / static_cast<double>(batch * queries)));
  }
  return result;
}

// Takes the weights of attention one layer after the other, and holds none of them.
class EntropyTrace final : public Trace {
 public:
  void add(const std::string& path, const Tensor& tensor) override {
    if (path.ends_with("attention.weights")) found.emplace_back(path, entropies_of(tensor));
  }

  std::vector<std::pair<std::string, std::vector<double>>> found;
};

}  // namespace

bool is_detailed(const TrainOptions& options, int64_t step) {
  return options.detail_interval > 0 && step % options.detail_interval == 0;
}

int64_t detail_examples(int64_t batch_size) { return std::clamp<int64_t>(batch_size / 8, 1, 8); }

DetailMeter::DetailMeter(std::span<const NamedParameter> parameters) : parameters_(parameters) {
  for (const NamedParameter& p : parameters) before_.push_back(p.tensor.array().copy());
}

StepDetail DetailMeter::measure(std::span<const double> squares, const Model& model,
                                const Batch& examples) const {
  const ObservedSection section("detail");
  const NoGrad no_grad;
  StepDetail detail;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    const double weight = norm_of(tensor.array());
    const double change = norm_of((tensor - Tensor(before_[i])).array());
    detail.gradient_norm.emplace_back(name, with_six_digits(std::sqrt(squares[i])));
    detail.weight_norm.emplace_back(name, with_six_digits(weight));
    detail.update_ratio.emplace_back(name, change == 0 ? 0 : with_six_digits(change / weight));
  }
  EntropyTrace trace;
  ForwardContext context;
  const Tracing tracing(trace);
  model(std::vector<Tensor>(examples.inputs.begin(), examples.inputs.end()), context);
  detail.attention_entropy = std::move(trace.found);
  return detail;
}

}  // namespace qkv
