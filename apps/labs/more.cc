// 更 ("more"): the word on which a sentence turns, before and after training.
#include <set>

#include "apps/labs/kit.h"
#include "apps/labs/sections.h"
#include "apps/labs/trained.h"

namespace qkv {
namespace {

// A sentence that says twice who likes something: nothing but the one 更 tells what is liked more.
struct Question {
  std::vector<int64_t> tokens;
  int64_t word = 0, next = 0;    // where 更 stands, and what comes after it
  int64_t meant = 0, other = 0;  // where the nouns stand
  int64_t asked = 0;             // "=", where the answer is told
  size_t row = 0;                // in its batch
  std::vector<int64_t> moved;    // the same with 更 in the other half

  int64_t answer() const { return tokens[static_cast<size_t>(meant)]; }
};

constexpr int64_t kExamples = 100;

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
  for (size_t row = 0; row < examples.size(); ++row) {
    Question question = {.tokens = examples[row].prompt, .row = row, .moved = {}};
    const std::vector<int64_t>& tokens = question.tokens;
    question.asked = std::ssize(tokens) - 1;
    question.word = std::ranges::find(tokens, more) - tokens.begin();
    question.next = question.word + 1;
    for (int64_t t = 0; t < question.asked; ++t) {
      const int64_t token = tokens[static_cast<size_t>(t)];
      if (token == examples[row].answer[0]) {
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
  const Samples logits = model.next_logits(one, Array(), nullptr).to_vector();
  return std::ranges::max_element(logits) - logits.begin();
}

// Where 更 gets more weight than anywhere else: of which query, in which head.
struct Look {
  double weight = 0;  // beside the even share of what the query sees
  size_t layer = 0;
  int64_t head = 0;
  int64_t Question::*query = nullptr;
};

// The tokens that look: "=", the nouns, and the token after 更.
Look look_of(const Trace& trace, const std::vector<Question>& questions) {
  Look look;
  const std::vector<Tensor> layers = attention_weights_in(trace);
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const int64_t heads = layers[layer].dim(1), length = layers[layer].dim(2);
    const Samples all = layers[layer].to_vector();
    for (int64_t head = 0; head < heads; ++head) {
      for (const auto query :
           {&Question::asked, &Question::meant, &Question::other, &Question::next}) {
        // A query before 更 does not see it.
        double total = 0, count = 0;
        for (const Question& question : questions) {
          const int64_t q = question.*query;
          if (q < question.word) continue;
          const int64_t row = (static_cast<int64_t>(question.row) * heads + head) * length + q;
          total +=
              all[static_cast<size_t>(row * length + question.word)] * static_cast<double>(q + 1);
          ++count;
        }
        if (total / count > look.weight) look = {total / count, layer, head, query};
      }
    }
  }
  return look;
}

// What one query of the first question looks at in one head.
Arcs arcs_of(const Text& title, const Trace& trace, const Question& question, const Look& look,
             const Dataset& data) {
  const Tensor layer = attention_weights_in(trace)[look.layer];
  const int64_t length = layer.dim(2), heads = layer.dim(1);
  const Samples all = layer.to_vector();
  Arcs arcs = {.title = title};
  for (int64_t q = 0; q <= question.asked; ++q) {
    const int64_t token = question.tokens[static_cast<size_t>(q)];
    arcs.queries.emplace_back(data.vocabulary().texts()[static_cast<size_t>(token)]);
    const int64_t row = (static_cast<int64_t>(question.row) * heads + look.head) * length + q;
    for (int64_t key = 0; key <= question.asked; ++key) {
      const double weight = all[static_cast<size_t>(row * length + key)];
      arcs.weights.push_back(q == question.*look.query ? weight : 0);
    }
  }
  arcs.keys = arcs.queries;
  return arcs;
}

// Over the seeds.
struct Measured {
  Samples named, right;             // answers: one of both nouns; the one that is meant
  Samples follows_before, follows;  // when 更 is moved, the answers that change
  Samples weight_before, weight;
  std::vector<Figure> figures;
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
  for (const Trained& trained : train_over_seeds(lab, settings)) {
    const Dataset& data = *trained.data;
    const std::vector<Question> questions = questions_of(data);
    const Model first = untrained(trained);
    const Batch batch = data.validation_batch(0, kExamples);
    const Trace before = trace_loss(first, batch).trace;
    const Trace after = trace_loss(trained.model, batch).trace;
    const Look look = look_of(after, questions);
    m.weight_before.push_back(look_of(before, questions).weight);
    m.weight.push_back(look.weight);
    m.named.push_back(mean_over(questions, [&](const Question& question) {
      const int64_t answer = answer_to(trained.model, question.tokens);
      const int64_t other = question.tokens[static_cast<size_t>(question.other)];
      return answer == question.answer() || answer == other ? 1.0 : 0.0;
    }));
    m.right.push_back(mean_over(questions, [&](const Question& question) {
      return answer_to(trained.model, question.tokens) == question.answer() ? 1.0 : 0.0;
    }));
    m.follows_before.push_back(share_that_follows(first, questions));
    m.follows.push_back(share_that_follows(trained.model, questions));
    if (!m.figures.empty()) continue;
    const Question& shown = questions.front();
    m.figures = {arcs_of(say("One head after training"), after, shown, look, data),
                 arcs_of(say("The same head before training"), before, shown, look, data)};
  }
  return m;
}

// A model that names one of both nouns has learned what is asked for.
Finding learned(const Measured& m) {
  return premise(at_least(say("answers that are one of the two nouns"), 0.9, m.named));
}

std::vector<Section> run(const LabContext& lab) {
  const Measured m = measure(lab);
  std::vector<Section> sections = {
      make_section("more.meaning",
                   {learned(m), named("right", at_most(say("answers that are right, where only 更 "
                                                           "tells"),
                                                       0.5, m.right))}),
      make_section("more.importance",
                   {learned(m), larger(say("answers that change when 更 is moved, after and before "
                                           "training"),
                                       m.follows, m.follows_before)}),
      make_section("more.weight",
                   {learned(m),
                    named("weight", larger(say("weight of 更, after and before training"), m.weight,
                                           m.weight_before)),
                    near(say("weight of 更 before training"), 1, m.weight_before, 0.1)},
                   m.figures)};
  for (Section& section : its_sections(lab)) sections.push_back(std::move(section));
  return sections;
}

}  // namespace

Lab more_lab() { return make_lab("more", run); }

}  // namespace qkv
