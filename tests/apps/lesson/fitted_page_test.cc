#include "apps/lesson/fitted_page.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "apps/lesson/lesson_examples.h"
#include "apps/lesson/page.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

using nlohmann::json;

constexpr int64_t kNoLimit = int64_t{1} << 30;

std::string unpacked(const std::string& packed) {
  constexpr size_t kMost = size_t{1} << 25;
  std::string bytes, text(kMost, '\0');
  EXPECT_TRUE(absl::Base64Unescape(packed, &bytes));
  uLongf size = kMost;
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  text.resize(size);
  return text;
}

json document_in(const std::string& page) {
  const size_t begin = page.find("id=\"document\">") + std::strlen("id=\"document\">");
  return json::parse(unpacked(page.substr(begin, page.find("</script>", begin) - begin)));
}

// Computed values that have numbers of the engine.
int64_t compared_in(const json& document) {
  return std::ranges::count_if(document["values"], [](const json& value) {
    return value["kind"] == "computed" && value.contains("numbers");
  });
}

// That of three words with two layers of 32.
Lesson wider_lesson() {
  Lesson lesson = find_lesson("three-words").value();
  lesson.config.model.num_layers = 2;
  lesson.config.model.d_model = 32;
  lesson.config.model.d_ff = 128;
  lesson.model = make_model(lesson.config, lesson.model.data());
  return lesson;
}

// And what it was after forty steps of training.
class FittedPageTest : public testing::Test {
 protected:
  FittedPageTest() : lesson_(wider_lesson()) {
    lesson_.layer = "blocks.1.attention";
    const Recording recording = recorded();
    for (int64_t step = 1; step <= 40; ++step) {
      lesson_.history.push_back(frame_of(recording, step));
    }
  }

  Recording recorded() const { return record(lesson_.model, lesson_.batch, lesson_.form()); }
  std::string page(int64_t most_bytes) const {
    return fitted_page(recorded(), lesson_, most_bytes);
  }

  Lesson lesson_;
};

TEST_F(FittedPageTest, WhereThereIsRoomAllIsThere) {
  const json document = document_in(page(kNoLimit));
  EXPECT_FALSE(document["meta"].contains("part"));
  EXPECT_EQ(document["history"].size(), 40u);
  EXPECT_GT(compared_in(document), 50);
}

TEST_F(FittedPageTest, OtherFormsAreThereForWhoAsks) {
  constexpr char kNone[] = "id=\"variants\"></script>";
  EXPECT_NE(page(kNoLimit).find(kNone), std::string::npos);
  lesson_.has_forms = true;
  EXPECT_EQ(page(kNoLimit).find(kNone), std::string::npos);
}

TEST_F(FittedPageTest, WhatDoesNotFitIsLeftOutAndTheRestIsStillCompared) {
  const int64_t whole = std::ssize(page(kNoLimit));
  size_t frames = 40;
  for (const int64_t most_bytes : {whole - 1, whole - 100000}) {
    const std::string small = page(most_bytes);
    EXPECT_LT(std::ssize(small), most_bytes);
    const json document = document_in(small);
    EXPECT_FALSE(document["meta"].contains("part"));
    EXPECT_GT(compared_in(document), 10);
    EXPECT_LE(document["history"].size(), frames);
    frames = document["history"].size();
  }
}

TEST_F(FittedPageTest, WhereTheModelDoesNotFitThereIsABlockOrALayerOfItAndItIsCompared) {
  const auto frame = std::ssize(lesson_page("", "", ""));
  const std::string block = page(frame + 300000);
  EXPECT_LT(std::ssize(block), frame + 300000);
  EXPECT_EQ(document_in(block)["meta"]["part"], "blocks.1");
  EXPECT_GT(compared_in(document_in(block)), 10);
  const json layer = document_in(page(frame));  // which cannot be
  EXPECT_EQ(layer["meta"]["part"], "blocks.1.attention");
  EXPECT_GT(compared_in(layer), 3);
}

}  // namespace
}  // namespace qkv
