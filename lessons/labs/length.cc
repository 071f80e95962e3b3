// One model at other lengths than it was made for: which part of it forbids them.
#include "absl/strings/str_join.h"
#include "framework/core/error.h"
#include "lessons/labs/kit.h"
#include "models/model.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 10;

// The same model but for one part.
struct Part {
  const char* name;
  std::string mixer = "attention";
  Position position = Position::kNone;
};

Model make(const LabContext& lab, const Part& part) {
  ModelOptions options = {.mixer = part.mixer, .position = part.position};
  if (lab.is_control() && part.mixer == "attention") {
    options.position = Position::kLearned;
  }
  const DataShape data = {.vocabulary_size = kVocabulary, .max_length = lab.integer("trained")};
  return {options, data, Initializer(RandomStream(1).derive("model"), DType::f64)};
}

// The first so many tokens of one text.   i64 [1, T]
Tensor text(int64_t length, const char* name = "text") {
  return random_tokens(RandomStream(1).derive(name), {1, length}, kVocabulary);
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
      {.name = "learned weights, no positions", .mixer = "learned"}};
  return kParts;
}

bool can_read(const Model& model, int64_t length) {
  return read(model, text(length)).logits.defined();
}

std::string lengths_read(const Model& model, std::vector<int64_t> lengths) {
  std::erase_if(lengths, [&](int64_t length) { return !can_read(model, length); });
  return absl::StrJoin(lengths, ", ");
}

Table table_of(const LabContext& lab, const std::vector<int64_t>& lengths) {
  std::vector<Part> parts = attentions();
  parts.insert(parts.end(), tables().begin(), tables().end());
  return table_by(absl::StrCat("Made for ", lab.integer("trained"), " tokens: reads"),
                  row_by("model", lengths, [](int64_t length) { return absl::StrCat(length); }),
                  parts, [&](const Part& part) {
                    const Model model = make(lab, part);
                    return row_by(part.name, lengths, [&](int64_t length) {
                      return can_read(model, length) ? "yes" : "no";
                    });
                  });
}

Section length_section(const LabContext& lab) {
  const std::vector<int64_t> lengths = lab.integers("lengths");
  const std::string only = absl::StrCat(lab.integer("trained"));
  Section section = make_section("length.length", {}, {table_of(lab, lengths)});
  for (const Part& part : attentions()) {
    const std::string measured = lengths_read(make(lab, part), lengths);
    section.add(found(absl::StrCat(part.name, ": lengths that are read"), only, measured,
                      measured == only));
  }
  return section;
}

Section part_section(const LabContext& lab) {
  const std::vector<int64_t> lengths = lab.integers("lengths");
  const int64_t longest = std::ranges::max(lengths);
  Section section = make_section("length.part");
  for (const Part& part : tables()) {
    const Read refused = read(make(lab, part), text(longest));
    section.add(found(absl::StrCat(part.name, ", ", longest, " tokens"), "refused",
                      refused.logits.defined() ? "read" : refused.refusal,
                      !refused.logits.defined()));
  }
  for (const Part& part : attentions()) {
    const Model model = make(lab, part);
    const Tensor whole = read(model, text(longest)).logits;
    if (!whole.defined()) {
      section.add(
          found(absl::StrCat(part.name, ", ", longest, " tokens"), "read", "refused", false));
      continue;
    }
    double difference = 0;
    for (const int64_t length : lengths) {
      difference = std::max(difference, largest_difference(read(model, text(length)).logits,
                                                           slice(whole, 1, 0, length)));
    }
    section.add(same(absl::StrCat(part.name, ": logits of a beginning, alone and in ", longest),
                     difference));
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
  return make_section("length.weights", {equal("learned weights: change with the text", 0,
                                               change(tables().back(), "blocks.0.learned.weights")),
                                         above("attention: change with the text", 0, computed)});
}

std::vector<Section> run(const LabContext& lab) {
  return {length_section(lab), part_section(lab), weights_section(lab)};
}

}  // namespace

Lab length_lab() { return make_lab("length", run); }

}  // namespace qkv
