// What keys and values have to do with each other: items that are found by their labels.
#include "lessons/labs/kit.h"
#include "models/mixer.h"

namespace qkv {
namespace {

struct Sizes {
  int64_t items = 0, d = 0, batch = 32;
};

Sizes sizes_of(const LabContext& lab) { return {.items = lab.integer("n"), .d = lab.integer("d")}; }

// Items [B, n, 2 d], each a label and what it says; every label is asked for.
struct Items {
  Tensor labels, contents;  // [B, n, d]

  Tensor sources() const { return concat({labels, contents}, -1); }
};

Items draw_items(const RandomStream& random, const Sizes& sizes) {
  const Shape shape = {sizes.batch, sizes.items, sizes.d};
  return {.labels = random_normal(random, "labels", shape),
          .contents = random_normal(random, "contents", shape)};
}

// The rows of each sequence in another order.   x [B, n, C]
Tensor shuffled(const Tensor& x, RandomStream random) {
  std::vector<Tensor> sequences;
  for (int64_t b = 0; b < x.dim(0); ++b) {
    const Tensor order = random_order(random, x.dim(1));
    sequences.push_back(embedding(reshape(row_of(x, b), {x.dim(1), x.dim(2)}), order));
  }
  return stack(sequences, 0);
}

enum class Keys { kOwn, kOneMap, kShuffled, kRandom };

// Q, K and V of items by three maps, [B, n, C], and a fourth that reads V'.
struct Layer {
  Tensor w_q, w_k, w_v, w_o;

  Layer(const RandomStream& random, const Sizes& sizes) {
    const int64_t width = 2 * sizes.d;
    const auto make = [&](const char* name, int64_t from, int64_t to) {
      const Tensor drawn = random_normal(random, name, {from, to});
      return as_parameter(drawn * (1 / static_cast<double>(width)));
    };
    w_q = make("W_q", sizes.d, width);
    w_k = make("W_k", width, width);
    w_v = make("W_v", width, width);
    w_o = make("W_o", width, sizes.d);
  }

  std::vector<Tensor*> weights() { return {&w_q, &w_k, &w_v, &w_o}; }

  // V' W_o, of keys of some kind.
  Tensor operator()(const Items& items, Keys kind, const RandomStream& random) const {
    const auto head = [](const Tensor& x) { return reshape(x, {x.dim(0), x.dim(1), 1, x.dim(2)}); };
    const Tensor x = items.sources(), values = matmul(x, w_v);
    Tensor keys = kind == Keys::kOneMap ? values : matmul(x, w_k);
    if (kind == Keys::kShuffled) keys = shuffled(keys, random);
    if (kind == Keys::kRandom) keys = random_normal(random, keys.shape());
    const Tensor mixed = attention(head(matmul(items.labels, w_q)), head(keys), head(values));
    return matmul(reshape(mixed, values.shape().dims()), w_o);
  }
};

// The mean square by which what is found differs from what was asked for, in each step.
Samples train(const LabContext& lab, uint64_t seed, Keys kind) {
  const RandomStream random(seed);
  const Sizes sizes = sizes_of(lab);
  Layer layer(random.derive("layer"), sizes);
  std::vector<NamedParameter> parameters;
  for (Tensor* weight : layer.weights()) {
    parameters.push_back({absl::StrCat("w", parameters.size()), *weight});
  }
  return train_with_adam(parameters, lab.integer("steps"), [&](uint64_t step) {
    const RandomStream step_stream = random.derive(step);
    const Items items = draw_items(step_stream, sizes);
    const Tensor error = layer(items, kind, step_stream.derive("keys")) - items.contents;
    return mean(error * error);
  });
}

// What came of keys of some kind.
struct Form {
  std::string name;
  Keys kind;
  std::vector<Samples> losses = {};  // of each step, by seed

  Samples last() const {  // over the last tenth of the steps
    return values_of(losses, [](const Samples& steps) {
      const auto tenth = std::max<std::ptrdiff_t>(1, std::ssize(steps) / 10);
      return mean_of(Samples(steps.end() - tenth, steps.end()));
    });
  }
  Series curve() const { return numbered_series(name, losses[0]); }  // first seed
};

struct Forms {
  Form own = {.name = "K and V by two maps", .kind = Keys::kOwn};
  Form one = {.name = "K = V", .kind = Keys::kOneMap};
  Form moved = {.name = "K shuffled against V", .kind = Keys::kShuffled};
  Form random = {.name = "K random", .kind = Keys::kRandom};
};

Forms train_all(const LabContext& lab) {
  Forms forms;
  for (Form* form : {&forms.own, &forms.one, &forms.moved, &forms.random}) {
    lab.say(absl::StrCat("key-value: ", form->name));
    const Keys kind = lab.is_control() ? Keys::kShuffled : form->kind;
    form->losses = over_seeds(lab, [&](uint64_t seed) { return train(lab, seed, kind); });
  }
  return forms;
}

// The error of the mean of all n values.
double blind_error(const LabContext& lab) { return 1 - 1 / static_cast<double>(lab.integer("n")); }

Finding finds(const LabContext& lab, const Form& form) {
  return below(absl::StrCat("error, ", form.name, ", the worst seed"), blind_error(lab) / 2,
               most_of(form.last()));
}

Section guiding_section(const LabContext& lab, const Forms& forms) {
  const double blind = blind_error(lab);
  const Form &own = forms.own, &moved = forms.moved, &random = forms.random;
  return make_section(
      "key-value.guiding",
      {finds(lab, own), near("error, K shuffled against V", blind, moved.last()),
       near("error, K random", blind, random.last()),
       larger("error, K shuffled and by two maps", moved.last(), own.last())},
      {line_chart("Mean square of the error, first seed", "step", "error",
                  {own.curve(), forms.one.curve(), moved.curve(), random.curve()})});
}

Section exchange_section(const LabContext& lab) {
  const RandomStream random(1);
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const auto make = [&](const char* name) { return random_normal(random, name, {1, n, 1, d}); };
  const Tensor q = as_parameter(make("Q")), k = as_parameter(make("K")),
               v = as_parameter(make("V")), other = make("other");
  const Tensor mixed = attention(q, k, v);
  const auto change = [&](const char* what, const Tensor& again) {
    const double difference = size_of(mixed - again) / size_of(mixed);
    return above(absl::StrCat("change of V' when ", what, " is exchanged"), 0.1, difference);
  };
  const auto turned = [&](const Tensor& x) {
    return reshape(shuffled(reshape(x, {1, n, d}), random.derive("order")), {1, n, 1, d});
  };
  const Tensor highest = max(v, 1, true), lowest = -max(-v, 1, true);
  const double outside = largest_of(relu(mixed - highest) + relu(lowest - mixed));
  const Gradients gradients = backward(attention(q, k, v), {.cotangent = make("dO")});
  Table table = {.title = "The gradient of a random loss on V'",
                 .header = {"of", "size"},
                 .rows = {{"V, through the values", format_number(size_of(gradients[v]))},
                          {"Q, through the weights", format_number(size_of(gradients[q]))},
                          {"K, through the weights", format_number(size_of(gradients[k]))}}};
  return make_section(
      "key-value.exchange",
      {change("Q", attention(other, k, v)), change("K", attention(q, other, v)),
       change("V", attention(q, k, other)),
       change("the order of K alone", attention(q, turned(k), v)),
       same("V' when K and V are shuffled alike",
            largest_difference(mixed, attention(q, turned(k), turned(v)))),
       found("largest step of V' outside of V", "at most 0", outside, outside <= 1e-12)},
      {table});
}

// Queries, keys and values of one X in a layer of a transformer.
struct Source {
  double apart = 0;      // |K - V|, the largest
  double sum_error = 0;  // of dX and the sum of its three paths
  double by_query = 0, by_key = 0, by_value = 0;
};

Source measure_source(const LabContext& lab) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const RandomStream random(1);
  Initializer init(random.derive("mixer"), DType::f64);
  const Mixer mixer = make_mixer(init, {.d_model = d, .num_heads = 1},
                                 {.max_length = n, .causal = false, .residual_deviation = 0.02});
  const auto& layer = std::get<Child<"attention", MultiHeadAttention>>(mixer.kind);
  const Tensor x = as_parameter(random_normal(random, "x", {1, n, d}));
  const auto [y, trace] = trace_module(mixer, x, AttentionMask{});
  const Tensor q = trace["attention.q"], k = trace["attention.k"], v = trace["attention.v"];
  const Gradients gradients =
      backward(y, {.cotangent = random_normal(random, "dy", y.shape()), .keep = {q, k, v}});
  const auto back = [&](const Tensor& role, const Projection& map) {
    return matmul(reshape(gradients[role], {1, n, d}), std::get<Linear>(map.kind).weight);
  };
  const Tensor by_q = back(q, layer.query), by_k = back(k, layer.key), by_v = back(v, layer.value);
  return {.apart = largest_difference(k, v),
          .sum_error = largest_difference(gradients[x], by_q + by_k + by_v),
          .by_query = size_of(by_q),
          .by_key = size_of(by_k),
          .by_value = size_of(by_v)};
}

Section equal_section(const LabContext& lab, const Source& source, const Forms& forms) {
  return make_section("key-value.equal", {finds(lab, forms.one), finds(lab, forms.own),
                                          above("|K - V| in a layer of a transformer, the largest",
                                                0.01, source.apart)});
}

Section source_section(const Source& source) {
  const auto path = [](const char* what, double size) { return above(what, 0, size); };
  return make_section("key-value.source",
                      {same("dX and the sum of its three paths", source.sum_error),
                       path("|dX| by Q", source.by_query), path("|dX| by K", source.by_key),
                       path("|dX| by V", source.by_value)});
}

std::vector<Section> run(const LabContext& lab) {
  const Source source = measure_source(lab);
  const Forms forms = train_all(lab);
  return {exchange_section(lab), equal_section(lab, source, forms), guiding_section(lab, forms),
          source_section(source)};
}

}  // namespace

Lab key_value_lab() { return make_lab("key-value", run); }

}  // namespace qkv
