#include "train/evaluate/attention_share.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/graph/op.h"
#include "framework/ops/ops.h"
#include "train/folder/reading_progress.h"

namespace qkv {
namespace {

// The first target of a row that counts.
int64_t place_of_answer(const Array& targets, int64_t row) {
  const int64_t length = targets.shape()[1];
  const int64_t* begin = targets.data<int64_t>() + row * length;
  return std::find_if(begin, begin + length, [](int64_t t) { return t != kIgnoredTarget; }) - begin;
}

// Adds what the heads of one layer do with a batch.   weights [B, H, Tq, Tk], keys i64 [B, Tk]
void add_batch(const Tensor& weights, const Batch& batch, const Array& keys, int64_t token,
               std::span<AttentionShare> heads) {
  const int64_t queries = weights.dim(2), length = weights.dim(3);
  const std::vector<double> all = weights.to_vector();
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const int64_t place = place_of_answer(batch.targets, row);
    const int64_t answer = batch.targets.data<int64_t>()[row * batch.targets.shape()[1] + place];
    for (AttentionShare& head : heads) {
      const int64_t first = ((row * std::ssize(heads) + head.head) * queries + place) * length;
      for (int64_t j = 0; j < length; ++j) {
        const int64_t key = keys.data<int64_t>()[row * length + j];
        const double weight = all[static_cast<size_t>(first + j)];
        if (key == token) head.to_token += weight;
        if (key == answer) head.to_answer += weight;
      }
    }
  }
}

}  // namespace

std::vector<AttentionShare> attention_shares(const Model& model, const Dataset& dataset,
                                             int64_t token, int64_t batch_size) {
  constexpr std::string_view kWeights = "attention.weights";
  const NoGrad no_grad;
  const bool has_source = dataset.form() == DataForm::kSourceTarget;
  std::vector<AttentionShare> shares;
  const int64_t examples = dataset.validation_size();
  if (dataset.form() == DataForm::kClass) return shares;
  for (int64_t start = 0; start < examples; start += batch_size) {
    const Batch batch = dataset.validation_batch(start, std::min(batch_size, examples - start));
    Trace trace;
    ForwardContext context{.trace = &trace};
    const std::vector<Tensor> inputs(batch.inputs.begin(), batch.inputs.end());
    model(inputs, context);
    size_t used = 0;
    for (const std::string& path : trace.paths()) {
      if (!path.ends_with(kWeights)) continue;
      if (has_source != path.ends_with("cross_attention.weights")) continue;
      const Tensor& weights = trace[path];
      const int64_t heads = weights.dim(1);
      if (start == 0) {
        const std::string layer = path.substr(0, path.size() - std::string_view(".weights").size());
        for (int64_t head = 0; head < heads; ++head) shares.push_back({layer, head});
      }
      add_batch(weights, batch, batch.inputs[0], token,
                std::span(shares).subspan(used, static_cast<size_t>(heads)));
      used += static_cast<size_t>(heads);
    }
  }
  for (AttentionShare& share : shares) {
    share.to_token /= static_cast<double>(examples);
    share.to_answer /= static_cast<double>(examples);
  }
  return shares;
}

std::string attention_table(const std::vector<AttentionShare>& shares, const std::string& token) {
  if (shares.empty()) return "";
  std::string table =
      absl::StrFormat("  %-36s %4s  %9s  %9s\n", "attention from the answer's position", "head",
                      "to " + token, "to answer");
  for (const AttentionShare& share : shares) {
    absl::StrAppendFormat(&table, "  %-36s %4d  %9s  %9s\n", share.layer, share.head,
                          format_percent(share.to_token), format_percent(share.to_answer));
  }
  return table;
}

absl::StatusOr<std::vector<AttentionShare>> attention_to(const std::string& text,
                                                         const LoadedRun& run, const Model& model,
                                                         const Dataset& dataset,
                                                         int64_t batch_size) {
  std::vector<AttentionShare> shares;
  if (text.empty()) return shares;
  const absl::StatusOr<std::vector<int64_t>> token = run.encode("attention", text);
  if (!token.ok()) return token.status();
  if (token->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--attention needs one token, not ", token->size()));
  }
  shares = attention_shares(model, dataset, token->front(), batch_size);
  if (shares.empty()) {
    return absl::FailedPreconditionError(
        "--attention: this model has no attention from an answer to its question");
  }
  return shares;
}

}  // namespace qkv
