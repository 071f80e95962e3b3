// What keys and values have to do with each other: items that are found by their labels.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "framework/optim/optimizer.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"
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
  return {.labels = random_normal(random.derive("labels"), shape),
          .contents = random_normal(random.derive("contents"), shape)};
}

// The rows of each sequence in another order.   x [B, n, C]
Tensor shuffled(const Tensor& x, RandomStream random) {
  std::vector<int64_t> places;
  for (int64_t b = 0; b < x.dim(0); ++b) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < x.dim(1); ++i) order.push_back(b * x.dim(1) + i);
    for (size_t i = order.size(); i > 1; --i) {  // Fisher and Yates, 1938
      std::swap(order[i - 1], order[random.below(i)]);
    }
    places.insert(places.end(), order.begin(), order.end());
  }
  const Tensor rows = reshape(x, {-1, x.dim(2)});
  return embedding(rows, Tensor(Array::of({x.dim(0), x.dim(1)}, places)));
}

enum class Keys { kOwn, kOneMap, kShuffled, kRandom };

// Q, K and V of items by three maps, [B, n, C], and a fourth that reads V'.
struct Layer {
  Tensor w_q, w_k, w_v, w_o;

  Layer(const RandomStream& random, const Sizes& sizes) {
    const int64_t width = 2 * sizes.d;
    const auto make = [&](const char* name, int64_t from, int64_t to) {
      const Tensor drawn = random_normal(random.derive(name), {from, to});
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

// The mean square by which what is found differs from what was asked for, after training.
struct Trained {
  std::vector<double> losses;  // of each step
  double last = 0;             // over the last tenth of the steps
};

Trained train(const LabContext& lab, uint64_t seed, Keys kind) {
  const RandomStream random(seed);
  const Sizes sizes = sizes_of(lab);
  Layer layer(random.derive("layer"), sizes);
  std::vector<NamedParameter> parameters;
  for (Tensor* weight : layer.weights()) {
    parameters.push_back({absl::StrCat("w", parameters.size()), *weight});
  }
  const auto optimizer =
      make_optimizer({.kind = OptimizerKind::kAdam, .weight_decay = 0}, parameters);
  Trained trained;
  const int64_t steps = lab.integer("steps");
  for (int64_t step = 0; step < steps; ++step) {
    const RandomStream of_step = random.derive(static_cast<uint64_t>(step));
    const Items items = draw_items(of_step, sizes);
    const Tensor error = layer(items, kind, of_step.derive("keys")) - items.contents;
    const Tensor loss = mean(error * error);
    const Gradients gradients = backward(loss);
    std::vector<Tensor> steps_of;
    for (Tensor* weight : layer.weights()) {
      steps_of.push_back(gradients.contains(*weight) ? gradients[*weight]
                                                     : zeros(weight->shape(), DType::f64));
    }
    optimizer->step(steps_of, /*learning_rate=*/0.02);
    trained.losses.push_back(loss.item());
  }
  const auto tenth = static_cast<std::ptrdiff_t>(std::max<int64_t>(1, steps / 10));
  trained.last = mean_of(std::vector<double>(trained.losses.end() - tenth, trained.losses.end()));
  return trained;
}

// What came of keys of some kind, over the seeds.
struct Form {
  std::string name;
  Keys kind;
  std::vector<double> last = {};
  Series curve = {};  // first seed
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
    for (const uint64_t seed : lab.seeds()) {
      const Trained trained = train(lab, seed, lab.is_control() ? Keys::kShuffled : form->kind);
      form->last.push_back(trained.last);
      if (seed > 1) continue;
      form->curve = {.name = form->name, .x = {}, .y = trained.losses};
      for (size_t i = 0; i < trained.losses.size(); ++i) {
        form->curve.x.push_back(static_cast<double>(i + 1));
      }
    }
  }
  return forms;
}

// The error of the mean of all n values.
double blind_error(const LabContext& lab) { return 1 - 1 / static_cast<double>(lab.integer("n")); }

Finding finds(const LabContext& lab, const Form& form) {
  const double worst = *std::ranges::max_element(form.last), most = blind_error(lab) / 2;
  return found(absl::StrCat("error, ", form.name, ", the worst seed"),
               absl::StrCat("below ", format_number(most)), format_number(worst), worst < most);
}

Section guiding_section(const LabContext& lab, const Forms& forms) {
  const double blind = blind_error(lab);
  const Form &own = forms.own, &moved = forms.moved, &random = forms.random;
  return {
      .claims = {{"B29",
                  "但是 K 和 V 之间一定具有某种联系，这样的 QK 点乘才能指导 V 哪些重要，哪些不重要",
                  "But there must be some relation between K and V: only then can the products of "
                  "Q and K tell which of V matter."}},
      .formula = "V' = softmax(Q Kᵀ) V;   of the mean of n values the error is 1 - 1/n",
      .prediction =
          "Trained to find what a label stands for: with keys of the same items it is found; with "
          "shuffled or random keys nothing is better than the mean of all.",
      .findings = {finds(lab, own), near("error, K shuffled against V", blind, moved.last),
                   near("error, K random", blind, random.last),
                   larger("error, K shuffled and by two maps", moved.last, own.last)},
      .figures = {LineChart{.title = "Mean square of the error, first seed",
                            .x_label = "step",
                            .y_label = "error",
                            .series = {own.curve, forms.one.curve, moved.curve, random.curve}}}};
}

Section exchange_section(const LabContext& lab) {
  const RandomStream random(1);
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const auto make = [&](const char* name) {
    return random_normal(random.derive(name), {1, n, 1, d});
  };
  const Tensor q = as_parameter(make("Q")), k = as_parameter(make("K")),
               v = as_parameter(make("V")), other = make("other");
  const Tensor mixed = attention(q, k, v);
  const auto change = [&](const char* what, const Tensor& again) {
    const double difference = size_of(mixed - again) / size_of(mixed);
    return found(absl::StrCat("change of V' when ", what, " is exchanged"), "above 0.1",
                 format_number(difference), difference > 0.1);
  };
  const auto turned = [&](const Tensor& x) {
    return reshape(shuffled(reshape(x, {1, n, d}), random.derive("order")), {1, n, 1, d});
  };
  const Tensor highest = max(v, 1, /*keep_axis=*/true), lowest = -max(-v, 1, /*keep_axis=*/true);
  const double outside = largest_of(relu(mixed - highest) + relu(lowest - mixed));
  const Gradients gradients = backward(attention(q, k, v), {.cotangent = make("dO")});
  Table table = {.title = "The gradient of a random loss on V'",
                 .header = {"of", "size"},
                 .rows = {{"V, through the values", format_number(size_of(gradients[v]))},
                          {"Q, through the weights", format_number(size_of(gradients[q]))},
                          {"K, through the weights", format_number(size_of(gradients[k]))}}};
  return {
      .claims = {{"B60",
                  "得到新的矩阵V'不仅包含了V的信息，然后这种表示还暗含了 Q 的信息（于 Q 而言，K "
                  "里面重要的信息），也就是说，挑出了 K 里面的关键点",
                  "The new V' holds what is in V, and also hints of Q: of what in K matters "
                  "to Q. It picks the key points of K."}},
      .formula = "V' = P V,   P = softmax(Q Kᵀ)",
      .prediction =
          "Every number of V' lies between the smallest and the largest of V's column; which "
          "of them it is near depends on Q and on K. What keys and values have in common is "
          "their order: shuffle both alike and V' stays.",
      .findings = {change("Q", attention(other, k, v)), change("K", attention(q, other, v)),
                   change("V", attention(q, k, other)),
                   change("the order of K alone", attention(q, turned(k), v)),
                   same("V' when K and V are shuffled alike",
                        largest_difference(mixed, attention(q, turned(k), turned(v)))),
                   found("largest step of V' outside of V", "at most 0", format_number(outside),
                         outside <= 1e-12)},
      .figures = {table}};
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
  const Mixer mixer = make_mixer(init, {.d_model = d, .num_heads = 1}, n, /*causal=*/false,
                                 /*residual_deviation=*/0.02);
  const auto& layer = std::get<Child<"attention", MultiHeadAttention>>(mixer.kind);
  const Tensor x = as_parameter(random_normal(random.derive("x"), {1, n, d}));
  Trace trace;
  ForwardContext context{.trace = &trace};
  const Tensor y = mixer(x, {}, context);
  const Tensor q = trace["attention.q"], k = trace["attention.k"], v = trace["attention.v"];
  const Gradients gradients =
      backward(y, {.cotangent = random_normal(random.derive("dy"), y.shape()), .keep = {q, k, v}});
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
  return {.claims = {{"B29",
                      "这里面我们引入一个矩阵K，一般而言K=V，在 Transformer 里，K!=V 可不可以，"
                      "可以的",
                      "Here we introduce a matrix K; in general K = V. May K differ from V in a "
                      "transformer? It may."}},
          .formula = "K = X W_k, V = X W_v",
          .prediction =
              "Attention finds what is asked for with K = V, and with K by a map of its own as "
              "well; and in a layer of a transformer the two are not the same numbers.",
          .findings = {finds(lab, forms.one), finds(lab, forms.own),
                       found("|K - V| in a layer of a transformer, the largest", "above 0.01",
                             format_number(source.apart), source.apart > 0.01)},
          .figures = {},
          .correction =
              "In a transformer they not only may differ, they do: they are of one source, X, by a "
              "map for each (B68). K = V is the special case of one map for both."};
}

Section source_section(const Source& source) {
  const auto path = [](const char* what, double size) {
    return found(what, "above 0", format_number(size), size > 0);
  };
  return {
      .claims = {{"B64", "Self-Attention 的关键点再于， K≈≈V≈≈Q 来源于同一个矩阵X，这三者是同源的",
                  "The point of self-attention is that K, V and Q come from one matrix X."},
                 {"B66", "也就是通过 X 本身找到 X 里面的关键点",
                  "That is, by X itself the key points of X are found."}},
      .formula = "dX = dQ W_qᵀ + dK W_kᵀ + dV W_vᵀ",
      .prediction =
          "One X has three parts to play, and its gradient comes back from each: as what "
          "asks, as what is found by, and as what is said.",
      .findings = {same("dX and the sum of its three paths", source.sum_error),
                   path("|dX| by Q", source.by_query), path("|dX| by K", source.by_key),
                   path("|dX| by V", source.by_value)}};
}

std::vector<Section> run(const LabContext& lab) {
  const Source source = measure_source(lab);
  const Forms forms = train_all(lab);
  return {exchange_section(lab), equal_section(lab, source, forms), guiding_section(lab, forms),
          source_section(source)};
}

}  // namespace

Lab key_value_lab() {
  return {.name = "key-value",
          .question = "Must keys and values be related, or even equal?",
          .control = "keys are shuffled against their values in every training",
          .duration = "4 s",
          .options = {{"n", "8", "items", 2, 32},
                      {"d", "8", "numbers of a label, and of what it says", 2, 32},
                      steps_option("300"),
                      seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
