#include "apps/lesson/document.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/escaping.h"
#include "apps/lesson/lesson_examples.h"
#include "apps/lesson/page.h"

namespace qkv {
namespace {

using nlohmann::json;

Lesson three_words() {
  Lesson lesson = find_lesson("three-words").value();
  lesson.layer = "blocks.0.attention";
  return lesson;
}

Recording record(const Lesson& lesson) { return record(lesson.model, lesson.batch, lesson.form()); }

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
  const Lesson lesson = three_words();
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
  const Lesson lesson = three_words();
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
  const Lesson lesson = three_words();
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
  const Lesson lesson = three_words();
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
  Lesson lesson = with_settings(three_words(), {"model.position=relative"}).value();
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
  const Lesson lesson = three_words();
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
  Lesson lesson = three_words();
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
