#include "train/run/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/graph/op.h"
#include "framework/nn/key_value_cache.h"
#include "framework/ops/ops.h"
#include "models/mixer.h"
#include "train/config/config_fields.h"

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

Model model_of(const Config& config) {
  // Large weights, so that what is wrong anywhere shows in the logits.
  Model model(config.model, kData, Initializer(RandomStream(5), DType::f64));
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

TEST(GenerateTest, WritesTheMostLikelyTokenOfTheModel) {
  for (const char* kind : {"decoder", "encoder_decoder"}) {
    for (const bool causal : {true, false}) {
      Config config = small_config();
      config.model.kind = kind;
      config.model.attention.causal = causal;
      const Model model = model_of(config);
      const Tokens prompt = {1, 7, 3};
      Tokens expected;
      for (int64_t t = 0; t < 4; ++t) {
        const std::vector<double> logits = logits_after(model, kind, prompt, expected);
        expected.push_back(std::ranges::max_element(logits) - logits.begin());
      }
      EXPECT_EQ(generate(model, prompt, 4, {.temperature = 0.0}).value(), expected)
          << kind << (causal ? ", causal" : ", not causal");
    }
  }
}

}  // namespace
}  // namespace qkv
