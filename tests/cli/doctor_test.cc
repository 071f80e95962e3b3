// ./qkv doctor: sound configs pass, and what is broken in others is named.

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line_fixture.h"

namespace qkv {
namespace {

using nlohmann::json;

class DoctorTest : public CommandLineFixture {
 protected:
  // The checks that find something wrong, and the exit status.
  std::vector<std::string> complaints(const std::vector<std::string>& settings, int exit_status) {
    std::vector<std::string> command = {"doctor", "tiny.toml", "--json", "-"};
    for (const std::string& setting : settings) {
      command.insert(command.end(), {"--set", setting});
    }
    const ProcessResult result = qkv(command);
    EXPECT_EQ(result.exit_status, exit_status) << result.errors;
    std::vector<std::string> wrong;
    for (const json& each : json::parse(result.output)) {
      if (!each["good"].get<bool>()) wrong.push_back(each["check"]);
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

struct Broken {
  std::vector<std::string> settings;
  std::string check;
};

TEST_F(DoctorTest, NamesWhatIsBroken) {
  const Broken kinds[] = {
      {{"optimizer.learning_rate=10"}, "learning by heart"},
      {{"optimizer.learning_rate=1e-7"}, "learning by heart"},
      {{"attention.causal=false"}, "causality"},
      {{"model.init_std=5"}, "loss at the start"},
      {{"model.init_std=1e-30", "model.norm=none"}, "gradients"},
      {{"model.norm=none", "model.num_layers=24", "model.init_std=0.7"}, "loss at the start"},
      {{"train.batch_size=1048576", "data.length=1000", "data.alphabet=50"}, "memory"},
      {{"model.d_model=65536", "model.d_ff=262144", "model.num_layers=100"}, "memory"}};
  for (const Broken& broken : kinds) {
    EXPECT_THAT(complaints(broken.settings, 1), testing::Contains(broken.check))
        << testing::PrintToString(broken.settings);
  }
}

TEST_F(DoctorTest, WritesNoFileAndRefusesWhatATrainingWouldRefuse) {
  expect_success(qkv({"doctor", "tiny.toml"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
  EXPECT_EQ(qkv({"doctor", "tiny.toml", "--set", "model.num_heads=3"}).exit_status, 2);
  EXPECT_EQ(qkv({"doctor", "none.toml"}).exit_status, 2);
}

}  // namespace
}  // namespace qkv
