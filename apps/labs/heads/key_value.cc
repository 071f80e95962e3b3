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

  Samples last() const { return values_of(losses, loss_at_end); }
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
  Section section =
      make_section("key-value.guiding",
                   {learned(lab, own), guided(moved, own), guided(random, own),
                    no_better_than_blind(lab, moved), no_better_than_blind(lab, random)},
                   {chart});
  add_settled(section, {own.losses, moved.losses, random.losses});
  return section;
}

Section equal_section(const LabContext& lab, const Forms& forms) {
  Section section =
      make_section("key-value.equal",
                   {learned(lab, forms.one), learned(lab, forms.own),
                    guided(forms.moved, forms.one), guided(forms.moved, forms.own)},
                   {line_chart(say("Mean square of the error, first seed"), say("step"),
                               say("error"), {forms.own.curve(), forms.one.curve()})});
  add_settled(section, {forms.one.losses, forms.own.losses, forms.moved.losses});
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  const Forms forms = train_all(lab);
  return {equal_section(lab, forms), guiding_section(lab, forms)};
}

}  // namespace

Lab key_value_lab() { return make_lab("key-value", run); }

}  // namespace qkv
