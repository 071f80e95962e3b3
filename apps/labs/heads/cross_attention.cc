// Attention between two sequences, and within one.
#include "apps/labs/kit/lab_kit.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/attention.h"

namespace qkv {
namespace {

// The source to which a layer attends from x.
enum class Source { kOther, kItself, kBoth };

// A layer of attention between an embedding and its transpose. All arms have the same parameters.
struct Reader {
  static constexpr int64_t kDigits = 10, kLength = 6, kNumbers = 32, kBatch = 32;

  Child<"tokens", Embedding> tokens;
  Child<"places", Embedding> places;
  Child<"attention", MultiHeadAttention> attention;

  explicit Reader(Initializer init)
      : tokens(Embedding(init, kDigits, kNumbers, 0.5)),
        places(Embedding(init, 2 * kLength, kNumbers, 0.5)),
        attention(attention_layer(init, kNumbers, 1)) {}

  void visit(Visitor& v) {
    v.child(tokens);
    v.child(places);
    v.child(attention);
  }

  // i64 [B, T] twice -> the logits of what stands where x does   [B, T, V]
  Tensor operator()(const Tensor& x, const Tensor& other, Source source) const {
    const Tensor all = tokens(concat({x, other}, 1)) + places(counted(2 * kLength));
    const auto half = [&](int64_t i) { return slice(all, 1, i * kLength, kLength); };
    const Tensor keys = source == Source::kBoth ? all : half(source == Source::kOther ? 1 : 0);
    ForwardContext context;
    const Tensor y = attention(half(0), keys, AttentionMask{}, context);
    return linear(y, tokens.weight, Tensor());
  }
};

Tensor backwards(const Tensor& x) {
  std::vector<Tensor> columns;
  for (int64_t t = x.dim(1); t-- > 0;) columns.push_back(slice(x, 1, t, 1));
  return concat(columns, 1);
}

// The share of new answers that are right after training: of the other sequence, or of x itself.
double train(const LabContext& lab, uint64_t seed, Source source, bool asks_between,
             Losses& losses) {
  const RandomStream random(seed);
  const Reader reader(Initializer(random.derive("reader"), DType::f64));
  if (lab.is_control() && source == Source::kOther) source = Source::kItself;
  const auto draw = [&](const RandomStream& stream, const char* name, int64_t rows) {
    return random_tokens(stream.derive(name), {rows, Reader::kLength}, Reader::kDigits);
  };
  const auto logits_and_answers = [&](const RandomStream& stream, int64_t rows) {
    const Tensor x = draw(stream, "x", rows), other = draw(stream, "other", rows);
    return std::pair(reader(x, other, source), backwards(asks_between ? other : x));
  };
  lab.say(absl::StrCat("cross, seed ", seed));
  const auto loss_of_step = [&](uint64_t step) {
    const auto [logits, answers] = logits_and_answers(random.derive(step), Reader::kBatch);
    return cross_entropy(logits, answers);
  };
  losses.push_back(train_with_adam(parameters(reader), lab.integer("steps"), loss_of_step));
  const auto [logits, answers] = logits_and_answers(random.derive("new"), 100);
  const Samples wanted = answers.to_vector();
  const std::vector<int64_t> given = places_of_largest(logits);
  double right = 0;
  for (size_t i = 0; i < wanted.size(); ++i) right += given[i] == std::llround(wanted[i]) ? 1 : 0;
  return right / static_cast<double>(wanted.size());
}

Section task_section(const LabContext& lab) {
  struct Arm {
    Text name;
    Source source;
    Samples between = {}, within = {};
    Losses losses_between = {}, losses_within = {};
  };
  std::vector<Arm> arms = {{say("attends to the other sequence"), Source::kOther},
                           {say("attends to its own sequence"), Source::kItself},
                           {say("self-attention over both as one sequence"), Source::kBoth}};
  for (Arm& arm : arms) {
    for (const uint64_t seed : lab.seeds()) {
      arm.between.push_back(train(lab, seed, arm.source, true, arm.losses_between));
      arm.within.push_back(train(lab, seed, arm.source, false, arm.losses_within));
    }
  }
  const Arm &cross = arms[0], &self = arms[1], &both = arms[2];
  HeatMap map = {.title = say("Share of right answers, with equal parameters"),
                 .rows = std::ssize(arms),
                 .columns = 2,
                 .column_names = {say("the other sequence"), say("its own")},
                 .row_axis = say("the layer"),
                 .column_axis = say("asked for")};
  for (const Arm& arm : arms) {
    map.row_names.push_back(arm.name);
    map.numbers.insert(map.numbers.end(), {mean_of(arm.between), mean_of(arm.within)});
  }
  Section section = make_section(
      "cross.task",
      {premise(at_least(say("attention to the other, asked for it: right"), 0.9, cross.between)),
       premise(at_least(say("self-attention, asked for its own: right"), 0.9, self.within)),
       larger(say("asked for the other: attention to it, and self-attention"), cross.between,
              self.between),
       larger(say("asked for its own: self-attention, and attention to the other"), self.within,
              cross.within),
       beyond(named("joined", below(say("asked for the other: self-attention over both as one"),
                                    0.9, both.between)))},
      {map});
  std::vector<Losses> all;
  for (const Arm& arm : arms) {
    all.insert(all.end(), {arm.losses_between, arm.losses_within});
  }
  add_settled(section, all);
  return section;
}

std::vector<Section> run(const LabContext& lab) { return {task_section(lab)}; }

}  // namespace

Lab cross_lab() { return make_lab("cross", run); }

}  // namespace qkv
