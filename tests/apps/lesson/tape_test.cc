#include "apps/lesson/tape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "apps/lesson/document.h"
#include "apps/lesson/lesson.h"
#include "apps/lesson/lesson_examples.h"
#include "apps/lesson/page.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "models/mixer_kind.h"
#include "tests/framework/testing.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

Lesson three_words() { return find_lesson("three-words").value(); }

// The first validation example of a small model.
Lesson lesson_of(const ModelOptions& model) {
  Config config;
  config.data.task = model.kind == "classifier" ? "parity" : "reverse";
  config.data.length = model.kind == "classifier" ? 8 : 3;
  config.train.precision = Precision::kF64;
  config.model = model;
  const auto dataset = make_dataset(config).value();
  return {.config = config,
          .vocabulary = dataset->vocabulary().texts(),
          .model = make_model(config, dataset->shape()),
          .batch = dataset->validation_batch(0, 1)};
}

Recording record(const Lesson& lesson) { return record(lesson.model, lesson.batch, lesson.form()); }

const TapeValue& at(const Recording& recording, const std::string& path) {
  for (const TapeValue& value : recording.tape.values) {
    if (std::ranges::find(value.paths, path) != value.paths.end()) return value;
  }
  ADD_FAILURE() << path;
  return recording.tape.values[0];
}

// Every op reads what was there before it, and makes what no other makes.
void expect_order(const Recording& recording) {
  std::set<ValueId> made;
  const Tape& tape = recording.tape;
  for (size_t i = 0; i < tape.ops.size(); ++i) {
    const TapeOp& op = tape.ops[i];
    for (const ValueId input : op.inputs) {
      EXPECT_TRUE(!tape[input].computed || made.contains(input)) << i << " " << op.op;
    }
    EXPECT_TRUE(tape[op.output].computed) << i;
    EXPECT_TRUE(made.insert(op.output).second) << i;
    EXPECT_EQ(op.backward, i >= recording.forward_ops) << i;
    if (op.backward_of) {
      EXPECT_LT(*op.backward_of, recording.forward_ops) << i;
    }
  }
  EXPECT_TRUE(made.contains(recording.loss));
}

TEST(RecordingTest, OpsComeInAnOrderInWhichTheyCanRunAgain) {
  for (const char* kind : {"decoder", "encoder_decoder", "classifier"}) {
    for (const MixerKind& mixer : mixer_kinds()) {
      for (const Named<Position>& position : kNames<Position>) {
        ModelOptions model = {.kind = kind, .num_layers = 1, .d_model = 8, .num_heads = 2};
        model.d_ff = 8;
        model.mixer = mixer.name;
        model.position = position.value;
        const bool needs_attention = position.value == Position::kRotary ||
                                     position.value == Position::kAlibi ||
                                     position.value == Position::kRelative;
        if (needs_attention && mixer.name != "attention") continue;
        SCOPED_TRACE(testing::Message() << kind << " " << mixer.name << " " << position.name);
        expect_order(record(lesson_of(model)));
      }
    }
  }
}

TEST(RecordingTest, GradientsAreThoseOfBackward) {
  const Lesson lesson = lesson_of({.num_layers = 2, .d_model = 8, .num_heads = 2, .d_ff = 16});
  const Recording recording = record(lesson);
  ForwardContext context;
  const Tensor loss = batch_loss(lesson.model, lesson.batch, {}, context).loss;
  const Gradients gradients = backward(loss);
  EXPECT_NEAR(recording.whole_loss, loss.item(), 1e-14);
  size_t found = 0;
  for (const auto& [name, tensor] : parameters(lesson.model)) {
    for (const TapeValue& value : recording.tape.values) {
      if (value.name != name) continue;
      ASSERT_TRUE(value.parameter && value.gradient) << name;
      expect_near(recording.tape[*value.gradient].tensor, gradients[tensor], 1e-13, name);
      ++found;
    }
  }
  EXPECT_EQ(found, parameters(lesson.model).size());
}

TEST(RecordingTest, WhatLayersCallTheirTensorsHasAGradient) {
  const Recording recording = record(three_words());
  for (const char* path :
       {"input", "attention_norm", "attention.q", "attention.k", "attention.v", "attention.scores",
        "attention.masked_scores", "attention.weights", "attention.heads", "attention.concatenated",
        "attention", "mixed", "feed_forward_norm", "feed_forward.up", "feed_forward.hidden",
        "feed_forward", "output"}) {
    EXPECT_TRUE(at(recording, absl::StrCat("blocks.0.", path)).gradient.has_value()) << path;
  }
  EXPECT_TRUE(at(recording, "logits").gradient.has_value());
  EXPECT_EQ(recording.attention_layers(), std::vector<std::string>{"blocks.0.attention"});
  EXPECT_EQ(recording.weights_of("blocks.0.attention").shape(), (Shape{1, 2, 3, 3}));
}

TEST(RecordingTest, CrossAttentionIsALayerOfItsOwn) {
  const Recording recording = record(lesson_of(
      {.kind = "encoder_decoder", .num_layers = 1, .d_model = 8, .num_heads = 2, .d_ff = 8}));
  EXPECT_EQ(recording.attention_layers(),
            (std::vector<std::string>{"encoder.blocks.0.attention", "decoder.blocks.0.attention",
                                      "decoder.blocks.0.cross_attention"}));
}

TEST(RecordingTest, EveryArrayThatAnOpReadsHasAName) {
  const Tape tape = record(three_words()).tape;
  std::map<std::string, std::string> names;
  for (const TapeOp& op : tape.ops) {
    for (const TapeAttribute& each : op.attributes) {
      if (each.array_id) names[op.op + "." + each.name] = tape[*each.array_id].name;
    }
  }
  EXPECT_EQ(names, (std::map<std::string, std::string>{{"cross_entropy.targets", "targets"},
                                                       {"embedding.index", "index"},
                                                       {"embedding_backward.index", "index"},
                                                       {"masked_fill.mask", ""}}))
      << "but what is computed";
}

TEST(RecordingTest, AnOpSaysWhatItKeepsForItsBackward) {
  const Recording recording = record(three_words());
  const auto kept_by = [&](const std::string& op) {
    for (const TapeOp& each : recording.tape.ops) {
      if (each.op == op) return each.kept;
    }
    return std::vector<std::string>{};
  };
  EXPECT_EQ(kept_by("softmax"), std::vector<std::string>{"output"});
  EXPECT_EQ(kept_by("matmul"), (std::vector<std::string>{"input 0", "input 1"}));
  EXPECT_EQ(kept_by("scale"), std::vector<std::string>{});
  for (const TapeOp& each : recording.tape.ops) {
    EXPECT_TRUE(!each.backward || each.kept.empty()) << each.op << " has no backward here";
  }
}

TEST(RecordingTest, APartHasTheSameGradientsWithoutTheRest) {
  const Recording whole =
      record(lesson_of({.num_layers = 3, .d_model = 8, .num_heads = 2, .d_ff = 16}));
  const Recording part = part_of(whole, "blocks.1");
  expect_order(part);
  EXPECT_EQ(part.part, "blocks.1");
  EXPECT_EQ(part.whole_loss, whole.whole_loss);
  EXPECT_LT(part.tape.ops.size(), whole.tape.ops.size() / 2);
  size_t compared = 0;
  for (const TapeValue& value : part.tape.values) {
    if (!value.parameter) continue;
    ASSERT_TRUE(value.gradient) << value.name;
    EXPECT_TRUE(part.tape[*value.gradient].computed) << value.name;
    ++compared;
  }
  EXPECT_EQ(compared, 16u);  // 4 maps of attention, 2 of the feed-forward network, 2 norms
  EXPECT_FALSE(at(part, "blocks.1.input").computed);
  EXPECT_FALSE(at(part, "blocks.2.attention.weights").computed);  // only to be shown
}

TEST(RecordingTest, ThePartOfALayerAloneHasItsMaps) {
  const Recording whole =
      record(lesson_of({.num_layers = 1, .d_model = 8, .num_heads = 2, .d_ff = 8}));
  const Recording part = part_of(whole, "blocks.0.attention");
  expect_order(part);
  const auto maps = std::ranges::count_if(part.tape.values, &TapeValue::parameter);
  EXPECT_EQ(maps, 8);  // of queries, keys, values and the output, each with a bias
  EXPECT_TRUE(at(part, "blocks.0.attention.weights").computed);
}

TEST(LessonTest, SettingsKeepTheParametersThatAreStillThere) {
  const Lesson lesson = three_words();
  const Lesson changed = with_settings(lesson, {"attention.projections=shared"}).value();
  std::map<std::string, Tensor> before;
  for (const auto& [name, tensor] : parameters(lesson.model)) before[name] = tensor;
  for (const auto& [name, tensor] : parameters(changed.model)) {
    ASSERT_TRUE(before.contains(name)) << name;
    EXPECT_EQ(tensor.to_vector(), before[name].to_vector()) << name;
  }
  EXPECT_LT(parameters(changed.model).size(), before.size());
}

TEST(LessonTest, AnUntrainedParameterIsMadeAnewWhereItsShapeChanges) {
  const Lesson relative = with_settings(three_words(), {"model.position=relative"}).value();
  const auto bias_of = [](const Lesson& lesson) {
    for (const auto& [name, tensor] : parameters(lesson.model)) {
      if (name.ends_with("distance_bias")) return tensor;
    }
    return Tensor();
  };
  Array known = bias_of(relative).array();
  std::fill_n(known.mutable_data<double>(), known.size(), 7.0);
  EXPECT_EQ(bias_of(with_settings(relative, {"attention.projections=shared"}).value()).to_vector(),
            known.to_vector());
  for (const int64_t heads : {1, 4}) {
    const Lesson changed =
        with_settings(relative, {absl::StrCat("model.num_heads=", heads)}).value();
    EXPECT_EQ(bias_of(changed).shape(), Shape({known.shape()[0], heads}));
    for (const double number : bias_of(changed).to_vector()) EXPECT_NE(number, 7.0);
    EXPECT_EQ(changed.untrained, relative.untrained);
  }
}

TEST(LessonTest, SettingsOfOtherThingsAreRefused) {
  const Lesson lesson = three_words();
  EXPECT_EQ(with_settings(lesson, {"data.length=4"}).status().message(),
            "--set data.length=4: explain can change only keys of [model] and [attention]");
  EXPECT_FALSE(with_settings(lesson, {"model.num_heads=3"}).ok());
  EXPECT_FALSE(with_settings(lesson, {"model.kind=classifier"}).ok());
}

TEST(LessonTest, EverySingleSettingGivesAModelThatRuns) {
  const Lesson lesson = three_words();
  const std::vector<std::string> settings = single_settings(lesson);
  EXPECT_GE(settings.size(), 8u);
  for (const std::string& setting : settings) {
    SCOPED_TRACE(setting);
    const Recording recording = record(with_settings(lesson, {setting}).value());
    expect_order(recording);
    EXPECT_TRUE(std::isfinite(recording.whole_loss));
  }
}

TEST(LessonTest, WhatToDoubtIsWarnedOf) {
  Lesson lesson = three_words();
  Recording recording = record(lesson);
  EXPECT_TRUE(warnings_of(lesson, recording).empty());
  lesson.untrained = {"a", "b"};
  recording.whole_loss = std::numeric_limits<double>::infinity();
  EXPECT_EQ(warnings_of(lesson, recording),
            (std::vector<std::string>{
                "these parameters are untrained, so their numbers are random: a, b",
                "the loss is inf, not a finite number: some numbers of this model are too large"}));
}

TEST(LessonTest, TheNumbersOfThreeWordsHaveOneDigit) {
  for (const auto& [name, tensor] : parameters(three_words().model)) {
    for (const double number : tensor.to_vector()) {
      EXPECT_NEAR(10.0 * number, std::round(10.0 * number), 1e-12) << name;
    }
  }
}

double norm_of(const Recording& recording, const std::string& begin) {
  double sum = 0;
  for (const TapeValue& value : recording.tape.values) {
    if (!value.parameter || !value.name.starts_with(begin)) continue;
    for (const double x : recording.tape[*value.gradient].tensor.to_vector()) sum += x * x;
  }
  return std::sqrt(sum);
}

TEST(HistoryTest, AFrameHasTheWeightsAndHowLargeTheGradientsAre) {
  const Recording recording = record(three_words());
  const LessonFrame frame = frame_of(recording, 7);
  EXPECT_EQ(frame.step, 7);
  EXPECT_EQ(frame.loss, recording.whole_loss);
  ASSERT_EQ(frame.weights.size(), 1u);
  EXPECT_EQ(frame.weights[0].second.to_vector(),
            recording.weights_of("blocks.0.attention").to_vector());
  std::vector<std::string> parts;
  for (const auto& [part, norm] : frame.gradient_norms) {
    parts.push_back(part);
    EXPECT_DOUBLE_EQ(norm, norm_of(recording, part + "."));
  }
  EXPECT_EQ(parts, (std::vector<std::string>{"token_embedding", "position_embedding", "blocks.0",
                                             "final_norm"}));
}

TEST(HistoryTest, FramesAreThinnedEvenly) {
  EXPECT_EQ(spread(11, 1000).size(), 11u);
  EXPECT_EQ(spread(11, 3), (std::vector<size_t>{0, 5, 10}));
  EXPECT_EQ(spread(11, 1), (std::vector<size_t>{0, 10}));
  EXPECT_EQ(spread(1, 1), std::vector<size_t>{0});
  EXPECT_TRUE(spread(0, 1000).empty());
}

constexpr int64_t kVocabulary = 7;

Array tokens(int64_t length) {
  Array array({1, length}, DType::i64);
  for (int64_t i = 0; i < length; ++i) array.mutable_data<int64_t>()[i] = i * i % kVocabulary;
  return array;
}

Batch batch_of(DataForm form, int64_t source, int64_t target) {
  if (form == DataForm::kSequence) return {{tokens(target)}, tokens(target)};
  if (form == DataForm::kClass) return {{tokens(source)}, Array::of({1}, std::vector<int64_t>{3})};
  return {{tokens(source), tokens(target)}, tokens(target)};
}

double bytes_of(const Recording& recording) {
  const Tape& tape = recording.tape;
  int64_t bytes = kBytesOfEntry * (std::ssize(tape.ops) + std::ssize(tape.values));
  for (const TapeValue& value : tape.values) {
    bytes += static_cast<int64_t>(value.tensor.array().bytes());
  }
  return static_cast<double>(bytes);
}

void expect_told(const ModelKind& kind, const ModelOptions& options) {
  const DataShape data = {.vocabulary_size = kVocabulary,
                          .max_length = 60,
                          .source_length = 60,
                          .classes = kVocabulary};
  const Model model(options, data, Initializer(RandomStream(1), DType::f64));
  const auto expected = [&](const Batch& b) { return expected_bytes(options, data, b, kind.form); };
  const auto made = [&](const Batch& b) { return bytes_of(record(model, b, kind.form)); };
  const Batch small = batch_of(kind.form, 5, 5), even = batch_of(kind.form, 41, 41);
  const Batch odd = batch_of(kind.form, 41, 20);
  EXPECT_EQ(expected(small), made(small));
  EXPECT_EQ(expected(even), made(even));
  EXPECT_GE(expected(odd), made(odd));
}

TEST(RecordingSizeTest, IsToldWithoutTheRecording) {
  for (const ModelKind& kind : model_kinds()) {
    const auto expect = [&](int64_t layers, const Named<Position>& position, int64_t window) {
      SCOPED_TRACE(
          absl::StrCat(kind.name, ", ", position.name, ", window ", window, ", layers ", layers));
      ModelOptions options = {.num_layers = layers, .d_model = 8, .num_heads = 2, .d_ff = 12};
      options.kind = kind.name;
      options.position = position.value;
      options.attention.window = window;
      expect_told(kind, options);
    };
    for (const Named<Position>& position : kNames<Position>) {
      for (const int64_t window : {0, 3}) expect(2, position, window);
    }
    for (const int64_t layers : {1, 3, 6}) expect(layers, kNames<Position>[0], 0);
  }
}

using nlohmann::json;

Lesson attention_of_three_words() {
  Lesson lesson = find_lesson("three-words").value();
  lesson.layer = "blocks.0.attention";
  return lesson;
}

std::vector<double> decoded(const json& numbers) {
  std::vector<double> all;
  const auto read = [&]<class T>(const char* type, T /*each*/) {
    if (!numbers.contains(type)) return;
    std::string bytes;
    ASSERT_TRUE(absl::Base64Unescape(numbers[type].get<std::string>(), &bytes));
    for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T value;
      std::memcpy(&value, &bytes[i], sizeof(T));
      all.push_back(static_cast<double>(value));
    }
  };
  read("f64", double{});
  read("f32", float{});
  read("i32", int32_t{});
  read("u8", uint8_t{});
  return all;
}

TEST(DocumentTest, HoldsEveryNumberThatIsNamed) {
  const Lesson lesson = attention_of_three_words();
  const Recording recording = record(lesson);
  const json document = json::parse(lesson_document(recording, lesson, 0));
  EXPECT_EQ(document["format"], "qkv lesson");
  const json& values = document["values"];
  ASSERT_EQ(values.size(), recording.tape.values.size());
  EXPECT_EQ(document["ops"].size(), recording.tape.ops.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const TapeValue& value = recording.tape.values[i];
    const bool is_told = !value.computed || !value.paths.empty();
    EXPECT_TRUE(!is_told || values[i].contains("numbers")) << i << " " << value.name;
    if (value.gradient) {
      EXPECT_TRUE(values[static_cast<size_t>(*value.gradient)].contains("numbers")) << i;
    }
    if (!values[i].contains("numbers")) continue;
    EXPECT_EQ(decoded(values[i]["numbers"]), value.tensor.to_vector()) << i;
  }
}

TEST(DocumentTest, SaysWhichTokensAreReadAndWanted) {
  const Lesson lesson = attention_of_three_words();
  const json meta = json::parse(lesson_document(record(lesson), lesson, 0))["meta"];
  EXPECT_EQ(meta["texts"]["tokens"], json({"I", "have", "a"}));
  EXPECT_EQ(meta["texts"]["targets"], json({"have", "a", "dream"}));
  EXPECT_EQ(meta["layers"], json({"blocks.0.attention"}));
  EXPECT_NEAR(meta["loss"].get<double>(), record(lesson).whole_loss, 0);
}

TEST(DocumentTest, NumbersThatAreExactInThemAreWrittenInFewerBytes) {
  const auto type_of = [](const Tensor& x) { return encode_numbers(x, 0, x.size()).type; };
  EXPECT_EQ(type_of(constant({2}, {0.5, -3.0}, DType::f64)), "f32");
  EXPECT_EQ(type_of(constant({2}, {0.5, 0.1}, DType::f64)), "f64");
  EXPECT_EQ(type_of(constant({1}, {-std::numeric_limits<double>::infinity()}, DType::f64)), "f32");
  EXPECT_EQ(type_of(constant({1}, {7}, DType::i64)), "i32");
  EXPECT_EQ(type_of(constant({1}, {1}, DType::boolean)), "u8");
}

TEST(DocumentTest, WhatDoesNotFitIsCutToItsFirstRowsOrLeftOut) {
  const Lesson lesson = attention_of_three_words();
  const Recording recording = record(lesson);
  const size_t whole = lesson_document(recording, lesson, 0).size();
  const std::string small = lesson_document(recording, lesson, 1);
  EXPECT_LT(small.size(), whole);
  const json document = json::parse(small);
  for (size_t i = 0; i < recording.tape.values.size(); ++i) {
    EXPECT_EQ(document["values"][i].contains("numbers"), !recording.tape.values[i].computed) << i;
  }
  const auto most = static_cast<int64_t>(small.size() + (whole - small.size()) / 2);
  EXPECT_LE(std::ssize(lesson_document(recording, lesson, most)), most);
}

TEST(DocumentTest, VariantsHaveNoNumbersTwice) {
  const Lesson lesson = attention_of_three_words();
  const json variants = json::parse(variants_document(lesson, "", 1 << 20));
  EXPECT_EQ(variants.size(), single_settings(lesson).size());
  for (const json& variant : variants) {
    for (const json& value : variant["values"]) {
      if (value["kind"] == "constant") {
        EXPECT_TRUE(value.contains("numbers")) << value;
      }
      if (value["kind"] == "computed") {
        EXPECT_FALSE(value.contains("numbers")) << value;
      }
      // All but the biases of distances have the shape that they had.
      const bool is_new = value["kind"] == "parameter" && value.contains("numbers");
      if (is_new) {
        EXPECT_EQ(variant["setting"], "model.position=relative") << value;
      }
    }
  }
  EXPECT_EQ(json::parse(variants_document(lesson, "", 0)).size(), 0u);
}

TEST(DocumentTest, AVariantHasTheNumbersOfAnUntrainedParameterThatItGivesAnotherShape) {
  constexpr char kBias[] = "blocks.0.attention.position.distance_bias";
  Lesson lesson = with_settings(attention_of_three_words(), {"model.position=relative"}).value();
  lesson.layer = "blocks.0.attention";
  for (const json& variant : json::parse(variants_document(lesson, "", 1 << 20))) {
    const std::string setting = variant["setting"];
    for (const json& value : variant["values"]) {
      if (value["kind"] != "parameter" || value["name"] != kBias) continue;
      EXPECT_EQ(value.contains("numbers"), setting.starts_with("model.num_heads=")) << setting;
      if (!value.contains("numbers")) continue;
      const int64_t size = value["shape"][0].get<int64_t>() * value["shape"][1].get<int64_t>();
      EXPECT_EQ(std::ssize(decoded(value["numbers"])), size) << setting;
    }
  }
}

TEST(DocumentTest, WhereNotAllVariantsFitThereIsOneOfEachKind) {
  const Lesson lesson = attention_of_three_words();
  const std::string all = variants_document(lesson, "", 1 << 20);
  const std::string few = variants_document(lesson, "", std::ssize(packed(all)) / 2);
  EXPECT_LT(json::parse(few).size(), json::parse(all).size());
  EXPECT_LE(packed(few).size(), packed(all).size() / 2);
  std::set<std::string> kinds;
  for (const json& variant : json::parse(few)) {
    const auto setting = variant["setting"].get<std::string>();
    kinds.insert(setting.substr(0, setting.find('=')));
  }
  EXPECT_EQ(kinds.size(), 3u) << few;
}

TEST(PageTest, NothingInADocumentEndsTheScriptThatItStandsIn) {
  Lesson lesson = attention_of_three_words();
  lesson.vocabulary = {"</script>", "<!--", "\"\u2028", "😀"};
  lesson.config.name = "</title><b>";
  const std::string document = lesson_document(record(lesson), lesson, 0);
  const std::string page = lesson_page(document, "[]", lesson.config.name);
  const size_t begin = page.find("id=\"document\">") + std::strlen("id=\"document\">");
  const std::string inside = page.substr(begin, page.find("</script>", begin) - begin);
  EXPECT_EQ(inside, packed(document));
  EXPECT_EQ(
      inside.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
      std::string::npos);
  EXPECT_NE(page.find("<title>&lt;/title&gt;&lt;b&gt;</title>"), std::string::npos);
}

}  // namespace
}  // namespace qkv
