#include "train/generate/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/ops/ops.h"
#include "models/mixer_kind.h"
#include "train/config/config_fields.h"
#include "train/generate/continue_texts.h"

namespace qkv {
namespace {

const DataShape kData = {.vocabulary_size = 9, .max_length = 6, .source_length = 4};

struct Writer {
  std::string name;
  Config config;
};

Config small_config() {
  Config config;
  config.train.precision = Precision::kF64;
  config.model = {.num_layers = 2, .d_model = 8, .num_heads = 2, .d_ff = 12, .kernel = 2};
  return config;
}

// Every kind that writes x mask x position x mixer, and of attention every window x heads x
// projections x key and value heads that a config may choose.
std::vector<Writer> every_writer() {
  std::vector<Writer> all;
  const auto add = [&](const Config& config, std::string name) {
    if (find_clashes(config).empty()) all.push_back({std::move(name), config});
  };
  for (const char* kind : {"decoder", "encoder_decoder"}) {
    for (const bool causal : {true, false}) {
      for (const Named<Position>& position : kNames<Position>) {
        for (const MixerKind& mixer : mixer_kinds()) {
          Config config = small_config();
          ModelOptions& model = config.model;
          model.kind = kind;
          model.attention.causal = causal;
          model.position = position.value;
          model.mixer = mixer.name;
          const std::string name = absl::StrCat(kind, causal ? ", causal, " : ", not causal, ",
                                                position.name, ", ", std::string(mixer.name));
          if (mixer.name == "convolution" || mixer.name == "recurrence") {
            add(config, name);
            model.depthwise = true;
            model.cell = Cell::kRnn;
            add(config, name + ", depthwise or rnn");
            continue;
          }
          for (const int64_t window : {0, 1}) {
            model.attention.window = window;
            const std::string windowed = absl::StrCat(name, ", window ", window);
            if (mixer.name != "attention") {
              add(config, windowed);
              continue;
            }
            for (const Named<Heads>& heads : kNames<Heads>) {
              for (const Named<Projections>& projections : kNames<Projections>) {
                for (const int64_t key_heads : {0, 1}) {
                  model.attention.heads = heads.value;
                  model.attention.projections = projections.value;
                  model.attention.num_key_value_heads = key_heads;
                  add(config, absl::StrCat(windowed, ", ", heads.name, ", ", projections.name,
                                           ", key heads ", key_heads));
                }
              }
            }
          }
        }
      }
    }
  }
  return all;
}

Model model_of(const Config& config, uint64_t seed = 5) {
  // Large weights, so that what is wrong anywhere shows in the logits.
  Model model(config.model, kData, Initializer(RandomStream(seed), DType::f64));
  for (auto& [name, tensor] : parameters(model)) {
    Array numbers = tensor.array();
    double* x = numbers.mutable_data<double>();
    for (int64_t i = 0; i < numbers.size(); ++i) x[i] += 0.4 * std::sin(static_cast<double>(i));
  }
  return model;
}

Array array_of(const std::vector<Tokens>& rows) {
  Tokens all;
  for (const Tokens& row : rows) all.insert(all.end(), row.begin(), row.end());
  return Array::of({std::ssize(rows), std::ssize(rows.front())}, all);
}

// The logits of what follows the last token, by the model as training and evaluation run it.
std::vector<double> logits_after(const Model& model, const std::string& kind, const Tokens& prompt,
                                 const Tokens& written) {
  Tokens sequence = prompt;
  sequence.insert(sequence.end(), written.begin(), written.end());
  std::vector<Tensor> inputs;
  if (kind == "encoder_decoder") {
    inputs.emplace_back(array_of({prompt}));
    sequence.erase(sequence.begin(), sequence.begin() + std::ssize(prompt) - 1);
  }
  inputs.emplace_back(array_of({sequence}));
  ForwardContext context;
  const NoGrad no_grad;
  const Tensor logits = model(inputs, context);
  return slice(logits, 1, logits.dim(1) - 1, 1).to_vector();
}

TEST(GenerateTest, WithACacheTheLogitsAreThoseOfReadingAllAtOnce) {
  const std::vector<Writer> all = every_writer();
  ASSERT_GT(all.size(), 500u);
  const std::vector<Tokens> prompts = {{1, 7, 3}, {2, 2, 8}};
  for (const auto& [name, config] : all) {
    const Model model = model_of(config);
    KeyValueCache cache;
    std::vector<Tokens> written(prompts.size());
    for (int64_t t = 0; t < 4; ++t) {  // up to the longest sequence of a decoder
      const Array so_far = t > 0 ? array_of(written) : Array();
      const auto with = model.next_logits(array_of(prompts), so_far, &cache).to_vector();
      const auto without = model.next_logits(array_of(prompts), so_far, nullptr).to_vector();
      for (size_t row = 0; row < prompts.size(); ++row) {
        const auto expected = logits_after(model, config.model.kind, prompts[row], written[row]);
        for (size_t i = 0; i < expected.size(); ++i) {
          const size_t at = row * expected.size() + i;
          ASSERT_NEAR(with[at], expected[i], 1e-12) << name << ", token " << t;
          ASSERT_NEAR(without[at], expected[i], 1e-12) << name << ", token " << t;
        }
        written[row].push_back((t * 5 + std::ssize(written) + prompts[row].back()) % 9);
      }
    }
  }
}

// log P of the tokens after the prompt, without a beam and without a cache.
double log_probability_of(const Model& model, const std::string& kind, const Tokens& prompt,
                          const Tokens& written) {
  double sum = 0;
  for (auto end = written.begin(); end != written.end(); ++end) {
    const std::vector<double> logits = logits_after(model, kind, prompt, {written.begin(), end});
    double total = 0;
    for (const double logit : logits) total += std::exp(logit);
    sum += logits[static_cast<size_t>(*end)] - std::log(total);
  }
  return sum;
}

TEST(BeamSearchTest, EveryHypothesisHasTheProbabilityThatTheModelGivesIt) {
  const Tokens prompt = {1, 7, 3};
  for (const auto& [name, config] : every_writer()) {
    const Model model = model_of(config);
    const auto found = beam_search(model, prompt, 3, {.width = 3}).value();
    ASSERT_EQ(found.size(), 3u) << name;
    for (const Hypothesis& h : found) {
      const double expected = log_probability_of(model, config.model.kind, prompt, h.tokens);
      ASSERT_NEAR(h.log_probability, expected, 1e-11) << name;
    }
    ASSERT_EQ(beam_search(model, prompt, 3, {.width = 1}).value().front().tokens,
              generate(model, prompt, 3, {.temperature = 0.0}).value())
        << name;
  }
}

TEST(BeamSearchTest, EqualsComeInTheOrderOfTheirTokens) {
  Model model = model_of(small_config());
  for (auto& [name, tensor] : parameters(model)) {
    Array numbers = tensor.array();
    std::fill_n(numbers.mutable_data<double>(), numbers.size(), 0.0);
  }
  const auto found = beam_search(model, {1}, 2, {.width = 11}).value();
  for (int64_t i = 0; i < 11; ++i) {
    EXPECT_EQ(found[static_cast<size_t>(i)].tokens, (Tokens{i / 9, i % 9})) << i;
  }
}

// All texts of at most `count` tokens; those that are shorter end with `last`.
void add_every_text(int64_t count, int64_t last, const Tokens& beginning,
                    std::vector<Tokens>& all) {
  const bool has_ended = !beginning.empty() && beginning.back() == last;
  if (has_ended || std::ssize(beginning) == count) {
    all.push_back(beginning);
    return;
  }
  for (int64_t token = 0; token < kData.vocabulary_size; ++token) {
    Tokens longer = beginning;
    longer.push_back(token);
    add_every_text(count, last, longer, all);
  }
}

double score_of(double log_probability, size_t length, double penalty) {
  return log_probability / std::pow((5 + static_cast<double>(length)) / 6, penalty);
}

const char* const kKinds[] = {"decoder", "encoder_decoder"};
const double kPenalties[] = {0.0, 0.6, 1.0, 10.0};

TEST(BeamSearchTest, ABeamThatHoldsEveryTextFindsTheBestOnesInTheirOrder) {
  const Tokens prompt = {1, 7, 3};
  std::set<size_t> lengths;  // of the best
  for (const char* kind : kKinds) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Config config = small_config();
      config.model.kind = kind;
      const Model model = model_of(config, seed);
      // The most likely token ends a text, so that without a penalty the shortest is the best.
      const int64_t last = generate(model, prompt, 1, {.temperature = 0.0}).value().front();
      const auto ends = [&](std::span<const int64_t> written) { return written.back() == last; };
      for (const int64_t count : {1, 2, 3}) {
        std::vector<Tokens> all;
        add_every_text(count, last, {}, all);
        std::vector<double> log_probabilities;
        for (const Tokens& tokens : all) {
          log_probabilities.push_back(log_probability_of(model, kind, prompt, tokens));
        }
        // As many as go on in the last step but one, and fewer than there are texts.
        const auto width = static_cast<size_t>(std::pow(8, count - 1));
        ASSERT_LT(width, all.size());
        for (const double penalty : kPenalties) {
          std::vector<std::pair<double, Tokens>> expected;
          for (size_t i = 0; i < all.size(); ++i) {
            expected.emplace_back(score_of(log_probabilities[i], all[i].size(), penalty), all[i]);
          }
          std::ranges::sort(expected, std::greater());
          const BeamOptions options = {.width = static_cast<int64_t>(width),
                                       .length_penalty = penalty};
          const auto found = beam_search(model, prompt, count, options, ends).value();
          ASSERT_EQ(found.size(), width);
          for (size_t i = 0; i < width; ++i) {
            ASSERT_EQ(found[i].tokens, expected[i].second)
                << kind << ", seed " << seed << ", count " << count << ", penalty " << penalty;
            ASSERT_NEAR(found[i].score, expected[i].first, 1e-12);
          }
          lengths.insert(expected[0].second.size());
        }
      }
    }
  }
  EXPECT_GT(lengths.size(), 1u) << "the penalty changes nothing";
}

// The definition, without a cache and without an end before the last step.
std::vector<Tokens> narrow_search(const Model& model, const std::string& kind, const Tokens& prompt,
                                  int64_t count, const BeamOptions& options, int64_t last) {
  std::vector<Tokens> live = {{}};
  std::vector<std::pair<double, Tokens>> answers;  // by their negative score
  for (int64_t length = 1; length <= count; ++length) {
    std::vector<std::pair<double, Tokens>> continuations;
    for (const Tokens& beginning : live) {
      for (int64_t token = 0; token < kData.vocabulary_size; ++token) {
        Tokens longer = beginning;
        longer.push_back(token);
        continuations.emplace_back(-log_probability_of(model, kind, prompt, longer), longer);
      }
    }
    std::ranges::sort(continuations);
    live.clear();
    for (const auto& [cost, tokens] : continuations) {
      const bool ended = tokens.back() == last || length == count;
      if (ended) {
        answers.emplace_back(-score_of(-cost, tokens.size(), options.length_penalty), tokens);
      }
      if (tokens.back() != last) live.push_back(tokens);
      if (std::ssize(live) == options.width) break;
    }
  }
  std::ranges::sort(answers);
  std::vector<Tokens> best;
  for (const auto& [score, tokens] : answers) {
    if (std::ssize(best) < options.width) best.push_back(tokens);
  }
  return best;
}

TEST(BeamSearchTest, AnAnswerThatHasEndedTakesNoPlaceInTheBeam) {
  const Tokens prompt = {2, 4, 4};
  for (const char* kind : kKinds) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Config config = small_config();
      config.model.kind = kind;
      const Model model = model_of(config, seed);
      const int64_t last = generate(model, prompt, 1, {.temperature = 0.0}).value().front();
      const auto ends = [&](std::span<const int64_t> written) { return written.back() == last; };
      for (const int64_t width : {1, 2, 3, 5}) {
        for (const double penalty : kPenalties) {
          const BeamOptions options = {.width = width, .length_penalty = penalty};
          const auto found = beam_search(model, prompt, 4, options, ends).value();
          std::vector<Tokens> answers;
          for (const Hypothesis& h : found) answers.push_back(h.tokens);
          ASSERT_EQ(answers, narrow_search(model, kind, prompt, 4, options, last))
              << kind << ", seed " << seed << ", width " << width << ", penalty " << penalty;
        }
      }
      ASSERT_EQ(beam_search(model, prompt, 4, {1, 0.0}, ends).value().front().tokens, Tokens{last});
    }
  }
}

TEST(GenerateTest, ATextOfManyEndsWhereItsReaderSays) {
  const Model model = model_of(small_config());
  const std::vector<Tokens> prompts = {{1, 7, 3}, {2, 2}, {5, 5, 5}};
  std::vector<int64_t> left = {1, 3, 2};
  const auto each = [&](size_t prompt, int64_t) { return --left[prompt] > 0; };
  const auto some = generate_all(model, prompts, 6, {}, each).value();
  auto all = generate_all(model, prompts, 6, {}).value();
  EXPECT_EQ(left, (std::vector<int64_t>{0, 0, 0}));
  for (size_t i = 0; i < prompts.size(); ++i) {
    all[i].resize(std::vector<size_t>{1, 3, 2}[i]);
    EXPECT_EQ(some[i], all[i]) << i;
  }
}

struct Shown {
  std::vector<std::string> parts;
  std::string text;
  TextEnd end;
};

// What is shown, part by part, of these tokens of the vocabulary.
Shown show(const std::vector<std::string>& vocabulary_texts, const std::vector<std::string>& tokens,
           const std::vector<std::string>& stops, const std::string& last_token = "") {
  const Vocabulary vocabulary = Vocabulary::create(vocabulary_texts).value();
  WrittenText text(vocabulary, 0, stops, last_token);
  Shown shown;
  for (const std::string& token : tokens) {
    const bool goes_on = text.add(vocabulary.encode(token).value().front());
    shown.parts.push_back(text.take_settled());
    if (!goes_on) break;
  }
  shown.parts.push_back(text.take_rest());
  shown.text = text.text();
  shown.end = text.end();
  return shown;
}

const std::vector<std::string> kLetters = {"a", "b", "c", "\n"};

TEST(WrittenTextTest, EveryTokenIsShownWhenItComes) {
  const Shown shown = show(kLetters, {"a", "b", "\n", "c"}, {});
  EXPECT_EQ(shown.parts, (std::vector<std::string>{"a", "b", "\n", "c", ""}));
  EXPECT_EQ(shown.end, TextEnd::kLength);
}

TEST(WrittenTextTest, TheTextEndsBeforeAStopThatSeveralTokensMake) {
  const Shown shown = show(kLetters, {"a", "b", "b", "a", "b", "c", "a"}, {"abc", "cc"});
  EXPECT_EQ(shown.parts, (std::vector<std::string>{"", "", "abb", "", "", "", ""}));
  EXPECT_EQ(shown.text, "abb");
  EXPECT_EQ(shown.end, TextEnd::kStop);
}

TEST(WrittenTextTest, WhatMightHaveBeenAStopIsShownInTheEnd) {
  const Shown shown = show(kLetters, {"c", "a", "b"}, {"abc"});
  EXPECT_EQ(shown.parts, (std::vector<std::string>{"c", "", "", "ab"}));
  EXPECT_EQ(shown.end, TextEnd::kLength);
}

TEST(WrittenTextTest, TheFirstOfSeveralStopsEndsIt) {
  EXPECT_EQ(show(kLetters, {"c", "a", "b", "c"}, {"c\n", "b", "ab"}).text, "c");
}

TEST(WrittenTextTest, TheLastTokenIsNoPartOfTheText) {
  const Shown shown = show(kLetters, {"a", "\n", "b"}, {}, "\n");
  EXPECT_EQ(shown.text, "a");
  EXPECT_EQ(shown.end, TextEnd::kLastToken);
}

TEST(WrittenTextTest, WordsAreWrittenWithSpaces) {
  const Shown shown = show({"one", "two", "="}, {"two", "=", "one", "two"}, {"e t"});
  EXPECT_EQ(shown.parts, (std::vector<std::string>{" two", " =", " on", "", ""}));
  EXPECT_EQ(shown.text, " two = on");
}

TEST(WrittenTextTest, NoHalfOfACharacterIsShown) {
  const Vocabulary bytes = Vocabulary::of_bytes();
  WrittenText text(bytes, 'x', {}, "");
  std::vector<std::string> parts;
  for (const unsigned char byte : std::string("a€\xE2\x82z\xFF\xF0\x9F")) {
    text.add(byte);
    parts.push_back(text.take_settled());
  }
  EXPECT_EQ(text.text(), "a€\uFFFD\uFFFDz\uFFFD\uFFFD");
  parts.push_back(text.take_rest());
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "", "", "€", "", "", "\uFFFD\uFFFDz", "\uFFFD",
                                             "", "", "\uFFFD"}));
}

TEST(WrittenTextTest, AStopTakesWhatIsUnfinishedBehindItAlong) {
  const Vocabulary bytes = Vocabulary::of_bytes();
  WrittenText text(bytes, 'x', {"\uFFFD"}, "");
  EXPECT_TRUE(text.add('a') && text.add(0xE2));
  EXPECT_FALSE(text.add(0xC3));
  EXPECT_EQ(text.text(), "a");
}

}  // namespace
}  // namespace qkv
