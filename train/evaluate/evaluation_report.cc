#include "train/evaluate/evaluation_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/core/text/columns.h"
#include "framework/core/text/terminal.h"
#include "framework/core/text/utf8.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/trace.h"
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

// Adds the attention of one layer's heads to a batch. weights [B, H, Tq, Tk], keys i64 [B, Tk]
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
        const double weight = all[first + j];
        if (key == token) head.to_token += weight;
        if (key == answer) head.to_answer += weight;
      }
    }
  }
}

constexpr size_t kLargestMatrix = 30;
constexpr size_t kListedPairs = 20;

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct ClassScore {
  int64_t examples = 0, answered = 0, right = 0;
  // The share of the answers with this class that are right; the share of its examples that were
  // answered with it; their harmonic mean, 0 where nothing is right.
  double precision() const { return ratio(right, answered); }
  double recall() const { return ratio(right, examples); }
  double f1() const { return ratio(2 * right, examples + answered); }
};

int64_t count_at(const Evaluation& e, int64_t row, int64_t column) {
  return e.confusion[row * e.classes() + column];
}

std::vector<int64_t> classes_that_occur(const std::vector<ClassScore>& scores) {
  std::vector<int64_t> classes;
  for (int64_t c = 0; c < std::ssize(scores); ++c) {
    const ClassScore& score = scores[c];
    if (score.examples + score.answered > 0) classes.push_back(c);
  }
  return classes;
}

std::string part_of_matrix(const Evaluation& e, const std::vector<std::string>& names,
                           const std::vector<int64_t>& rows, std::span<const int64_t> columns) {
  std::vector<std::vector<std::string>> cells = {{"answered:"}};
  for (const int64_t column : columns) cells[0].push_back(names[column]);
  for (const int64_t row : rows) {
    cells.push_back({names[row]});
    for (const int64_t column : columns) {
      cells.back().push_back(absl::StrCat(count_at(e, row, column)));
    }
  }
  return aligned(cells, {.left = 1, .indent = "  "});
}

std::string confusion_matrix(const Evaluation& e, const std::vector<std::string>& names,
                             const std::vector<int64_t>& classes) {
  std::string text;
  const std::span<const int64_t> all(classes);
  for (size_t first = 0; first < all.size();) {
    // As many columns as fit, and at least one.
    size_t count = 1;
    const auto width = [&](size_t columns) {
      const std::string part = part_of_matrix(e, names, classes, all.subspan(first, columns));
      return text_width(part.substr(0, part.find('\n')));  // that of all lines
    };
    while (first + count < all.size() && width(count + 1) <= text_columns()) ++count;
    absl::StrAppend(&text, first > 0 ? "\n" : "",
                    part_of_matrix(e, names, classes, all.subspan(first, count)));
    first += count;
  }
  return text;
}

std::string most_confused(const Evaluation& e, const std::vector<std::string>& names,
                          const std::vector<int64_t>& classes) {
  struct Pair {
    int64_t count, expected, answered;
  };
  std::vector<Pair> pairs;
  for (const int64_t row : classes) {
    for (const int64_t column : classes) {
      if (row != column && count_at(e, row, column) > 0) {
        pairs.push_back({count_at(e, row, column), row, column});
      }
    }
  }
  std::ranges::stable_sort(pairs, std::greater(), &Pair::count);
  std::vector<std::vector<std::string>> rows = {{"expected", "answered", "times"}};
  for (const Pair& pair : std::span(pairs).first(std::min(pairs.size(), kListedPairs))) {
    rows.push_back({names[pair.expected], names[pair.answered], absl::StrCat(pair.count)});
  }
  return aligned(rows, {.left = 2, .indent = "  "});
}

std::vector<ClassScore> class_scores(const Evaluation& e) {
  const int64_t classes = e.classes();
  std::vector<ClassScore> scores(static_cast<size_t>(classes));
  for (int64_t row = 0; row < classes; ++row) {
    for (int64_t column = 0; column < classes; ++column) {
      const int64_t count = count_at(e, row, column);
      scores[row].examples += count;
      scores[column].answered += count;
      if (row == column) scores[row].right += count;
    }
  }
  return scores;
}

// The mean F1 of the classes that occur: as the class of an example, or as an answer.
double macro_f1(const std::vector<ClassScore>& scores) {
  const std::vector<int64_t> classes = classes_that_occur(scores);
  double sum = 0;
  for (const int64_t c : classes) sum += scores[c].f1();
  return classes.empty() ? 0.0 : sum / static_cast<double>(classes.size());
}

// A table with the scores of each class that occurs, and the confusion matrix of these: a row for
// each class of an example, a column for each answer. Where it is wider than a terminal, the rows
// come once for each part of the columns that fits. Where more than 30 classes occur, the pairs
// that were confused most often are listed in its place.
std::string class_report(const Evaluation& e, const std::vector<std::string>& names) {
  const std::vector<ClassScore> scores = class_scores(e);
  const std::vector<int64_t> classes = classes_that_occur(scores);
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(escape(name));
  std::vector<std::vector<std::string>> rows = {{"class", "examples", "precision", "recall", "F1"}};
  for (const int64_t c : classes) {
    const ClassScore& s = scores[c];
    rows.push_back({shown[c], absl::StrCat(s.examples), format_percent(s.precision()),
                    format_percent(s.recall()), format_percent(s.f1())});
  }
  return absl::StrCat(aligned(rows, {.left = 1, .indent = "  "}), "\n",
                      classes.size() > kLargestMatrix ? most_confused(e, shown, classes)
                                                      : confusion_matrix(e, shown, classes));
}

// One entry for each head of each layer that attends to the question: self-attention of a decoder,
// cross-attention of an encoder-decoder. Empty where the model has no such layer.
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
    ForwardContext context;
    const Tracing tracing(trace);
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

}  // namespace

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
  ASSIGN_OR_RETURN(const std::vector<int64_t> token, run.encode("attention", text));
  if (token.size() != 1) {
    return invalid_argument("--attention needs one token, not ", token.size());
  }
  shares = attention_shares(model, dataset, token.front(), batch_size);
  if (shares.empty()) {
    return absl::FailedPreconditionError(
        "--attention: this model has no attention from an answer to its question");
  }
  return shares;
}

std::string evaluation_json(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e, const std::vector<AttentionShare>& attention) {
  nlohmann::ordered_json object = {{"checkpoint", run.path}, {"step", run.checkpoint.state.step},
                                   {"split", part},          {"loss", e.loss},
                                   {"tokens", e.tokens},     {"sequences", e.sequences}};
  if (dataset.has_answers()) {
    object["token_accuracy"] = e.token_accuracy;
    object["sequence_accuracy"] = e.sequence_accuracy;
    if (e.end_accuracy) object["end_accuracy"] = *e.end_accuracy;
  } else {
    object["perplexity"] = std::exp(e.loss);
    if (e.unknown_tokens == 0) object["bits_per_byte"] = e.bits_per_byte;
    if (e.unknown_tokens > 0) object["unknown_tokens"] = e.unknown_tokens;
  }
  if (e.classes() > 5) object["top5_accuracy"] = e.top5_accuracy;
  if (e.classes() > 0) {
    const std::vector<ClassScore> scores = class_scores(e);
    object["macro_f1"] = macro_f1(scores);
    object["classes"] = dataset.class_names();
    for (const ClassScore& score : scores) object["f1"].push_back(score.f1());
    for (int64_t row = 0; row < e.classes(); ++row) {
      const auto begin = e.confusion.begin() + row * e.classes();
      object["confusion"].push_back(std::vector<int64_t>(begin, begin + e.classes()));
    }
  }
  for (const AttentionShare& share : attention) {
    object["attention"].push_back({{"layer", share.layer},
                                   {"head", share.head},
                                   {"to_token", share.to_token},
                                   {"to_answer", share.to_answer}});
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string evaluation_text(const LoadedRun& run, const Dataset& dataset, const char* part,
                            const Evaluation& e) {
  const bool of_classes = e.classes() > 0;
  const char* examples = dataset.shape().is_image() ? "images" : "texts";
  std::string text = absl::StrFormat("%s, step %d, %s\n  loss %.4f over %d %s\n",
                                     printable(run.path), run.checkpoint.state.step, part, e.loss,
                                     e.tokens, of_classes ? examples : "tokens");
  if (of_classes) {
    absl::StrAppendFormat(&text, "  %s of %d %s right", format_percent(e.sequence_accuracy),
                          e.sequences, examples);
    if (e.classes() > 5) {
      absl::StrAppendFormat(&text, ", %s in the top 5", format_percent(e.top5_accuracy));
    }
    absl::StrAppendFormat(&text, ", F1 %s (the mean of the classes)\n\n%s",
                          format_percent(macro_f1(class_scores(e))),
                          class_report(e, dataset.class_names()));
  } else if (dataset.has_answers()) {
    absl::StrAppendFormat(
        &text, "  %s of %d sequences right, %s of tokens%s\n", format_percent(e.sequence_accuracy),
        e.sequences, format_percent(e.token_accuracy),
        e.end_accuracy ? absl::StrCat(", ", format_percent(*e.end_accuracy), " of ends") : "");
  } else {
    absl::StrAppendFormat(&text, "  perplexity %.2f, ", std::exp(e.loss));
    if (e.unknown_tokens == 0) {
      absl::StrAppendFormat(&text, "%.3f bits per byte\n", e.bits_per_byte);
    } else {
      absl::StrAppendFormat(
          &text, "%d of the tokens (%.1f %%) are not in the vocabulary\n", e.unknown_tokens,
          100.0 * static_cast<double>(e.unknown_tokens) / static_cast<double>(e.tokens));
    }
  }
  return text;
}

void EvaluationsReport::add(const std::string& name, const LoadedRun& run, const Dataset& dataset,
                            const char* part, const Evaluation& e) {
  const bool has_answers = dataset.has_answers();
  const bool has_tokens = has_answers && e.classes() == 0;
  rows_.push_back({printable(name), run.checkpoint.config.data.task,
                   absl::StrCat(run.checkpoint.state.step), absl::StrFormat("%.4f", e.loss),
                   has_answers ? format_percent(e.sequence_accuracy) : "",
                   has_tokens ? format_percent(e.token_accuracy) : "", absl::StrCat(e.sequences)});
  std::string object = evaluation_json(run, dataset, part, e);
  object.pop_back();  // the end of its line
  objects_.push_back(std::move(object));
}

std::string EvaluationsReport::table() const {
  std::vector<std::vector<std::string>> rows = {
      {"run", "task", "step", "loss", "right", "tokens", "examples"}};
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  return fitted_table(std::move(rows), {.left = 2}, {"task", "examples", "step", "tokens"},
                      text_columns());
}

std::string EvaluationsReport::json() const {
  return absl::StrCat("[", absl::StrJoin(objects_, ",\n "), "]\n");
}

}  // namespace qkv
