// One model at other lengths than it was made for: which part of it forbids them.
#include "apps/labs/kit/lab_kit.h"
#include "framework/core/error.h"
#include "models/model.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 10;

// The same model but for one part.
struct Part {
  Text name;
  std::string mixer = "attention";
  Position position = Position::kNone;
};

Model make(const LabContext& lab, const Part& part) {
  ModelOptions options = {.mixer = part.mixer, .position = part.position};
  if (part.mixer == "attention" && lab.is_control()) options.position = Position::kLearned;
  const DataShape data = {.vocabulary_size = kVocabulary, .max_length = lab.integer("trained")};
  return {options, data, Initializer(RandomStream(1).derive("model"), DType::f64)};
}

// The first `length` tokens of one text. i64 [1, T]
Tensor text(int64_t length) {
  return random_tokens(RandomStream(1).derive("text"), {1, length}, kVocabulary);
}

bool reads(const Model& model, const Tensor& tokens) {
  ForwardContext context;
  const std::vector<Tensor> inputs = {tokens};
  try {
    return model(inputs, context).defined();
  } catch (const Error&) {  // too long for one of its tables
    return false;
  }
}

std::vector<Part> attentions() {
  return {
      {.name = say("attention, no positions")},
      {.name = say("attention, {0} positions", "sinusoidal"), .position = Position::kSinusoidal},
      {.name = say("attention, {0} positions", "rotary"), .position = Position::kRotary},
      {.name = say("attention, {0} positions", "alibi"), .position = Position::kAlibi},
      {.name = say("attention, {0} positions", "relative"), .position = Position::kRelative}};
}

std::vector<Part> tables() {
  return {{.name = say("attention, a table of positions"), .position = Position::kLearned},
          {.name = say("a table of weights"), .mixer = "learned"}};
}

// The longest of the lengths that a model reads; 0: none.
int64_t longest_read(const Model& model, const std::vector<int64_t>& lengths) {
  int64_t longest = 0;
  for (const int64_t length : lengths) {
    if (reads(model, text(length))) longest = length;
  }
  return longest;
}

// Whether no more is read than what the model is made for, which lengths beyond that can tell.
Finding reads_no_more(const LabContext& lab, const Part& part) {
  const std::vector<int64_t> lengths = lab.integers("lengths");
  const int64_t trained = lab.integer("trained"), longest = longest_read(make(lab, part), lengths);
  Finding finding = found(say("{0}: the longest that is read, of {1}", part.name, lengths.back()),
                          say("at most {0}", trained), std::to_string(longest), longest <= trained);
  if (lengths.back() <= trained) finding.result = FindingResult::kUndecided;
  return finding;
}

Section length_section(const LabContext& lab) {
  Section section = make_section("length.length");
  for (const Part& part : attentions()) section.add(reads_no_more(lab, part));
  section.findings.front().name = "attention";
  for (const Part& part : tables()) section.add(reads_no_more(lab, part));
  section.findings.back().name = "table";
  return section;
}

std::vector<Section> run(const LabContext& lab) { return {length_section(lab)}; }

}  // namespace

Lab length_lab() { return make_lab("length", run); }

}  // namespace qkv
