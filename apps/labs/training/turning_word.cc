// 更 ("more"): the word on which a sentence turns, before and after training.
#include <set>

#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/core/sure.h"
#include "framework/kernels/product/product_log.h"
#include "framework/nn/layers.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

constexpr int64_t kExamples = 100;

// its: what the vector of a word takes in of the noun that it stands for, read in both directions.

// Where a sentence has what matters in it; "=" ends it.
struct Places {
  int64_t its = 0, meant = 0, other = 0, end = 0;
};

// Sentences, and at each "its" the noun that it stands for as the target.
struct Asked {
  Batch batch;
  std::vector<Places> places;
};

// A possessive comes after the second noun and ", but". Behind "=" stands the answer.
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

// The results of one model.
struct Reading {
  Traced traced;
  Samples reach;  // |d y_its / d x| of each word   [B, T]
  size_t length = 0;

  double reach_of(const Asked& asked, int64_t Places::*place) const {
    return mean_over(asked, [&](size_t b, const Places& places) {
      return reach[b * length + static_cast<size_t>(places.*place)];
    });
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

// A head of attention, and what its query "its" gives one of the nouns in it.
struct Head {
  int64_t layer = 0, number = 0;
  double weight = 0;
};

// The one that gives most to that noun. The largest of several weights is large by chance: it
// compares with the largest to the other noun, whichever head that is of.
Head best_head(const Reading& reading, const Asked& asked, int64_t Places::*noun) {
  Head best;
  const std::vector<Tensor> layers = attention_weights_in(reading.traced.trace);
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const Samples all = layers[layer].to_vector();
    const int64_t heads = layers[layer].dim(1), length = layers[layer].dim(2);
    for (int64_t head = 0; head < heads; ++head) {
      const double weight = mean_over(asked, [&](size_t b, const Places& places) {
        const int64_t row = (static_cast<int64_t>(b) * heads + head) * length + places.its;
        return all[static_cast<size_t>(row * length + places.*noun)];
      });
      if (weight > best.weight) best = {static_cast<int64_t>(layer), head, weight};
    }
  }
  return best;
}

// The attention of "its" in the first sentence, in a head.
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
  const auto given = places_of_largest(run_module(model, std::span<const Tensor>(inputs)));
  return mean_over(asked, [&](size_t b, const Places& places) {
    const size_t at = b * reading.length + static_cast<size_t>(places.its);
    return given[at] == asked.batch.targets.data<int64_t>()[at] ? 1.0 : 0.0;
  });
}

// Over the seeds.
struct ItsMeasured {
  Samples right, to_meant, to_other;
  Samples weight, weight_of_other, weight_before;
  Losses losses;
  std::vector<Figure> figures;
};

void measure_one(const LabContext& lab, uint64_t seed, ItsMeasured& m) {
  std::vector<std::string> settings = {"data.task=reference", "attention.causal=false"};
  if (lab.is_control()) settings.emplace_back("attention.window=1");
  const Config config = lab_config(lab, seed, settings);
  const std::shared_ptr<const Dataset> data = sure(make_dataset(config));
  const auto ask = [&](const Batch& batch) { return ask_at_its(*data, batch); };
  const Asked asked = ask(data->validation_batch(0, kExamples));
  const Model model = make_model(config, data->shape());
  const Reading before = read(model, asked);
  m.weight_before.push_back(best_head(before, asked, &Places::meant).weight);
  lab.say(absl::StrCat("its, seed ", seed));
  const auto loss_of_step = [&](uint64_t step) {
    const auto index = static_cast<int64_t>(step);
    const Asked some = ask(data->training_batch(index, config.train.batch_size));
    ForwardContext context;
    return batch_loss(model, some.batch, {}, context).loss;
  };
  m.losses.push_back(train_with_adam(parameters(model), config.train.steps, loss_of_step,
                                     config.optimizer.learning_rate));
  const Reading after = read(model, asked);
  const Head head = best_head(after, asked, &Places::meant);
  m.right.push_back(share_right(after, asked, model));
  m.to_meant.push_back(after.reach_of(asked, &Places::meant));
  m.to_other.push_back(after.reach_of(asked, &Places::other));
  m.weight.push_back(head.weight);
  m.weight_of_other.push_back(best_head(after, asked, &Places::other).weight);
  if (!m.figures.empty()) return;
  m.figures = {arcs_of(say("What its looks at after training"), after, asked, *data, head),
               arcs_of(say("What its looks at before training"), before, asked, *data, head)};
}

// The share of the pairs of tokens in the operations of a block of attention and feed-forward.
double share_of_pairs(int64_t n, int64_t d) {
  Initializer init(RandomStream(1), DType::f64);
  const MultiHeadAttention layer = attention_layer(init, d, 1);
  const auto map = [&](int64_t from, int64_t to) { return Linear(init, from, to, false, 1); };
  const FeedForward feed = {.up = map(d, 4 * d), .down = map(4 * d, d), .dropout = {}};
  const Tensor x = random_normal(RandomStream(1), {1, n, d});
  const kernels::ProductLog all;
  run_module(feed, run_module(layer, x, AttentionMask{}));
  const double total = all.flops();
  attention(one_head(x), one_head(x), one_head(x));
  return (all.flops() - total) / total;
}

Section scope_section(const LabContext& lab) {
  constexpr int64_t kSmaller = 8, kWidth = 768 / kSmaller, kPassage = 512 / kSmaller;
  const int64_t length = lab.breaks("long") ? 12 * kWidth : kPassage;
  Section section = make_section(
      "more.scope", {named("passage", above(say("share of the pairs, 512 tokens of 768 numbers"),
                                            0.5, share_of_pairs(length, kWidth)))});
  // The share depends on n / d alone: it is counted of sizes that are divided by 64.
  add_map(section, "map",
          {.title = say("Comparing all pairs of n tokens of d numbers takes most of a block"),
           .x_name = "n",
           .y_name = "d",
           .x = {32, 128, 512, 2048, 8192, 32768},
           .y = {256, 768, 1024, 4096},
           .at = [](double n, double d) {
             constexpr double kScale = 64;
             return above(
                 "", 0.5,
                 share_of_pairs(std::llround(std::max(1.0, n / kScale)), std::llround(d / kScale)));
           }});
  return section;
}

Section law_section(const LabContext& lab) {
  ItsMeasured m;
  for (const uint64_t seed : lab.seeds()) measure_one(lab, seed, m);
  Section section = make_section(
      "more.law",
      {premise(at_least(say("right at its, of unseen sentences"), 0.9, m.right)),
       larger(say("|dy/dx| of its, at its noun and at the other"), m.to_meant, m.to_other),
       larger(say("weight in the best head of each, of its noun and of the other"), m.weight,
              m.weight_of_other),
       larger(say("weight of its noun, after and before training"), m.weight, m.weight_before)},
      m.figures);
  add_settled(section, {m.losses});
  return section;
}

// A sentence that says twice who likes something: nothing but the one 更 says which is liked more.
struct Question {
  std::vector<int64_t> tokens;
  int64_t word = 0;              // where 更 stands
  int64_t meant = 0, other = 0;  // where the nouns stand
  int64_t asked = 0;             // "=", before the answer
  std::vector<int64_t> moved;    // the same with 更 in the other half

  int64_t answer() const { return tokens[static_cast<size_t>(meant)]; }
};

std::vector<Question> questions_of(const Dataset& data) {
  const std::vector<std::string>& texts = data.vocabulary().texts();
  const auto more = std::ranges::find(texts, "更") - texts.begin();
  std::vector<Example> examples;
  std::set<int64_t> nouns;
  for (int64_t i = 0; i < kExamples; ++i) {
    examples.push_back(data.validation_example(i));
    nouns.insert(examples.back().answer[0]);
  }
  std::vector<Question> questions;
  for (const Example& example : examples) {
    Question question = {.tokens = example.prompt, .moved = {}};
    const std::vector<int64_t>& tokens = question.tokens;
    question.asked = std::ssize(tokens) - 1;
    question.word = std::ranges::find(tokens, more) - tokens.begin();
    for (int64_t t = 0; t < question.asked; ++t) {
      const int64_t token = tokens[static_cast<size_t>(t)];
      if (token == example.answer[0]) {
        question.meant = t;
      } else if (nouns.contains(token)) {
        question.other = t;
      }
    }
    // 更 comes after the one who; without it both say who.
    std::vector<int64_t> rest = tokens;
    rest.erase(rest.begin() + question.word);
    const int64_t who = rest[static_cast<size_t>(question.word - 1)];
    const auto first = std::ranges::find(rest, who), second = std::find(first + 1, rest.end(), who);
    if (second == rest.end()) continue;
    const bool was_first = first + 1 == rest.begin() + question.word;
    rest.insert((was_first ? second : first) + 1, more);
    question.moved = rest;
    questions.push_back(std::move(question));
  }
  return questions;
}

// The mean over the questions of what `number` says.
double mean_over(const std::vector<Question>& questions,
                 const std::function<double(const Question&)>& number) {
  return mean_of(values_of(questions, number));
}

int64_t answer_to(const Model& model, const std::vector<int64_t>& prompt) {
  const Array one = Array::of({1, std::ssize(prompt)}, prompt);
  return places_of_largest(model.next_logits(one, Array(), nullptr)).front();
}

// Over the seeds.
struct Measured {
  Samples named;                    // answers that are one of both nouns
  Samples follows_before, follows;  // when 更 is moved, the answers that change
  Losses losses;
};

double share_that_follows(const Model& model, const std::vector<Question>& questions) {
  return mean_over(questions, [&](const Question& question) {
    return answer_to(model, question.moved) != answer_to(model, question.tokens) ? 1.0 : 0.0;
  });
}

Measured measure(const LabContext& lab) {
  Measured m;
  std::vector<std::string> settings = {"data.task=preference"};
  if (lab.is_control()) settings.emplace_back("attention.window=1");
  const std::vector<Trained> models = train_over_seeds(lab, settings);
  m.losses = training_losses_of(models);
  for (const Trained& trained : models) {
    const Dataset& data = *trained.data;
    const std::vector<Question> questions = questions_of(data);
    const Model first = untrained(trained);
    m.named.push_back(mean_over(questions, [&](const Question& question) {
      const int64_t answer = answer_to(trained.model, question.tokens);
      const int64_t other = question.tokens[static_cast<size_t>(question.other)];
      return answer == question.answer() || answer == other ? 1.0 : 0.0;
    }));
    m.follows_before.push_back(share_that_follows(first, questions));
    m.follows.push_back(share_that_follows(trained.model, questions));
  }
  return m;
}

Section importance_section(const Measured& m) {
  // A model that names one of both nouns has learned the question.
  Section section =
      make_section("more.importance",
                   {premise(at_least(say("answers that are one of the two nouns"), 0.9, m.named)),
                    larger(say("answers that change when 更 is moved, after and before training"),
                           m.follows, m.follows_before)});
  add_settled(section, {m.losses});
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {importance_section(measure(lab)), law_section(lab), scope_section(lab)};
}

}  // namespace

Lab more_lab() { return make_lab("more", run); }

}  // namespace qkv
