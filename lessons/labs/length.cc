// One model at other lengths than it was made for: which part of it forbids them.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"
#include "models/model.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 10;

// The same model but for one part.
struct Part {
  const char* name;
  MixerKind mixer = MixerKind::kAttention;
  Position position = Position::kNone;
};

Model make(const LabContext& lab, const Part& part) {
  ModelOptions options = {.mixer = part.mixer, .position = part.position};
  if (lab.is_control() && part.mixer == MixerKind::kAttention) {
    options.position = Position::kLearned;
  }
  const DataShape data = {.vocabulary_size = kVocabulary, .max_length = lab.integer("trained")};
  return {options, data, Initializer(RandomStream(1).derive("model"), DType::f64)};
}

// The first so many tokens of one text.   i64 [1, T]
Tensor text(int64_t length, const char* name = "text") {
  RandomStream random = RandomStream(1).derive(name);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) {
    tokens.push_back(static_cast<int64_t>(random.below(kVocabulary)));
  }
  return Tensor(Array::of({1, length}, tokens));
}

struct Read {
  Tensor logits;  // undefined: refused
  std::string refusal = {};
  Trace trace = {};
};

Read read(const Model& model, const Tensor& tokens) {
  Read read;
  ForwardContext context{.trace = &read.trace};
  const std::vector<Tensor> inputs = {tokens};
  try {
    read.logits = model(inputs, context);
  } catch (const Error& error) {
    read.refusal = error.what();
  }
  return read;
}

const std::vector<Part>& attentions() {
  static const std::vector<Part> kParts = {
      {.name = "attention, no positions"},
      {.name = "attention, sinusoidal", .position = Position::kSinusoidal},
      {.name = "attention, rotary", .position = Position::kRotary},
      {.name = "attention, alibi", .position = Position::kAlibi},
      {.name = "attention, relative", .position = Position::kRelative}};
  return kParts;
}

const std::vector<Part>& tables() {
  static const std::vector<Part> kParts = {
      {.name = "attention, learned positions", .position = Position::kLearned},
      {.name = "learned weights, no positions", .mixer = MixerKind::kLearned}};
  return kParts;
}

std::string lengths_text(const std::vector<int64_t>& lengths) {
  std::string all;
  for (const int64_t length : lengths) absl::StrAppend(&all, all.empty() ? "" : ", ", length);
  return all;
}

std::vector<int64_t> lengths_read(const Model& model, const std::vector<int64_t>& lengths) {
  std::vector<int64_t> read_ones;
  for (const int64_t length : lengths) {
    if (read(model, text(length)).logits.defined()) read_ones.push_back(length);
  }
  return read_ones;
}

Table table_of(const LabContext& lab, const std::vector<int64_t>& lengths) {
  Table table = {.title = absl::StrCat("Made for ", lab.integer("trained"), " tokens: reads"),
                 .header = {"model"},
                 .rows = {}};
  for (const int64_t length : lengths) table.header.push_back(absl::StrCat(length));
  for (const std::vector<Part>* parts : {&attentions(), &tables()}) {
    for (const Part& part : *parts) {
      const Model model = make(lab, part);
      std::vector<std::string> row = {part.name};
      for (const int64_t length : lengths) {
        row.emplace_back(read(model, text(length)).logits.defined() ? "yes" : "no");
      }
      table.rows.push_back(row);
    }
  }
  return table;
}

Section length_section(const LabContext& lab) {
  const std::vector<int64_t> lengths = lab.integers("lengths");
  const std::string only = lengths_text({lab.integer("trained")});
  Section section = {
      .claims = {{"C71", "但其只能处理长度固定的输入序列。",
                  "But it can handle only input sequences of a fixed length."}},
      .formula = "softmax(Q Kᵀ / √d_k) V: no parameter has the length in its shape",
      .prediction = "A model of self-attention reads the length that it was made for, no other.",
      .findings = {},
      .figures = {table_of(lab, lengths)},
      .correction =
          "Attention reads any length. A table of learned positions ends with its last row; fixed "
          "weights for pairs of places do, too."};
  for (const Part& part : attentions()) {
    const std::string measured = lengths_text(lengths_read(make(lab, part), lengths));
    section.findings.push_back(found(absl::StrCat(part.name, ": lengths that are read"), only,
                                     measured, measured == only));
  }
  return section;
}

Section part_section(const LabContext& lab) {
  const std::vector<int64_t> lengths = lab.integers("lengths");
  const int64_t longest = *std::ranges::max_element(lengths);
  Section section = {
      .claims = {{"C71", "只能处理长度固定的输入序列", "… only sequences of a fixed length."}},
      .formula = "E [T_max, d] or W [T_max, T_max] against W_q, W_k, W_v [d, d]",
      .prediction =
          "What forbids a longer input is a parameter with a row for each place. Of the same "
          "model without one a causal prefix comes out the same, however long the text.",
      .findings = {},
      .figures = {}};
  for (const Part& part : tables()) {
    const Read refused = read(make(lab, part), text(longest));
    section.findings.push_back(found(absl::StrCat(part.name, ", ", longest, " tokens"), "refused",
                                     refused.logits.defined() ? "read" : refused.refusal,
                                     !refused.logits.defined()));
  }
  for (const Part& part : attentions()) {
    const Model model = make(lab, part);
    const Tensor whole = read(model, text(longest)).logits;
    if (!whole.defined()) {
      section.findings.push_back(
          found(absl::StrCat(part.name, ", ", longest, " tokens"), "read", "refused", false));
      continue;
    }
    double difference = 0;
    for (const int64_t length : lengths) {
      difference = std::max(difference, largest_difference(read(model, text(length)).logits,
                                                           slice(whole, 1, 0, length)));
    }
    section.findings.push_back(same(
        absl::StrCat(part.name, ": logits of a beginning, alone and in ", longest), difference));
  }
  return section;
}

Section weights_section(const LabContext& lab) {
  const int64_t length = lab.integer("trained");
  const auto change = [&](const Part& part, const char* path) {
    const Model model = make(lab, part);
    return largest_difference(read(model, text(length)).trace[path],
                              read(model, text(length, "another")).trace[path]);
  };
  const double computed = change(attentions().front(), "blocks.0.attention.weights");
  return {
      .claims = {{"C71",
                  "常用的神经网络模型(如多层感知机)，其每一层的权重参数经过训练后是**固定**的，与"
                  "输入无关；而自注意力层的权重是由输入决定的",
                  "In usual networks, as a multilayer perceptron, the weights of each layer "
                  "are fixed after training, whatever the input; those of self-attention are "
                  "decided by the input."}},
      .formula = "y = M x:  M a parameter, or M = softmax(Q Kᵀ / √d_k)",
      .prediction =
          "Of two texts learned weights that mix the tokens are the same, those of attention "
          "are not: which is why these need no parameter of the length.",
      .findings = {exact("learned weights: change with the text", 0,
                         change(tables().back(), "blocks.0.learned.weights"), 0),
                   found("attention: change with the text", "above 0", format_number(computed),
                         computed > 0)}};
}

std::vector<Section> run(const LabContext& lab) {
  return {length_section(lab), part_section(lab), weights_section(lab)};
}

}  // namespace

Lab length_lab() {
  return {.name = "length",
          .question = "Can self-attention read only one length? Which part forbids others?",
          .control = "all models of attention have a table of learned positions",
          .duration = "1 s",
          .options = {{"trained", "16", "tokens that the model is made for", 2, 256},
                      {"lengths", "4,16,32,64", "of what it is asked to read", 1, 256,
                       Numbers::kWhole, 1, kLongestList}},
          .run = run};
}

}  // namespace qkv
