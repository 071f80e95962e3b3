// The relation of keys and values: items that are found by their labels.
#include "apps/labs/kit/lab_kit.h"

namespace qkv {
namespace {

struct Sizes {
  int64_t items = 0, d = 0, batch = 32;
};

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

// The mean squared difference of the value found from the one asked for, in each step.
Samples train(const LabContext& lab, uint64_t seed, Keys kind) {
  const RandomStream random(seed);
  const Sizes sizes = {.items = lab.integer("n"), .d = lab.integer("d")};
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

// The results with keys of one kind.
struct Form {
  Text name;
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
  Form own = {.name = say("K and V by two maps"), .kind = Keys::kOwn};
  Form one = {.name = "K = V", .kind = Keys::kOneMap};
  Form moved = {.name = say("K shuffled against V"), .kind = Keys::kShuffled};
  Form random = {.name = say("K random"), .kind = Keys::kRandom};
};

Forms train_all(const LabContext& lab) {
  Forms forms;
  for (Form* form : {&forms.own, &forms.one, &forms.moved, &forms.random}) {
    lab.say(absl::StrCat("key-value: ", form->name.en));
    const Keys kind = lab.is_control() ? Keys::kShuffled : form->kind;
    form->losses = over_seeds(lab, [&](uint64_t seed) { return train(lab, seed, kind); });
  }
  return forms;
}

// The error of the mean of all n values.
double blind_error(const LabContext& lab) { return 1 - 1 / static_cast<double>(lab.integer("n")); }

// It must be nearer to finding all than to the mean of all values.
Finding learned(const LabContext& lab, const Form& form) {
  return premise(below(say("error with {0}, the worst seed", form.name), blind_error(lab) / 2,
                       most_of(form.last())));
}

Finding guided(const Form& unrelated, const Form& related) {
  return larger(say("error with {0}, and with {1}", unrelated.name, related.name), unrelated.last(),
                related.last());
}

// No guess is better than the mean of all values. Of the fewest numbers that the lab takes, the
// error of a tenth of the steps is known to about a fortieth: twice that is allowed.
Finding no_better_than_blind(const LabContext& lab, const Form& form) {
  return at_least(say("error with {0}", form.name), 0.95 * blind_error(lab), form.last());
}

Section guiding_section(const LabContext& lab, const Forms& forms) {
  const double blind = blind_error(lab);
  const Form &own = forms.own, &moved = forms.moved, &random = forms.random;
  LineChart chart =
      line_chart(say("Mean square of the error, first seed"), say("step"), say("error"),
                 {own.curve(), forms.one.curve(), moved.curve(), random.curve()});
  chart.levels = {{say("the mean of all values"), blind}};
  return make_section("key-value.guiding",
                      {learned(lab, own), guided(moved, own), guided(random, own),
                       no_better_than_blind(lab, moved), no_better_than_blind(lab, random)},
                      {chart});
}

Section exchange_section(const LabContext& lab) {
  const RandomStream random(1);
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const auto make = [&](const char* name) { return random_normal(random, name, {1, n, 1, d}); };
  const Tensor q = make("Q"), k = make("K"), v = make("V"), other = make("other");
  const AttentionOptions options = {.scale = lab.breaks("scores") ? 0.0 : 1.0};
  const auto attend = [&](const Tensor& query, const Tensor& key, const Tensor& value) {
    return attention(query, key, value, options);
  };
  const auto rows = [&](const Tensor& x) { return reshape(x, {1, n, d}); };
  const auto turned = [&](const Tensor& x) {
    return reshape(shuffled(rows(x), random.derive("order")), {1, n, 1, d});
  };
  const Tensor mixed = attend(q, k, v);
  const auto change = [&](const char* what, const Tensor& again) {
    return above(say("largest change of V' where {0} is another", what), 0,
                 largest_difference(mixed, again));
  };
  Bars bars = {.title = say("What the first queries take of each value")};
  const Tensor weights =
      softmax(products_of_rows(reshape(q, {n, d}), reshape(k, {n, d})) * options.scale);
  for (int64_t i = 0; i < std::min<int64_t>(n, 4); ++i) {
    bars.bars.push_back(absl::StrCat("q", i + 1));
    bars.shares.push_back(row_of(weights, i).to_vector());
  }
  for (int64_t i = 0; i < n; ++i) bars.parts.push_back(absl::StrCat("v", i + 1));
  return make_section(
      "key-value.exchange",
      {change("Q", attend(other, k, v)), change("K", attend(q, other, v)),
       change("V", attend(q, k, other)),
       same(say("V' where K and V are shuffled alike"),
            largest_difference(mixed, attend(q, turned(k), turned(v)))),
       equal(say("numbers of V' outside of those of V"), 0, count_outside(rows(v), rows(mixed)))},
      {bars});
}

// Queries, keys and values of one X, in a layer of a transformer.
struct Source {
  double apart, off_sum;  // the largest |K - V|; dX and the sum of its three paths
  double by_query, by_key, by_value;
};

Source measure_source(const LabContext& lab) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const RandomStream random(1);
  const MultiHeadAttention layer = attention_layer(random.derive("layer"), d, 1);
  const Tensor x = as_parameter(random_normal(random, "x", {1, n, d}));
  const Tensor source = lab.breaks("source") ? random_normal(random, "y", x.shape()) : x;
  const auto [y, trace] = trace_module(layer, x, source, AttentionMask{});
  const Tensor q = trace["q"], k = trace["k"], v = trace["v"];
  const Gradients gradients =
      backward(y, {.cotangent = random_normal(random, "dy", y.shape()), .keep = {q, k, v}});
  const auto back = [&](const Tensor& role, const Projection& map) {
    return matmul(reshape(gradients[role], {1, n, d}), std::get<Linear>(map.kind).weight);
  };
  const Tensor by_q = back(q, layer.query), by_k = back(k, layer.key), by_v = back(v, layer.value);
  return {.apart = largest_difference(k, v),
          .off_sum = largest_difference(gradients[x], by_q + by_k + by_v),
          .by_query = size_of(by_q),
          .by_key = size_of(by_k),
          .by_value = size_of(by_v)};
}

Section equal_section(const LabContext& lab, const Source& source, const Forms& forms) {
  return make_section(
      "key-value.equal",
      {learned(lab, forms.one), learned(lab, forms.own), guided(forms.moved, forms.one),
       guided(forms.moved, forms.own),
       named("apart", above(say("largest |K - V| in a layer of a transformer"), 0, source.apart))},
      {line_chart(say("Mean square of the error, first seed"), say("step"), say("error"),
                  {forms.own.curve(), forms.one.curve()})});
}

Section source_section(const Source& source) {
  const auto path = [](const char* by, double size) {
    return above(say("|dX| by {0}", by), 0, size);
  };
  return make_section(
      "key-value.source",
      {same(say("dX and the sum of its three paths"), source.off_sum), path("Q", source.by_query),
       path("K", source.by_key), path("V", source.by_value)},
      {Bars{.title = say("|dX| by path"),
            .bars = {"dX"},
            .parts = {"Q", "K", "V"},
            .shares = {{source.by_query, source.by_key, source.by_value}}}});
}

std::vector<Section> run(const LabContext& lab) {
  const Source source = measure_source(lab);
  const bool trains = !lab.breaks("scores") && !lab.breaks("source");
  if (!trains) return {exchange_section(lab), source_section(source)};
  const Forms forms = train_all(lab);
  return {exchange_section(lab), equal_section(lab, source, forms), guiding_section(lab, forms),
          source_section(source)};
}

}  // namespace

Lab key_value_lab() { return make_lab("key-value", run); }

}  // namespace qkv
