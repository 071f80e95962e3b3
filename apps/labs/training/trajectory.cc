// Where the layers of a trained model move its points, and whether these places are better.
#include <vector>

#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/core/sure.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

// Vectors of nouns by the counts of words in the same sentence: those with the same possessive
// (its, their, his, her) and others. A number for each corpus.
struct WordCounts {
  Samples within, between;  // cosines of two nouns, on the mean
  double one_hot = 0;       // the largest cosine of two nouns
  HeatMap map;              // the cosines of all nouns, of the first corpus
};

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

// A corpus of the sentences of the task reference for each seed. `shuffled`: its words stand in
// any sentence.
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

// The points of all tokens on their way through a model.
struct Walk {
  Tensor embedded;             // [B T, C], of the tokens alone
  std::vector<Tensor> points;  // [B T, C] of what the first block reads, and after each block
  std::vector<int64_t> tokens, targets;  // kIgnoredTarget where nothing is asked
  Samples losses;    // read from the points of each layer, as if it were the last
  double right = 0;  // the share of answers, token by token
};

Tensor parameter_named(const Model& model, const std::string& name) {
  for (const NamedParameter& each : parameters(model)) {
    if (each.name == name) return each.tensor;
  }
  return Tensor();
}

// logits [B, T, V]
double share_right(const Tensor& logits, const std::vector<int64_t>& targets) {
  const Samples all = logits.to_vector();
  const int64_t classes = logits.dim(2);
  double right = 0, asked = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kIgnoredTarget) continue;
    const auto first = all.begin() + static_cast<int64_t>(i) * classes;
    right += std::max_element(first, first + classes) - first == targets[i] ? 1 : 0;
    ++asked;
  }
  return right / asked;
}

Walk walk_of(const Model& model, const Dataset& data, int64_t layers) {
  const Batch batch = data.validation_batch(0, data.validation_size());
  const Trace trace = trace_loss(model, batch).trace;
  std::vector<Tensor> stream = {trace["blocks.0.input"]};
  for (int64_t i = 0; i < layers; ++i) {
    stream.push_back(trace[absl::StrCat("blocks.", i, ".output")]);
  }
  Walk walk;
  const Tensor targets(batch.targets);
  for (const double each : targets.to_vector()) walk.targets.push_back(std::llround(each));
  for (const double each : batch.inputs[0].to_vector()) walk.tokens.push_back(std::llround(each));
  walk.embedded = reshape(trace["embedded"].detached(), {-1, stream[0].dim(2)});
  for (const Tensor& x : stream) {
    const int64_t width = x.dim(2);
    walk.points.push_back(reshape(x.detached(), {-1, width}));
    const Tensor normed = layer_norm(x.detached(), parameter_named(model, "final_norm.weight"),
                                     parameter_named(model, "final_norm.bias"));
    const Tensor logits =
        linear(normed, parameter_named(model, "token_embedding.weight"), Tensor());
    walk.losses.push_back(cross_entropy(logits, targets).item());
    walk.right = share_right(logits, walk.targets);
  }
  return walk;
}

// The ways of the first answer's tokens, in the plane in which they differ most.
Paths figure_of(const Walk& walk, const Vocabulary& vocabulary) {
  constexpr int64_t kShown = 5;
  std::vector<int64_t> asked;
  for (size_t i = 0; std::ssize(asked) < kShown && i < walk.targets.size(); ++i) {
    if (walk.targets[i] != kIgnoredTarget) asked.push_back(static_cast<int64_t>(i));
  }
  std::vector<Tensor> points;
  for (const Tensor& each : walk.points) {
    points.push_back(embedding(cast(each, DType::f64), tokens_of(asked)));
  }
  const Tensor all = concat(points, 0);
  const Tensor axes = principal_axes(all - mean(all, 0, /*keep_axis=*/true));
  Paths figure = {.title = say("Ways of five tokens through the layers, to what each is to say"),
                  .x_label = say("first principal axis"),
                  .y_label = say("second principal axis")};
  for (size_t i = 0; i < asked.size(); ++i) {
    const int64_t target = walk.targets[static_cast<size_t>(asked[i])];
    Path path = {.name = say("place {0}, to say {1}", i + 1,
                             vocabulary.texts()[static_cast<size_t>(target)])};
    for (const Tensor& layer : points) {
      const Samples at = matmul(slice(layer, 0, static_cast<int64_t>(i), 1), axes).to_vector();
      path.x.push_back(at[0]);
      path.y.push_back(at[1]);
    }
    figure.paths.push_back(std::move(path));
  }
  return figure;
}

// The share of the points' variance between points of one and the same token.
double share_within(const Tensor& points, const std::vector<int64_t>& tokens, int64_t vocabulary) {
  const Tensor x = cast(points, DType::f64);                                         // [N, C]
  const Tensor token_of_point = one_hot(tokens_of(tokens), vocabulary, DType::f64);  // [N, V]
  const Tensor counts = transpose(sum(token_of_point, 0, /*keep_axis=*/true), 0, 1) + 1e-300;
  const Tensor means = matmul(token_of_point, x, {.transpose_a = true}) / counts;  // [V, C]
  return std::pow(size_of(x - matmul(token_of_point, means)) / size_of(x - mean(x, 0, true)), 2);
}

Samples at_layer(const std::vector<Walk>& all, size_t layer) {
  return log10_of(values_of(all, [layer](const Walk& walk) { return walk.losses[layer]; }));
}

Section places_section(const std::vector<Walk>& trained, const Vocabulary& vocabulary,
                       int64_t letters) {
  Section section = make_section("trajectory.places", {}, {figure_of(trained.front(), vocabulary)});
  section.add(premise(
      at_least(say("answers that are right, unseen ones"), 0.9, values_of(trained, &Walk::right))));
  const size_t layers = trained.front().points.size() - 1;
  std::vector<size_t> numbers(layers + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  LineChart chart = line_chart(
      say("Loss, read after each layer as if it were the last"), say("layers"),
      log_axis(say("loss")),
      {series_by(say("trained"), numbers, std::identity(), [&](size_t layer) {
        return values_of(trained, [layer](const Walk& walk) { return walk.losses[layer]; });
      })});
  chart.levels = {
      {say("guessing one of the {0} letters", letters), std::log(static_cast<double>(letters))}};
  section.show(std::move(chart));
  for (size_t l = 0; l < layers; ++l) {
    section.add(larger(say("log10 of the loss before layer {0}, and after it", l + 1),
                       at_layer(trained, l), at_layer(trained, l + 1)));
  }
  return section;
}

Section words_section(const LabContext& lab, const std::vector<Trained>& models,
                      const std::vector<Walk>& trained) {
  const int64_t vocabulary = models.front().data->vocabulary().size();
  Samples embedded, recurrent, attended;
  for (size_t i = 0; i < models.size(); ++i) {
    const auto within = [&](const Tensor& points) {
      return share_within(points, trained[i].tokens, vocabulary);
    };
    Config config = models[i].config;
    config.model.mixer = "recurrence";
    const Walk elmo = walk_of(make_model(config, models[i].data->shape()), *models[i].data,
                              config.model.num_layers);
    embedded.push_back(within(trained[i].embedded));
    recurrent.push_back(within(elmo.points.back()));
    attended.push_back(within(trained[i].points.back()));
  }
  const WordCounts counts = count_words(lab.seeds(), lab.breaks("shuffled"));
  return make_section(
      "trajectory.words",
      {larger(say("counts: cosine of nouns of one possessive, and of two"), counts.within,
              counts.between),
       equal(say("one-hot: cosine of two nouns"), 0, counts.one_hot),
       same(say("an embedding: variance within tokens, and 0"), most_of(embedded), 1e-9),
       above(say("after a recurrence, not trained: variance within tokens"), 0, recurrent),
       above(say("after attention: variance within tokens"), 0, attended)},
      {counts.map});
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<Walk> trained;
  const std::vector<Trained> models = train_over_seeds(lab);
  for (const Trained& each : models) {
    const Model model = lab.is_control() ? untrained(each) : each.model;
    trained.push_back(walk_of(model, *each.data, each.config.model.num_layers));
  }
  const Vocabulary& vocabulary = models.front().data->vocabulary();
  return {words_section(lab, models, trained),
          places_section(trained, vocabulary, models.front().config.data.alphabet)};
}

}  // namespace

Lab trajectory_lab() { return make_lab("trajectory", run); }

}  // namespace qkv
