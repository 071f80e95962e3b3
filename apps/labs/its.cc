// its: what the vector of a word takes in of the noun that it stands for, read in both directions.
#include "apps/labs/kit.h"
#include "apps/labs/sections.h"
#include "apps/labs/trained.h"
#include "framework/core/sure.h"
#include "framework/kernels/product_log.h"
#include "framework/nn/feed_forward.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

constexpr int64_t kExamples = 100;

// Where a sentence has what matters in it; "=" ends it.
struct Places {
  int64_t its = 0, meant = 0, other = 0, end = 0;
};

// Sentences, and at each "its" the noun that it stands for as what is asked.
struct Asked {
  Batch batch;
  std::vector<Places> places;
};

// A possessive comes after the second noun and ", but". Behind "=" the answer would be told.
Asked ask_at_its(const Dataset& data, Batch batch) {
  const std::vector<std::string>& texts = data.vocabulary().texts();
  const auto but = std::ranges::find(texts, "but") - texts.begin();
  Asked asked = {.batch = std::move(batch), .places = {}};
  Array& inputs = asked.batch.inputs[0];
  const int64_t length = inputs.shape()[1];
  for (int64_t row = 0; row < asked.batch.rows(); ++row) {
    int64_t* const tokens = inputs.mutable_data<int64_t>() + row * length;
    int64_t* const targets = asked.batch.targets.mutable_data<int64_t>() + row * length;
    Places places;
    while (targets[places.end] == kIgnoredTarget) ++places.end;
    const int64_t answer = std::exchange(targets[places.end], kIgnoredTarget);
    std::fill(tokens + places.end, tokens + length, tokens[places.end]);
    places.its = std::find(tokens, tokens + length, but) - tokens + 1;
    places.meant = std::find(tokens, tokens + length, answer) - tokens;
    places.other = places.meant == 1 ? places.its - 3 : 1;  // the noun, the comma, but, its
    targets[places.its] = answer;
    asked.places.push_back(places);
  }
  return asked;
}

// The mean over the sentences of what `number` says.
double mean_over(const Asked& asked, const std::function<double(size_t, const Places&)>& number) {
  double total = 0;
  for (size_t b = 0; b < asked.places.size(); ++b) total += number(b, asked.places[b]);
  return total / static_cast<double>(asked.places.size());
}

// What one model makes of them.
struct Reading {
  Traced traced;
  Samples reach;  // |d y_its / d x| of each word   [B, T]
  size_t length = 0;

  double reach_of(const Asked& asked, int64_t Places::*place) const {
    return mean_over(asked, [&](size_t b, const Places& places) {
      return reach[b * length + static_cast<size_t>(places.*place)];
    });
  }
  // The words counted are all but its.
  double smallest_reach(const Asked& asked) const {
    double smallest = std::numeric_limits<double>::infinity();
    for (size_t b = 0; b < asked.places.size(); ++b) {
      for (int64_t t = 0; t < asked.places[b].end; ++t) {
        if (t != asked.places[b].its) {
          smallest = std::min(smallest, reach[b * length + static_cast<size_t>(t)]);
        }
      }
    }
    return smallest;
  }
};

Reading read(const Model& model, const Asked& asked) {
  Reading reading = {.traced = trace_loss(model, asked.batch), .reach = {}};
  const Tensor embedded = reading.traced.trace["embedded"];
  const Tensor vectors = reading.traced.trace["blocks.1.output"];  // [B, T, C]
  const int64_t rows = vectors.dim(0), length = vectors.dim(1), width = vectors.dim(2);
  const Tensor its = tokens_of(each_of(asked.places, [](const Places& p) { return p.its; }));
  const Tensor at_its = reshape(one_hot(its, length), {rows, length, 1});
  const Tensor pushed = cast(random_normal(RandomStream(1), {rows, 1, width}), DType::f32);
  const Gradients gradients = backward(vectors, {.cotangent = at_its * pushed, .keep = {embedded}});
  reading.reach = lengths_of_rows(gradients[embedded]).to_vector();
  reading.length = static_cast<size_t>(length);
  return reading;
}

// A head of attention, and what its query "its" gives both nouns in it.
struct Head {
  int64_t layer = 0, number = 0;
  double to_meant = 0, to_other = 0;
};

// The one that gives most to the noun that is meant.
Head best_head(const Reading& reading, const Asked& asked) {
  Head best;
  const std::vector<Tensor> layers = attention_weights_in(reading.traced.trace);
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const Samples all = layers[layer].to_vector();
    const int64_t heads = layers[layer].dim(1), length = layers[layer].dim(2);
    for (int64_t head = 0; head < heads; ++head) {
      const auto mean_to = [&](int64_t Places::*place) {
        return mean_over(asked, [&](size_t b, const Places& places) {
          const int64_t row = (static_cast<int64_t>(b) * heads + head) * length + places.its;
          return all[static_cast<size_t>(row * length + places.*place)];
        });
      };
      const double to_meant = mean_to(&Places::meant);
      if (to_meant <= best.to_meant) continue;
      best = {static_cast<int64_t>(layer), head, to_meant, mean_to(&Places::other)};
    }
  }
  return best;
}

// What "its" of the first sentence looks at in a head.
Arcs arcs_of(const Text& title, const Reading& reading, const Asked& asked, const Dataset& data,
             const Head& head) {
  const Places& places = asked.places.front();
  const auto layer = static_cast<size_t>(head.layer);
  const Samples weights = attention_weights_in(reading.traced.trace)[layer].to_vector();
  const auto length = static_cast<int64_t>(reading.length);
  Arcs arcs = {.title = title};
  for (int64_t t = 0; t < places.end; ++t) {
    const int64_t token = asked.batch.inputs[0].data<int64_t>()[t];
    arcs.queries.emplace_back(data.vocabulary().texts()[static_cast<size_t>(token)]);
    for (int64_t key = 0; key < places.end; ++key) {
      const auto at = static_cast<size_t>((head.number * length + t) * length + key);
      arcs.weights.push_back(t == places.its ? weights[at] : 0);
    }
  }
  arcs.keys = arcs.queries;
  return arcs;
}

double share_right(const Reading& reading, const Asked& asked, const Model& model) {
  const std::vector<Tensor> inputs = {Tensor(asked.batch.inputs[0])};
  const Samples logits = run_module(model, std::span<const Tensor>(inputs)).to_vector();
  const auto classes = std::ssize(logits) / std::ssize(reading.reach);
  return mean_over(asked, [&](size_t b, const Places& places) {
    const auto at = static_cast<int64_t>(b * reading.length) + places.its;
    const auto first = logits.begin() + at * classes;
    const int64_t answer = asked.batch.targets.data<int64_t>()[at];
    return std::max_element(first, first + classes) - first == answer ? 1.0 : 0.0;
  });
}

// Over the seeds.
struct Measured {
  Samples right, to_meant, to_other, smallest;
  Samples weight, weight_of_other, weight_before;
  double without = 0;  // the largest reach of a noun, where no token sees another
  std::vector<Figure> figures;
};

void measure_one(const LabContext& lab, uint64_t seed, Measured& m) {
  std::vector<std::string> settings = {"data.task=reference", "attention.causal=false"};
  if (lab.is_control()) settings.emplace_back("attention.window=1");
  const Config config = lab_config(lab, seed, settings);
  const std::shared_ptr<const Dataset> data = sure(make_dataset(config));
  const auto ask = [&](const Batch& batch) { return ask_at_its(*data, batch); };
  const Asked asked = ask(data->validation_batch(0, kExamples));
  const Model model = make_model(config, data->shape());
  const Reading before = read(model, asked);
  m.weight_before.push_back(best_head(before, asked).to_meant);
  lab.say(absl::StrCat("its, seed ", seed));
  train_with_adam(
      parameters(model), config.train.steps,
      [&](uint64_t step) {
        const auto index = static_cast<int64_t>(step);
        const Asked some = ask(data->training_batch(index, config.train.batch_size));
        ForwardContext context;
        return batch_loss(model, some.batch, {}, context).loss;
      },
      config.optimizer.learning_rate);
  const Reading after = read(model, asked);
  const Head head = best_head(after, asked);
  m.right.push_back(share_right(after, asked, model));
  m.to_meant.push_back(after.reach_of(asked, &Places::meant));
  m.to_other.push_back(after.reach_of(asked, &Places::other));
  m.smallest.push_back(after.smallest_reach(asked));
  m.weight.push_back(head.to_meant);
  m.weight_of_other.push_back(head.to_other);
  if (!m.figures.empty()) return;
  m.figures = {arcs_of(say("What its looks at after training"), after, asked, *data, head),
               arcs_of(say("What its looks at before training"), before, asked, *data, head)};
  Config alone = config;
  alone.model.mixer = "convolution";
  alone.model.kernel = 1;
  alone.model.attention.window = 0;
  const Reading each_alone = read(make_model(alone, data->shape()), asked);
  m.without = std::max(each_alone.reach_of(asked, &Places::meant),
                       each_alone.reach_of(asked, &Places::other));
}

// The share of the pairs of tokens in the operations of a block of attention and feed-forward.
double share_of_pairs(const LabContext& lab, int64_t n, int64_t d) {
  Initializer init(RandomStream(1), DType::f64);
  const MultiHeadAttention layer = attention_layer(init, d, 1);
  const auto map = [&](int64_t from, int64_t to) { return Linear(init, from, to, false, 1); };
  const FeedForward feed = {.up = map(d, 4 * d), .down = map(4 * d, d), .dropout = {}};
  const Tensor x = random_normal(RandomStream(1), {1, n, d});
  const AttentionMask mask = {.window = lab.is_control() ? 1 : 0};
  const kernels::ProductLog all;
  run_module(feed, run_module(layer, x, mask));
  const double total = all.flops();
  attention(one_head(x), one_head(x), one_head(x), {.mask = mask});
  return (all.flops() - total) / total;
}

Section scope_section(const LabContext& lab) {
  constexpr int64_t kSmaller = 8, kWidth = 768 / kSmaller, kPassage = 512 / kSmaller;
  return make_section(
      "more.scope",
      {above(say("share of the pairs, a text of 12 d tokens"), 0.5,
             share_of_pairs(lab, 12 * kWidth, kWidth)),
       beyond(named("passage", above(say("share of the pairs, 512 tokens of 768 numbers"), 0.5,
                                     share_of_pairs(lab, kPassage, kWidth))))});
}

}  // namespace

std::vector<Section> its_sections(const LabContext& lab) {
  Measured m;
  for (const uint64_t seed : lab.seeds()) measure_one(lab, seed, m);
  return {
      make_section(
          "more.its",
          {equal(say("without attention: |dy/dx| of its, at both nouns"), 0, m.without),
           above(say("with it: the smallest of any other word"), 0, least_of(m.smallest))}),
      make_section(
          "more.law",
          {premise(at_least(say("told right at its, of unseen sentences"), 0.9, m.right)),
           larger(say("|dy/dx| of its, at its noun and at the other"), m.to_meant, m.to_other),
           larger(say("weight in the best head, of its noun and of the other"), m.weight,
                  m.weight_of_other),
           larger(say("weight of its noun, after and before training"), m.weight, m.weight_before)},
          m.figures),
      scope_section(lab)};
}

}  // namespace qkv
