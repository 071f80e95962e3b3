#include "models/model_examples.h"

#include "framework/nn/layer_examples.h"
#include "framework/ops/ops.h"
#include "models/model.h"

namespace qkv {
namespace {

constexpr int64_t kVocabulary = 5, kBatch = 2, kLength = 4, kSource = 3;
constexpr int64_t kHeight = 4, kWidth = 2;  // of an image

struct Row {
  const char* name;
  ModelOptions options;
  bool padded = false;  // the question is
  bool has_images = false;
  int64_t num_layers = 1;
};

std::vector<Row> decoders() {
  ModelOptions post, rms, bare, modern, squared, normless;
  post.norm = NormPlace::kPost;
  post.position = Position::kSinusoidal;
  post.learn_sinusoidal_scale = false;
  post.activation = Activation::kRelu;
  post.tie_embeddings = false;
  rms.norm_kind = NormKind::kRms;
  rms.norm_epsilon = 1e-3;
  rms.activation = Activation::kSilu;
  rms.dropout = 0.2;
  rms.init_std = 0.1;
  rms.residual_init = ResidualInit::kPlain;
  bare.position = Position::kNone;
  bare.activation = Activation::kGeluTanh;
  bare.bias = false;
  bare.scale_scores = false;
  modern.activation = Activation::kSwiglu;
  modern.residual_init = ResidualInit::kZero;
  modern.logit_cap = 2.0;
  modern.position = Position::kRotary;
  modern.attention = {.query_key_norm = true, .rotary_base = 100.0};
  squared.activation = Activation::kReluSquared;
  normless.norm = NormPlace::kNone;
  normless.position = Position::kNone;
  std::vector<Row> rows = {
      {.name = "pre-norm, learned positions, tied", .options = {}, .num_layers = 2},
      {"post-norm, sinusoids, relu, untied", post},
      {"RMS norm, silu, dropout", rms},
      {"no positions, no biases, scores not scaled", bare},
      {"swiglu, zero at first, normalized queries and keys, capped logits", modern},
      {"relu squared", squared},
      {"no norms", normless}};
  const auto attention = [&](const char* name, Position position, const AttentionChoices& choices) {
    ModelOptions options;
    options.position = position;
    options.sinusoidal_scale = 0.3;
    options.attention = choices;
    rows.push_back({name, options});
  };
  attention("rotary, keys and values of one map", Position::kRotary,
            {.projections = Projections::kSharedKeyValue});
  attention("ALiBi, grouped heads, a window", Position::kAlibi,
            {.num_key_value_heads = 1, .window = 1});
  attention("ALiBi, slopes of the paper's code", Position::kAlibi,
            {.alibi_slopes = AlibiSlopes::kInterpolated});
  attention("relative positions, one map for all, a scale", Position::kRelative,
            {.projections = Projections::kShared, .scale = 0.3});
  attention("sinusoids, no maps", Position::kSinusoidal, {.projections = Projections::kNone});
  attention("narrow heads, not causal", Position::kRelative,
            {.heads = Heads::kNarrow, .causal = false});
  attention("wide heads", Position::kLearned, {.heads = Heads::kWide});
  const auto mixer = [&](const char* name, ModelOptions options) {
    options.position = Position::kNone;
    rows.push_back({name, options});
  };
  mixer("a convolution", {.mixer = "convolution", .kernel = 2});
  mixer("a depthwise convolution, dropout",
        {.mixer = "convolution", .dropout = 0.2, .depthwise = true});
  mixer("an rnn", {.mixer = "recurrence", .cell = Cell::kRnn});
  mixer("an lstm, no biases", {.mixer = "recurrence", .bias = false});
  mixer("learned mixing", {.mixer = "learned"});
  mixer("uniform mixing", {.mixer = "uniform"});
  return rows;
}

std::vector<Row> encoder_decoders() {
  ModelOptions post, grouped;
  post.norm = NormPlace::kPost;
  post.position = Position::kSinusoidal;
  post.learn_sinusoidal_scale = false;
  post.tie_embeddings = false;
  grouped.position = Position::kRelative;
  grouped.attention.num_key_value_heads = 1;
  return {{"pre-norm, learned positions", {}},
          {"post-norm, sinusoids, padding", post, /*padded=*/true},
          {"relative positions, grouped heads, padding", grouped, true},
          {"a convolution, padding", {.mixer = "convolution"}, true},
          {"an lstm, padding", {.mixer = "recurrence"}, true}};
}

std::vector<Row> classifiers() {
  const ModelOptions class_token = {.patch_size = 2}, mean = {.pool = Pool::kMean, .patch_size = 2};
  const auto mixed = [](const char* mixer) {
    return ModelOptions{.mixer = mixer, .cell = Cell::kRnn, .pool = Pool::kMean};
  };
  return {{"a class token, padding", class_token, /*padded=*/true},
          {"the mean", mean},
          {"the mean, padding", mean, true},
          {"an rnn, padding", mixed("recurrence"), true},
          {"learned mixing, padding", mixed("learned"), true},
          {"uniform mixing, padding", mixed("uniform"), true},
          {"patches, a class token", class_token, false, /*has_images=*/true},
          {"patches, the mean", mean, false, true}};
}

struct KindOfRows {
  const char* kind;
  const char* op;  // its name in reports
  std::vector<Row> rows;
};

// Their sizes are as small as the checks allow.
std::vector<KindOfRows> all_rows() {
  std::vector<KindOfRows> kinds = {{Decoder::kName, "Decoder", decoders()},
                                   {EncoderDecoder::kName, "EncoderDecoder", encoder_decoders()},
                                   {Classifier::kName, "Classifier", classifiers()}};
  for (KindOfRows& kind : kinds) {
    for (Row& row : kind.rows) {
      row.options.kind = kind.kind;
      row.options.num_layers = row.num_layers;
      row.options.d_model = 4;
      row.options.num_heads = 2;
      row.options.d_ff = 6;
    }
  }
  return kinds;
}

struct BatchInputs {
  std::vector<ExampleInput> inputs;
  std::vector<std::string> names;
};

// Those of a batch, without its targets.
BatchInputs inputs_of(const Row& row) {
  const auto tokens = [](int64_t length) {
    return ExampleInput{Fill::kIndices, {kBatch, length}, kVocabulary};
  };
  const auto padding = [](int64_t length) { return ExampleInput{Fill::kMask, {kBatch, length}}; };
  BatchInputs batch;
  const auto add = [&](const ExampleInput& input, const char* name) {
    batch.inputs.push_back(input);
    batch.names.emplace_back(name);
  };
  switch (form_of(row.options.kind)) {
    case DataForm::kSequence:
      add(tokens(kLength), "tokens");
      break;
    case DataForm::kSourceTarget:
      add(tokens(kSource), "source");
      add(tokens(kLength), "target");
      if (row.padded) add(padding(kSource), "padding");
      break;
    case DataForm::kClass:
      if (row.has_images) {
        add({Fill::kNormal, {kBatch, 1, kHeight, kWidth}}, "pixels");
        break;
      }
      add(tokens(kLength), "tokens");
      if (row.padded) add(padding(kLength), "padding");
      break;
  }
  return batch;
}

OpExample example_of(const Row& row, const Initializer& init) {
  DataShape data = {.vocabulary_size = kVocabulary,
                    .max_length = kLength,
                    .source_length = kSource,
                    .classes = kVocabulary};
  if (row.has_images) data.channels = 1, data.height = kHeight, data.width = kWidth;
  const Model model(row.options, data, init);
  BatchInputs batch = inputs_of(row);
  const size_t read = batch.inputs.size();
  const auto loss = [read](const Model& model_of_kind, std::span<const Tensor> x) {
    ForwardContext context{.training = true, .random = RandomStream(2)};
    return cross_entropy(model_of_kind(x.first(read), context), x[read], {.ignored = -1});
  };
  const bool one_class = form_of(row.options.kind) == DataForm::kClass;
  const Shape targets = one_class ? Shape{kBatch} : Shape{kBatch, kLength};
  batch.inputs.push_back({Fill::kTargets, targets, kVocabulary});
  batch.names.emplace_back("targets");
  return module_example(row.name, model, std::move(batch.inputs), std::move(batch.names), loss);
}

}  // namespace

std::vector<OpExamples> model_examples(const Initializer& init) {
  std::vector<OpExamples> all;
  for (const KindOfRows& kind : all_rows()) {
    OpExamples examples = {.op = kind.op, .examples = {}};
    for (const Row& row : kind.rows) examples.examples.push_back(example_of(row, init));
    all.push_back(std::move(examples));
  }
  return all;
}

OpExample model_example(const ModelOptions& options) {
  return example_of({"", options}, {RandomStream(1), DType::f64});
}

std::vector<ModelOptions> options_of_model_examples() {
  std::vector<ModelOptions> all;
  for (const KindOfRows& kind : all_rows()) {
    for (const Row& row : kind.rows) all.push_back(row.options);
  }
  return all;
}

}  // namespace qkv
