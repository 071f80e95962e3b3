// Vectors of words by the words that stand with them, as word2vec has them but for its training.
#include "apps/labs/word_counts.h"

#include "apps/labs/kit.h"
#include "framework/core/sure.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

struct Corpus {
  std::vector<std::vector<int64_t>> sentences;  // tokens
  std::map<int64_t, int64_t> possessive_of;     // by noun
  Vocabulary vocabulary;
};

Corpus make_corpus(uint64_t seed, bool shuffled) {
  constexpr int64_t kSentences = 1000;
  Config config;
  config.seed = seed;
  config.data.task = "reference";
  config.data.validation_examples = kSentences;
  const std::shared_ptr<const Dataset> data = sure(make_dataset(config));
  Corpus corpus = {.sentences = {}, .possessive_of = {}, .vocabulary = data->vocabulary()};
  const std::vector<std::string>& texts = corpus.vocabulary.texts();
  const int64_t but = std::ranges::find(texts, "but") - texts.begin();
  std::vector<int64_t> all;
  for (int64_t i = 0; i < data->validation_size(); ++i) {
    const Example example = data->validation_example(i);
    corpus.sentences.emplace_back(example.prompt.begin(), example.prompt.end() - 1);  // without =
    const std::vector<int64_t>& sentence = corpus.sentences.back();
    corpus.possessive_of[example.answer[0]] = *(std::ranges::find(sentence, but) + 1);
    all.insert(all.end(), sentence.begin(), sentence.end());
  }
  if (!shuffled) return corpus;
  RandomStream random(seed);
  const Samples order = random_order(random, std::ssize(all)).to_vector();
  size_t next = 0;
  for (std::vector<int64_t>& sentence : corpus.sentences) {
    for (int64_t& token : sentence) token = all[static_cast<size_t>(order[next++])];
  }
  return corpus;
}

// How much oftener than by chance two words stand in one sentence, as a logarithm that is 0 where
// it is not oftener (Levy and Goldberg 2014).   [V, V]
Tensor associations(const Corpus& corpus) {
  const auto size = static_cast<size_t>(corpus.vocabulary.size());
  Samples counts(size * size), totals(size);
  double total = 0;
  for (const std::vector<int64_t>& sentence : corpus.sentences) {
    for (const int64_t a : sentence) {
      for (const int64_t b : sentence) {
        if (a == b) continue;
        ++counts[static_cast<size_t>(a) * size + static_cast<size_t>(b)];
        ++totals[static_cast<size_t>(a)];
        ++total;
      }
    }
  }
  for (size_t a = 0; a < size; ++a) {
    for (size_t b = 0; b < size; ++b) {
      double& count = counts[a * size + b];
      if (count > 0) count = std::max(0.0, std::log(count * total / (totals[a] * totals[b])));
    }
  }
  return constant_f64({std::ssize(totals), std::ssize(totals)}, counts);
}

// The cosines of rows of x.   [N, C] -> [N, N]
Tensor cosines(const Tensor& x) {
  const Tensor lengths = reshape(maximum(lengths_of_rows(x), constant_f64({1}, {1e-300})), {-1, 1});
  const Tensor units = x / lengths;
  return products_of_rows(units, units);
}

}  // namespace

WordCounts count_words(const std::vector<uint64_t>& seeds, bool shuffled) {
  WordCounts made;
  for (const uint64_t seed : seeds) {
    const Corpus corpus = make_corpus(seed, shuffled);
    std::vector<std::pair<int64_t, int64_t>> nouns;  // by their possessives
    for (const auto& [noun, possessive] : corpus.possessive_of)
      nouns.emplace_back(possessive, noun);
    std::ranges::sort(nouns);
    const Tensor rows = tokens_of(each_of(nouns, [](const auto& each) { return each.second; }));
    const Tensor alike = cosines(embedding(associations(corpus), rows));
    const Tensor one_hot_alike = cosines(embedding(identity(corpus.vocabulary.size()), rows));
    const Samples numbers = alike.to_vector(), ones = one_hot_alike.to_vector();
    Samples within, between;
    for (size_t a = 0; a < nouns.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        const size_t at = a * nouns.size() + b;
        (nouns[a].first == nouns[b].first ? within : between).push_back(numbers[at]);
        made.one_hot = std::max(made.one_hot, std::abs(ones[at]));
      }
    }
    made.within.push_back(mean_of(within));
    made.between.push_back(mean_of(between));
    if (made.map.rows > 0) continue;
    made.map = heat_map_of(say("Cosines of nouns by the words that stand with them"), alike);
    for (const auto& [possessive, noun] : nouns) {
      made.map.row_names.emplace_back(corpus.vocabulary.texts()[static_cast<size_t>(noun)]);
    }
    made.map.column_names = made.map.row_names;
    made.map.row_axis = made.map.column_axis = say("nouns, by their possessives");
  }
  return made;
}

}  // namespace qkv
