// 更 ("more") and its: the words on which a sentence turns, before and after training.
#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"
#include "train/run/batch_loss.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

constexpr const char* kConfig = R"(
name = "more"
[data]
validation_examples = 200
[model]
num_layers = 2
d_model = 32
num_heads = 2
d_ff = 64
[optimizer]
learning_rate = 5e-3
[train]
batch_size = 32
)";

Config config_of(const LabContext& lab, const std::string& task, uint64_t seed) {
  std::vector<std::string> settings = {absl::StrCat("data.task=", task),
                                       absl::StrCat("seed=", seed),
                                       absl::StrCat("train.steps=", lab.integer("steps"))};
  if (lab.is_control()) settings.emplace_back("attention.window=1");
  return lab_config(kConfig, settings);
}

// Where a question has what matters in it.
struct Places {
  int64_t word = 0;   // on which the sentence turns
  int64_t next = 0;   // after it
  int64_t meant = 0;  // noun, and the other
  int64_t other = 0;
  int64_t asked = 0;  // "=", where the answer is told
};

// Of 更 there is one. A possessive comes after the second noun and ", but".
Places places_of(const Dataset& data, const Example& example) {
  Places places = {.asked = std::ssize(example.prompt) - 1};
  for (int64_t i = 0; i < std::ssize(example.prompt); ++i) {
    const int64_t token = example.prompt[static_cast<size_t>(i)];
    const std::string& text = data.vocabulary().texts()[static_cast<size_t>(token)];
    if (text == "更") places.word = i;
    if (text == "but") {
      places.word = i + 1;
      places.other = i - 2;
    }
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
  Gradients of_loss;  // for what is embedded
  Gradients of_word;  // the same, of a random sum over the last vector of the word
};

Walk walk_of(const Model& model, const Dataset& data) {
  constexpr int64_t kExamples = 100;
  Walk walk;
  for (int64_t i = 0; i < kExamples; ++i) {
    walk.places.push_back(places_of(data, data.validation_example(i)));
  }
  ForwardContext context{.trace = &walk.trace};
  const BatchLoss out = batch_loss(model, data.validation_batch(0, kExamples), {}, context);
  const Tensor embedded = walk.trace["embedded"], vectors = walk.trace["blocks.1.output"];
  walk.of_loss = backward(out.loss, {.keep_graph = true, .keep = {embedded}});
  RandomStream random(1);
  std::vector<double> pushed(static_cast<size_t>(vectors.size()));
  for (int64_t b = 0; b < kExamples; ++b) {
    const auto begin =
        (b * vectors.dim(1) + walk.places[static_cast<size_t>(b)].word) * vectors.dim(2);
    for (int64_t c = 0; c < vectors.dim(2); ++c) {
      pushed[static_cast<size_t>(begin + c)] = random.normal();
    }
  }
  walk.of_word = backward(
      vectors,
      {.cotangent = Tensor(Array::of(vectors.shape(), DType::f32, pushed)), .keep = {embedded}});
  return walk;
}

// |dL/dx| of each token of each example.   [B, T]
std::vector<double> sizes_of(const Tensor& gradient) {
  return sqrt(sum(gradient * gradient, -1)).to_vector();
}

// The mean over the examples of what `of` says, which is given the example and its places.
double mean_over(const Walk& walk, const std::function<double(size_t, const Places&)>& of) {
  double total = 0;
  for (size_t b = 0; b < walk.places.size(); ++b) total += of(b, walk.places[b]);
  return total / static_cast<double>(walk.places.size());
}

// The weight that the word gets, beside the even share of what is seen: of "=", of the noun that is
// meant, or of the token after it, in the head that gives it most.
double weight_of_word(const Walk& walk) {
  double most = 0;
  for (const std::string& path : walk.trace.paths()) {
    if (!absl::EndsWith(path, "attention.weights")) continue;
    const Tensor& weights = walk.trace[path];  // [B, H, T, T]
    const int64_t heads = weights.dim(1), length = weights.dim(2);
    const std::vector<double> all = weights.to_vector();
    for (int64_t head = 0; head < heads; ++head) {
      for (const auto query : {&Places::next, &Places::meant, &Places::asked}) {
        most = std::max(
            most, mean_over(walk, [&](size_t b, const Places& places) {
              const int64_t q = places.*query;
              const int64_t row = ((static_cast<int64_t>(b) * heads + head) * length + q) * length;
              return all[static_cast<size_t>(row + places.word)] * static_cast<double>(q + 1);
            }));
      }
    }
  }
  return most;
}

int64_t answer_to(const Model& model, const std::vector<int64_t>& prompt) {
  const Array one = Array::of({1, std::ssize(prompt)}, prompt);
  const std::vector<double> logits = model.next_logits(one, Array(), nullptr).to_vector();
  return std::ranges::max_element(logits) - logits.begin();
}

// Of the sentences that say twice who likes something: the share in which the answer is another
// when the word is moved from behind the one "who" to behind the other.
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
  const Tensor gradient = walk.of_word[walk.trace["embedded"]];
  const std::vector<double> sizes = sizes_of(gradient);
  return mean_over(walk, [&](size_t b, const Places& places) {
    return sizes[b * static_cast<size_t>(gradient.dim(1)) + static_cast<size_t>(places.*place)];
  });
}

// One task over the seeds.
struct Measured {
  std::vector<double> right;  // of questions, after training
  std::vector<double> weight_before, weight;
  std::vector<double> follows_before, follows;       // answers, when the word is moved
  std::vector<double> to_meant, to_other, to_later;  // |d y_word / d x|
  Table of_one;                                      // the gradient token by token
};

Table table_of(const Walk& before, const Walk& after, const Dataset& data) {
  Table table = {.title = "|dL/dx| by token, in % of the question's: before and after training",
                 .header = {"token", "before", "after"},
                 .rows = {}};
  const Example example = data.validation_example(0);
  const auto share = [&](const Walk& walk, int64_t t) {
    const std::vector<double> sizes = sizes_of(walk.of_loss[walk.trace["embedded"]]);
    double total = 0;
    for (int64_t i = 0; i <= walk.places[0].asked; ++i) total += sizes[static_cast<size_t>(i)];
    return format_number(100 * sizes[static_cast<size_t>(t)] / total);
  };
  for (int64_t t = 0; t <= after.places[0].asked; ++t) {
    const auto token = static_cast<size_t>(example.prompt[static_cast<size_t>(t)]);
    table.rows.push_back({data.vocabulary().texts()[token], share(before, t), share(after, t)});
  }
  return table;
}

Measured measure(const LabContext& lab, const std::string& task) {
  Measured m;
  for (const uint64_t seed : lab.seeds()) {
    const Config config = config_of(lab, task, seed);
    const Trained trained = train_or_reuse(lab, config);
    const Dataset& data = *trained.data;
    const Model first = make_model(config, data.shape());
    const Walk before = walk_of(first, data), after = walk_of(trained.model, data);
    m.right.push_back(trained.validation.sequence_accuracy);
    m.weight_before.push_back(weight_of_word(before));
    m.weight.push_back(weight_of_word(after));
    if (task == "preference") {
      m.follows_before.push_back(answers_that_follow(first, data, before));
      m.follows.push_back(answers_that_follow(trained.model, data, after));
    }
    m.to_meant.push_back(reach(after, &Places::meant));
    m.to_other.push_back(reach(after, &Places::other));
    m.to_later.push_back(reach(after, &Places::asked));
    if (m.of_one.rows.empty()) m.of_one = table_of(before, after, data);
  }
  return m;
}

Section meaning_section(const Measured& more) {
  const double worst = *std::ranges::min_element(more.right);
  return {
      .claims = {{"A3",
                  "对于人类显然知道这个人更喜欢打篮球,但对于深度学习或计算机来说,它没办法领会到"
                  "「更」的含义,因此没有办法知道这个结果。",
                  "To people it is clear that this person likes basketball more; but deep "
                  "learning, or a computer, cannot grasp what 更 means and so cannot know it."}},
      .formula = "我喜欢踢足球,但我更喜欢打篮球=篮",
      .prediction =
          "Asked which of two is liked more, a model is right in half of the sentences at most.",
      .findings = {found("unseen sentences that are right, the worst seed", "at most 0.5",
                         format_number(worst), worst <= 0.5)},
      .figures = {},
      .correction =
          "It cannot before it is trained. A small transformer learns from examples alone what "
          "更 does, wherever in the sentence it stands."};
}

Section importance_section(const Measured& more) {
  const double worst = *std::ranges::min_element(more.follows);
  return {.claims = {{"A3", "让它在句子中的重要性获得更大的占比",
                      "… so that 更 counts for more in the sentence."}},
          .formula = "我更喜欢踢足球,但我喜欢打篮球=足",
          .prediction =
              "After training the answer hangs on 更: moved from the one half to the other, and "
              "nothing else changed, it changes the answer. Before training it does not.",
          .findings = {found("answers that follow 更, the worst seed", "at least 0.9",
                             format_number(worst), worst >= 0.9),
                       larger("answers that follow 更, after and before training", more.follows,
                              more.follows_before)}};
}

Section weight_section(const Measured& more) {
  return {
      .claims = {{"A3", "所以我们在训练模型的时候,会大家「更」字的权重",
                  "So when we train a model we give 更 a larger weight."}},
      .formula = "P_i,更 (i + 1): 1 is the even share",
      .prediction =
          "Nobody sets the weight, training does. Before it 更 gets the even share; after it "
          "more, in the head that gives it most: of \"=\", of the noun, or of the token after.",
      .findings = {near("weight of 更 before training", 1, more.weight_before, 0.1),
                   larger("weight of 更, after and before training", more.weight,
                          more.weight_before)},
      .figures = {more.of_one},
      .correction =
          "What counts need not be looked at much: that a half of the sentence has no 更 tells as "
          "much as that the other has it."};
}

// The largest |d y_its / d x| at another token, in a model whose tokens see none but themselves.
double reach_without_attention(const LabContext& lab) {
  Config config = config_of(lab, "reference", 1);
  config.model.mixer = MixerKind::kConvolution;
  config.model.kernel = 1;
  config.model.attention.window = 0;
  const auto data = make_dataset(config);
  const Walk walk = walk_of(make_model(config, (*data)->shape()), **data);
  return std::max(reach(walk, &Places::meant), reach(walk, &Places::other));
}

Section its_section(const LabContext& lab, const Measured& its) {
  const double smallest =
      std::min(*std::ranges::min_element(its.to_meant), *std::ranges::min_element(its.to_other));
  return {
      .claims = {{"B98", "不做注意力，its 的词向量就是单纯的 its，没有任何附加信息",
                  "Without attention the vector of \"its\" is its and nothing more."},
                 {"B100",
                  "在做了attention的操作之后，its 有了 law 这层意思（当然其实是包含了一整句话甚至是"
                  "一整段文章的信息",
                  "After attention \"its\" also has the meaning of law (in fact it holds what "
                  "is in the whole sentence, or even a whole passage)."}},
      .formula = "|dy_its / dx_j|",
      .prediction = "Without attention no other token reaches the vector of its; with it all do.",
      .findings = {exact("|dy_its / dx| at both nouns, without attention", 0,
                         reach_without_attention(lab), 0),
                   found("with it, the smaller of both, the worst seed", "above 0",
                         format_number(smallest), smallest > 0),
                   beyond(found("|dy_its / dx| at \"=\", after it", "above 0",
                                format_number(mean_of(its.to_later)), mean_of(its.to_later) > 0))},
      .figures = {its.of_one},
      .condition = "what it reads stands before it, as the model is causal"};
}

Section law_section(const Measured& its) {
  const double worst = *std::ranges::min_element(its.right);
  return {
      .claims = {{"B100", "its 有了 law 这层意思", "\"its\" also has the meaning of law."}},
      .formula = "|dy_its / dx_law| beside |dy_its / dx_other|",
      .prediction =
          "Trained to say whose, the model puts into the vector of its the noun that it "
          "stands for, more than the other one.",
      .findings = {found("unseen sentences that are right, the worst seed", "at least 0.9",
                         format_number(worst), worst >= 0.9),
                   larger("law and the other noun, after training", its.to_meant, its.to_other)},
      .figures = {},
      .correction =
          "The model need not do it there: the answer is asked for at the end, and \"=\" can "
          "read its and both nouns itself."};
}

std::vector<Section> run(const LabContext& lab) {
  const Measured more = measure(lab, "preference"), its = measure(lab, "reference");
  return {meaning_section(more), importance_section(more), weight_section(more),
          its_section(lab, its), law_section(its)};
}

}  // namespace

Lab more_lab() {
  return {.name = "more",
          .question = "更, its: does a model learn which word a sentence turns on?",
          .control = "a token sees no other but the one before it",
          .duration = "15 s",
          .options = {steps_option("600"), seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
