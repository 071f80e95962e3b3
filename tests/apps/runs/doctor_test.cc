// ./qkv doctor: sound configs pass, and what is broken in others is named.

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;

class DoctorTest : public CommandLineFixture {
 protected:
  // The checks that find something wrong, with what they say.
  std::map<std::string, std::string> complaints(const std::vector<std::string>& settings,
                                                int exit_status) {
    std::vector<std::string> command = {"doctor", "tiny.toml", "--json", "-"};
    for (const std::string& setting : settings) {
      command.insert(command.end(), {"--set", setting});
    }
    const ProcessResult result = qkv(command);
    EXPECT_EQ(result.exit_status, exit_status) << result.errors;
    std::map<std::string, std::string> wrong;
    for (const json& each : json::parse(result.output)) {
      if (!each["good"].get<bool>()) wrong[each["check"]] = each["finding"];
    }
    return wrong;
  }
};

TEST_F(DoctorTest, FindsNothingWrongWithASoundConfig) {
  EXPECT_THAT(complaints({}, 0), testing::IsEmpty());
  EXPECT_THAT(complaints({"model.kind=encoder_decoder"}, 0), testing::IsEmpty());
  const ProcessResult text = qkv({"doctor", "tiny.toml"});
  expect_success(text);
  EXPECT_THAT(text.output, testing::HasSubstr("✓ causality"));
}

TEST_F(DoctorTest, ATextThatIsReadAheadIsSaidHereAndByTraining) {
  std::string text;
  for (int i = 0; i < 400; ++i) absl::StrAppend(&text, i * i, " ");
  write_bytes(folder_ / "text.txt", text);
  const std::vector<std::string> settings = {"data.task=text", "data.path=text.txt",
                                             "data.length=8", "attention.causal=false"};
  EXPECT_THAT(complaints(settings, 1)["causality"],
              testing::HasSubstr("reads its answer before it gives it"));
  const ProcessResult trained = train_tiny("run", settings);
  expect_success(trained);
  EXPECT_THAT(unfolded(trained.output),
              testing::HasSubstr("attention.causal is false: each position reads the tokens after "
                                 "it, too, and so the answer that it should give; a low loss does "
                                 "not mean that the model can write\n"));
}

struct Broken {
  std::vector<std::string> settings;
  std::string check, finding;
};

TEST_F(DoctorTest, NamesWhatIsBroken) {
  const std::string rate_is_high = "it learns them: optimizer.learning_rate is too high";
  const Broken kinds[] = {
      {{"optimizer.learning_rate=1"}, "learning by heart", rate_is_high},  // 1,000 times as high
      {{"optimizer.learning_rate=1e30"}, "learning by heart", rate_is_high},
      {{"optimizer.learning_rate=0"}, "learning by heart", "optimizer.learning_rate is too low"},
      {{"model.norm=post", "model.num_layers=8", "optimizer.learning_rate=0.03"},
       "learning by heart",
       rate_is_high},
      {{"optimizer.learning_rate=1e-7"},
       "learning by heart",
       "it learns them: optimizer.learning_rate is too low"},
      {{"attention.causal=false"}, "causality", "reads its answer before it gives it"},
      {{"model.init_std=5"}, "loss at the start", "a smaller model.init_std helps"},
      {{"model.init_std=1e-30", "model.norm=none"}, "gradients", "parameters get none: "},
      {{"model.norm=none", "model.num_layers=24", "model.init_std=0.7"},
       "loss at the start",
       "a smaller model.init_std helps"},
      {{"train.batch_size=1048576", "data.length=1000", "data.alphabet=50"},
       "memory",
       "a smaller train.batch_size"},
      {{"model.d_model=65536", "model.d_ff=262144", "model.num_layers=100"},
       "memory",
       "a smaller model.d_model"}};
  for (const Broken& broken : kinds) {
    EXPECT_THAT(complaints(broken.settings, 1),
                testing::Contains(testing::Pair(broken.check, testing::HasSubstr(broken.finding))))
        << testing::PrintToString(broken.settings);
  }
}

}  // namespace
}  // namespace qkv
