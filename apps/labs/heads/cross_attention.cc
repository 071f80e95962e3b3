// Attention between two sequences, and within one.
#include "absl/strings/match.h"
#include "apps/labs/kit/lab_kit.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/attention.h"
#include "models/model.h"

namespace qkv {
namespace {

constexpr int64_t kWidth = 8;

Tensor sequence(const char* name, int64_t length) {
  return random_normal(RandomStream(1), name, {1, length, kWidth});
}

// A layer of attention in f64, and what it makes of x and a source: all it computes on the way.
struct Attended {
  Tensor output, weights;  // [B, Tq, C], [1, 1, Tq, Tk]
  Tensor dweights, dscores;
};

Attended attend(const Tensor& x, const Tensor& source) {
  const MultiHeadAttention layer = attention_layer(RandomStream(1).derive("layer"), kWidth, 1);
  const auto [y, trace] = trace_module(layer, as_parameter(x), source, AttentionMask{});
  const Tensor scores = trace["scores"], weights = trace["weights"];
  const Gradients gradients = backward(
      y, {.cotangent = random_normal(RandomStream(1), "dy", y.shape()), .keep = {scores, weights}});
  return {.output = y,
          .weights = weights,
          .dweights = gradients[weights],
          .dscores = gradients[scores]};
}

// In the control the sequence attends to itself.
Tensor source_of(const LabContext& lab, const Tensor& x, const char* name, int64_t length) {
  return lab.is_control() ? x : sequence(name, length);
}

Section lengths_section(const LabContext& lab) {
  Section section = make_section("cross.lengths");
  const int64_t queries = lab.integer("queries");
  const Tensor x = sequence("x", queries);
  const auto size = [](const Tensor& t) { return absl::StrCat(t.dim(2), " × ", t.dim(3)); };
  for (const int64_t keys : lab.integers("keys")) {
    const Attended between = attend(x, source_of(lab, x, "source", keys));
    const std::string expected = absl::StrCat(queries, " × ", keys);
    const std::string measured = size(between.weights);
    const std::string rows = absl::StrCat(", ", between.output.dim(1));
    section.add(found(say("P, and rows that come out, tokens of the source: {0}", keys),
                      absl::StrCat(expected, ", ", queries), measured + rows,
                      measured == expected && size(between.dweights) == expected &&
                          between.output.dim(1) == queries));
  }
  section.add(equal(say("self-attention: rows that come out of as many tokens"), queries,
                    attend(x, x).output.dim(1)));
  const Attended shown = attend(x, source_of(lab, x, "source", lab.integers("keys").back()));
  HeatMap map =
      heat_map_of(say("The weights P"), reshape(shown.weights, {queries, shown.weights.dim(3)}));
  map.row_axis = say("queries");
  map.column_axis = say("keys of the source");
  section.show(std::move(map));
  return section;
}

HeatMap square_of(const Text& title, const Attended& attended) {
  const int64_t n = attended.weights.dim(2);
  HeatMap map = heat_map_of(title, reshape(attended.weights, {n, n}));
  map.row_axis = say("queries");
  map.column_axis = say("keys of the source");
  return map;
}

Section fixed_section(const LabContext& lab) {
  const Tensor x = sequence("x", 4), other = sequence("other x", 4);
  const Attended first = attend(x, source_of(lab, x, "source", 4));
  const Attended second = attend(x, source_of(lab, x, "other", 4));
  return make_section(
      "cross.fixed",
      {named("between", same(say("weights between, for two sources"),
                             largest_difference(first.weights, second.weights))),
       differ(say("weights within, for two inputs"),
              largest_difference(attend(x, x).weights, attend(other, other).weights))},
      {HeatMaps{.title = say("One layer, the same queries, two sources"),
                .maps = {square_of(say("first source"), first),
                         square_of(say("second source"), second)}}});
}

// The attention layers of a model, by the paths of their maps.
double layers_of(const Model& model, const std::string& kind) {
  double layers = 0;
  for (const NamedParameter& parameter : parameters(model)) {
    layers += absl::EndsWith(parameter.name, absl::StrCat(".", kind, ".value.weight")) ? 1 : 0;
  }
  return layers;
}

// In the control one stack reads both, as one sequence.
Model make(const LabContext& lab, const std::string& mixer, int64_t layers) {
  const ModelOptions options = {.kind = lab.is_control() ? "decoder" : "encoder_decoder",
                                .num_layers = layers,
                                .mixer = mixer};
  const DataShape data = {.vocabulary_size = 10, .max_length = 8, .source_length = 8};
  return {options, data, Initializer::shapes_only(DType::f32)};
}

Section once_section(const LabContext& lab) {
  const int64_t layers = lab.integer("layers");
  const Model recurrent = make(lab, "recurrence", 1), transformer = make(lab, "attention", layers);
  return make_section(
      "cross.once",
      {equal(say("recurrent encoder-decoder: layers of attention between"), 1,
             layers_of(recurrent, "cross_attention")),
       equal(say("transformer of {0} and {0} layers: self-attention", layers), 2 * layers,
             layers_of(transformer, "attention")),
       beyond(named("between", equal(say("transformer of {0} and {0} layers: between", layers), 1,
                                     layers_of(transformer, "cross_attention"))))});
}

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
double train(const LabContext& lab, uint64_t seed, Source source, bool asks_between) {
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
  train_with_adam(parameters(reader), lab.integer("steps"), [&](uint64_t step) {
    const auto [logits, answers] = logits_and_answers(random.derive(step), Reader::kBatch);
    return cross_entropy(logits, answers);
  });
  const auto [logits, answers] = logits_and_answers(random.derive("new"), 100);
  const Samples all = logits.to_vector(), wanted = answers.to_vector();
  double right = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto first = all.begin() + static_cast<int64_t>(i) * Reader::kDigits;
    right += std::max_element(first, first + Reader::kDigits) - first == std::llround(wanted[i]);
  }
  return right / static_cast<double>(wanted.size());
}

Section task_section(const LabContext& lab) {
  struct Arm {
    Text name;
    Source source;
    Samples between = {}, within = {};
  };
  std::vector<Arm> arms = {{say("attends to the other sequence"), Source::kOther},
                           {say("attends to its own sequence"), Source::kItself},
                           {say("self-attention over both as one sequence"), Source::kBoth}};
  for (Arm& arm : arms) {
    for (const uint64_t seed : lab.seeds()) {
      arm.between.push_back(train(lab, seed, arm.source, true));
      arm.within.push_back(train(lab, seed, arm.source, false));
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
  return make_section(
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
}

std::vector<Section> run(const LabContext& lab) {
  return {lengths_section(lab), fixed_section(lab), once_section(lab), task_section(lab)};
}

}  // namespace

Lab cross_lab() { return make_lab("cross", run); }

}  // namespace qkv
