// What does not go together in the shape of a model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "models/mixer_kind.h"
#include "tests/train/config/parsed.h"

namespace qkv {
namespace {

using testing::StartsWith;

TEST(AttentionMistakesTest, HeadsOfKeysAreSharedEvenly) {
  EXPECT_EQ(mistakes("[attention]\nnum_key_value_heads = 3"),
            "c.toml:2:23: \"attention.num_key_value_heads\" must divide \"model.num_heads\": 4 is "
            "not a multiple of 3");
  EXPECT_EQ(mistakes("[attention]\nnum_key_value_heads = 2\nprojections = \"shared\""),
            "c.toml:2:23: \"attention.num_key_value_heads\" is 2, but with "
            "\"attention.projections\" = \"shared\" the keys are the queries, which have 4 heads");
  EXPECT_EQ(mistakes("[attention]\nnum_key_value_heads = 1\nheads = \"narrow\""),
            "c.toml:2:23: \"attention.num_key_value_heads\" is 1, but with \"attention.heads\" = "
            "\"narrow\" each of the 4 heads makes keys from its own part of the input");
  EXPECT_EQ(mistakes("[attention]\nnum_key_value_heads = 4\nheads = \"narrow\""), "");
}

TEST(AttentionMistakesTest, HeadsAreAboutMaps) {
  for (const char* heads : {"narrow", "wide"}) {
    EXPECT_EQ(
        mistakes(std::string("[attention]\nprojections = \"none\"\nheads = \"") + heads + "\""),
        std::string("c.toml:3:9: \"attention.heads\" is \"") + heads +
            "\", which needs the maps of each head; \"attention.projections\" = \"none\" has none");
  }
}

TEST(AttentionMistakesTest, RotaryTurnsPairs) {
  EXPECT_EQ(mistakes("[model]\nposition = \"rotary\"\nd_model = 12"),
            "c.toml:2:12: \"model.position\" is \"rotary\", which rotates pairs of features, but a "
            "head has 3");
  EXPECT_EQ(mistakes("[model]\nposition = \"rotary\"\nd_model = 12\n[attention]\nheads = \"wide\""),
            "");
}

TEST(AttentionMistakesTest, AnotherMixerHasNoWindowAndNoPositionsOfAttention) {
  EXPECT_THAT(mistakes("[model]\nmixer = \"convolution\"\n[attention]\nwindow = 8"),
              testing::AllOf(StartsWith("c.toml:4:1: \"attention.window\" is read by "
                                        "attention, learned"),
                             testing::EndsWith(", not by convolution")));
  for (const MixerKind& mixer : mixer_kinds()) {
    if (!mixer.reads("attention.window")) continue;
    for (const char* kind : {"decoder", "encoder_decoder"}) {
      EXPECT_EQ(mistakes(absl::StrCat("[model]\nkind = \"", kind, "\"\nmixer = \"",
                                      std::string(mixer.name), "\"\n[attention]\nwindow = 8")),
                "");
    }
  }
  EXPECT_EQ(mistakes("[model]\nkind = \"encoder_decoder\"\nmixer = \"recurrence\"\n[attention]\n"
                     "window = 8"),
            "c.toml:5:10: \"attention.window\" is 8, but \"model.mixer\" = \"recurrence\" has no "
            "window");
  EXPECT_EQ(mistakes("[model]\nmixer = \"uniform\"\nposition = \"alibi\""),
            "c.toml:3:12: \"model.position\" is \"alibi\", which is a part of attention, but "
            "\"model.mixer\" is \"uniform\"");
}

TEST(AttentionMistakesTest, OnlyAlibiHasSlopes) {
  const std::string slopes = "[attention]\nalibi_slopes = \"interpolated\"\n";
  EXPECT_EQ(mistakes(slopes + "[model]\nposition = \"alibi\""), "");
  EXPECT_EQ(mistakes(slopes),
            "c.toml:2:1: \"attention.alibi_slopes\" is read by alibi, not by learned");
  EXPECT_EQ(mistakes("[model]\nposition = \"alibi\"\n[attention]\nalibi_slopes = \"paper\""),
            "c.toml:4:16: \"attention.alibi_slopes\": unknown value \"paper\"; it can be "
            "\"geometric\" or \"interpolated\"");
}

TEST(AttentionMistakesTest, AModelTakesOnlyDataThatItCanRead) {
  EXPECT_THAT(
      mistakes("[data]\ntask = \"text\"\npath = \"a.txt\"\n[model]\nkind = \"classifier\""),
      StartsWith(
          "c.toml:5:8: \"model.kind\" is \"classifier\", which needs a question with an answer "
          "of one token; \"data.task\" = \"text\" has none: use model.kind = \"decoder\""));
  EXPECT_EQ(mistakes("[data]\ntask = \"shapes\""),
            "c.toml:2:8: \"model.kind\" is \"decoder\", which needs a sequence to continue; "
            "\"data.task\" = \"shapes\" has none: use model.kind = \"classifier\"");
  EXPECT_EQ(mistakes("[model]\nkind = \"classifier\"\n[data]\ntask = \"parity\""), "");
}

// Runs that are older than the key have their sinusoids as they are.
TEST(AttentionMistakesTest, ASavedConfigThatDoesNotSayHasSinusoidsInFull) {
  const std::string text = "[model]\nposition = \"sinusoidal\"\n";
  EXPECT_EQ(parsed(text).model.sinusoidal_scale, 0.0);  // init_std
  EXPECT_TRUE(parsed(text).model.learn_sinusoidal_scale);
  EXPECT_EQ(parse_saved_config(text, "c.toml")->model.sinusoidal_scale, 1.0);
  EXPECT_FALSE(parse_saved_config(text, "c.toml")->model.learn_sinusoidal_scale);
  const std::string saved = to_toml(parsed(text));
  EXPECT_EQ(parse_saved_config(saved, "c.toml")->model.sinusoidal_scale, 0.0);
}

}  // namespace
}  // namespace qkv
