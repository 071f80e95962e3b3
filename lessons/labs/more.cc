// 更 ("more") and its: the words on which a sentence turns, before and after training.
#include "lessons/labs/kit.h"
#include "lessons/labs/trained.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

std::vector<Trained> train(const LabContext& lab, const std::string& task) {
  std::vector<std::string> settings = {absl::StrCat("data.task=", task)};
  if (lab.is_control()) settings.emplace_back("attention.window=1");
  return train_over_seeds(lab, settings);
}

// Where a question has what matters in it.
struct Places {
  int64_t word = 0;              // on which the sentence turns
  int64_t next = 0;              // after it
  int64_t meant = 0, other = 0;  // nouns
  int64_t asked = 0;             // "=", where the answer is told
};

// There is one 更. A possessive comes after the second noun and ", but".
Places places_of(const Dataset& data, const Example& example) {
  Places places = {.asked = std::ssize(example.prompt) - 1};
  for (int64_t i = 0; i < std::ssize(example.prompt); ++i) {
    const int64_t token = example.prompt[static_cast<size_t>(i)];
    const std::string& text = data.vocabulary().texts()[static_cast<size_t>(token)];
    if (text == "更") places.word = i;
    if (text == "but") places.word = i + 1, places.other = i - 2;
    if (token == example.answer[0]) places.meant = i;
  }
  if (places.other == places.meant) places.other = 1;
  places.next = places.word + 1;
  return places;
}

// Some validation examples, and what a model makes of them.
struct Walk {
  std::vector<Places> places;
  Trace trace;
  Gradients loss_gradients;  // for what is embedded
  Gradients word_gradients;  // the same, of a random sum over the last vector of the word
};

Walk walk_of(const Model& model, const Dataset& data) {
  constexpr int64_t kExamples = 100;
  Walk walk;
  for (int64_t i = 0; i < kExamples; ++i) {
    walk.places.push_back(places_of(data, data.validation_example(i)));
  }
  const Traced loss = trace_loss(model, data.validation_batch(0, kExamples));
  walk.trace = loss.trace;
  const Tensor embedded = walk.trace["embedded"], vectors = walk.trace["blocks.1.output"];
  walk.loss_gradients = backward(loss.result, {.keep_graph = true, .keep = {embedded}});
  const Tensor words =
      tokens_of(each_of(walk.places, [](const Places& places) { return places.word; }));
  const Tensor at_word = reshape(one_hot(words, vectors.dim(1), DType::f32), {kExamples, -1, 1});
  const Tensor pushed = random_normal(RandomStream(1), {kExamples, 1, vectors.dim(2)});
  walk.word_gradients =
      backward(vectors, {.cotangent = at_word * cast(pushed, DType::f32), .keep = {embedded}});
  return walk;
}

// The mean over the examples of what `number` says, which is given the example and its places.
double mean_over(const Walk& walk, const std::function<double(size_t, const Places&)>& number) {
  double total = 0;
  for (size_t b = 0; b < walk.places.size(); ++b) total += number(b, walk.places[b]);
  return total / static_cast<double>(walk.places.size());
}

// The weight that the word gets, beside the even share of what is seen: of "=", of the noun that is
// meant, or of the token after it, in the head that gives it most.
double weight_of_word(const Walk& walk) {
  double largest = 0;
  for (const Tensor& weights : attention_weights_in(walk.trace)) {
    const int64_t heads = weights.dim(1), length = weights.dim(2);
    const Samples all = weights.to_vector();
    for (int64_t head = 0; head < heads; ++head) {
      for (const auto query : {&Places::next, &Places::meant, &Places::asked}) {
        largest = std::max(
            largest, mean_over(walk, [&](size_t b, const Places& places) {
              const int64_t q = places.*query;
              const int64_t row = ((static_cast<int64_t>(b) * heads + head) * length + q) * length;
              return all[static_cast<size_t>(row + places.word)] * static_cast<double>(q + 1);
            }));
      }
    }
  }
  return largest;
}

int64_t answer_to(const Model& model, const std::vector<int64_t>& prompt) {
  const Array one = Array::of({1, std::ssize(prompt)}, prompt);
  const Samples logits = model.next_logits(one, Array(), nullptr).to_vector();
  return std::ranges::max_element(logits) - logits.begin();
}

// The share of the sentences that say twice who likes something in which the answer changes when
// the word is moved from behind the one "who" to behind the other.
double answers_that_follow(const Model& model, const Dataset& data, const Walk& walk) {
  double followed = 0, moved = 0;
  for (size_t b = 0; b < walk.places.size(); ++b) {
    std::vector<int64_t> tokens = data.validation_example(static_cast<int64_t>(b)).prompt;
    const int64_t before = answer_to(model, tokens);
    const auto word = tokens.begin() + walk.places[b].word;
    const int64_t who = *(word - 1), token = *word;
    tokens.erase(word);
    const auto first = std::ranges::find(tokens, who);
    const auto second = std::find(first + 1, tokens.end(), who);
    if (second == tokens.end()) continue;
    const bool was_first = first + 1 == tokens.begin() + walk.places[b].word;
    tokens.insert((was_first ? second : first) + 1, token);
    ++moved;
    followed += answer_to(model, tokens) != before ? 1 : 0;
  }
  return followed / moved;
}

// |d y_word / d x| at one place and at another, on the mean.
double reach(const Walk& walk, int64_t Places::*place) {
  const Tensor gradient = walk.word_gradients[walk.trace["embedded"]];
  const Samples sizes = lengths_of_rows(gradient).to_vector();
  return mean_over(walk, [&](size_t b, const Places& places) {
    return sizes[b * static_cast<size_t>(gradient.dim(1)) + static_cast<size_t>(places.*place)];
  });
}

// One task over the seeds.
struct Measured {
  Samples right;  // of questions, after training
  Samples weight_before, weight;
  Samples follows_before, follows;       // answers, when the word is moved
  Samples to_meant, to_other, to_later;  // |d y_word / d x|
  Table gradient_table;                  // the gradient token by token
  Config config;
};

Table table_of(const Walk& before, const Walk& after, const Dataset& data) {
  const std::vector<int64_t> tokens = data.validation_example(0).prompt;
  Table table = {.title = "|dL/dx| by token, in % of the question's: before and after training",
                 .header = {"token", "before", "after"}};
  const auto share = [&](const Walk& walk, size_t t) {
    Samples sizes = lengths_of_rows(walk.loss_gradients[walk.trace["embedded"]]).to_vector();
    sizes.resize(tokens.size());  // of the question
    return format_number(100 * sizes[t] / std::accumulate(sizes.begin(), sizes.end(), 0.0));
  };
  for (size_t t = 0; t < tokens.size(); ++t) {
    const std::string& text = data.vocabulary().texts()[static_cast<size_t>(tokens[t])];
    table.rows.push_back({text, share(before, t), share(after, t)});
  }
  return table;
}

Measured measure(const LabContext& lab, const std::string& task) {
  Measured m;
  const std::vector<Trained> models = train(lab, task);
  m.right = right_sequences_of(models);
  m.config = models[0].config;
  for (const Trained& trained : models) {
    const Dataset& data = *trained.data;
    const Model first = untrained(trained);
    const Walk before = walk_of(first, data), after = walk_of(trained.model, data);
    m.weight_before.push_back(weight_of_word(before));
    m.weight.push_back(weight_of_word(after));
    if (task == "preference") {
      m.follows_before.push_back(answers_that_follow(first, data, before));
      m.follows.push_back(answers_that_follow(trained.model, data, after));
    }
    m.to_meant.push_back(reach(after, &Places::meant));
    m.to_other.push_back(reach(after, &Places::other));
    m.to_later.push_back(reach(after, &Places::asked));
    if (m.gradient_table.rows.empty()) m.gradient_table = table_of(before, after, data);
  }
  return m;
}

Section meaning_section(const Measured& more) {
  return make_section("more.meaning", {at_most("unseen sentences that are right, the worst seed",
                                               0.5, least_of(more.right))});
}

Section importance_section(const Measured& more) {
  return make_section(
      "more.importance",
      {at_least("answers that follow 更, the worst seed", 0.9, least_of(more.follows)),
       larger("answers that follow 更, after and before training", more.follows,
              more.follows_before)});
}

Section weight_section(const Measured& more) {
  return make_section(
      "more.weight",
      {near("weight of 更 before training", 1, more.weight_before, 0.1),
       larger("weight of 更, after and before training", more.weight, more.weight_before)},
      {more.gradient_table});
}

// The largest |d y_its / d x| at another token, in a model whose tokens see none but themselves.
double reach_without_attention(Config config) {
  config.model.mixer = "convolution";
  config.model.kernel = 1;
  config.model.attention.window = 0;
  const auto data = make_dataset(config);
  const Walk walk = walk_of(make_model(config, (*data)->shape()), **data);
  return std::max(reach(walk, &Places::meant), reach(walk, &Places::other));
}

Section its_section(const Measured& its) {
  return make_section("more.its",
                      {equal("|dy_its / dx| at both nouns, without attention", 0,
                             reach_without_attention(its.config)),
                       above("with it, the smaller of both, the worst seed", 0,
                             std::min(least_of(its.to_meant), least_of(its.to_other))),
                       beyond(above("|dy_its / dx| at \"=\", after it", 0, mean_of(its.to_later)))},
                      {its.gradient_table});
}

Section law_section(const Measured& its) {
  return make_section(
      "more.law",
      {at_least("unseen sentences that are right, the worst seed", 0.9, least_of(its.right)),
       larger("law and the other noun, after training", its.to_meant, its.to_other)});
}

std::vector<Section> run(const LabContext& lab) {
  const Measured more = measure(lab, "preference"), its = measure(lab, "reference");
  return {meaning_section(more), importance_section(more), weight_section(more), its_section(its),
          law_section(its)};
}

}  // namespace

Lab more_lab() { return make_lab("more", run); }

}  // namespace qkv
