// Checkpoints of models that read images, with sizes that none of them can have.

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/temporary_folder.h"
#include "train/folder/checkpoint.h"
#include "train/folder/experiment.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

using Metadata = std::map<std::string, std::string>;

class ImageCheckpointTest : public testing::Test {
 protected:
  ImageCheckpointTest() {
    config_.data.task = "shapes";
    config_.data.image_size = 16;
    config_.model.kind = Classifier::kName;
    config_.model.num_layers = 1;
    config_.model.d_model = config_.model.d_ff = 4;
    config_.model.num_heads = 1;
  }

  // What is said to a good checkpoint whose metadata `change` has changed; "" where it can be used.
  std::string refusal(const std::function<void(Metadata&)>& change) {
    const std::unique_ptr<Dataset> dataset = *make_dataset(config_);
    Trainer trainer(config_, *dataset);
    EXPECT_TRUE(save_checkpoint(path_, checkpoint_of(config_, *dataset, trainer.model(),
                                                     trainer.optimizer(), {}))
                    .ok());
    TensorFile file = *read_safetensors(path_);
    change(file.metadata);
    EXPECT_TRUE(write_safetensors(path_, file).ok());
    const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(path_);
    const absl::Status status =
        checkpoint.ok() ? restore_model(path_, *checkpoint).status() : checkpoint.status();
    if (status.ok()) return "";
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    const std::string message(status.message());
    EXPECT_TRUE(absl::StartsWith(message, path_ + ": ")) << message;
    return message.substr(std::min(message.size(), path_.size() + 2));
  }

  std::string refusal_of(const Metadata& sizes) {
    return refusal([&](Metadata& metadata) {
      for (const auto& [key, value] : sizes) metadata[key] = value;
    });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "c.safetensors";
  Config config_;
};

const std::string kOutOfRange = "its metadata has a size that is out of range";

TEST_F(ImageCheckpointTest, ASizeThatNoImageHasIsRefused) {
  EXPECT_EQ(refusal_of({}), "");
  for (const char* size : {"height", "width", "channels"}) {
    for (const char* value : {"0", "-16", "1048592", "9223372036854775807"}) {
      EXPECT_EQ(refusal_of({{size, value}}), kOutOfRange) << size << " " << value;
    }
    EXPECT_EQ(refusal([&](Metadata& metadata) { metadata.erase(size); }), kOutOfRange) << size;
    EXPECT_EQ(refusal_of({{size, "many"}}),
              absl::StrCat("its metadata has no valid \"", size, "\""));
  }
  EXPECT_EQ(refusal_of({{"height", "0"}, {"width", "0"}, {"channels", "0"}}), kOutOfRange);
}

// Each of them is a size of a toy, and their product is not: none of these may take memory.
TEST_F(ImageCheckpointTest, SizesWithAProductThatIsTooLargeAreRefused) {
  for (const Position position : {Position::kSinusoidal, Position::kLearned, Position::kNone}) {
    config_.model.position = position;
    EXPECT_EQ(refusal_of({{"height", "1048576"}, {"width", "1048576"}}), kOutOfRange);
    EXPECT_EQ(refusal_of({{"channels", "1048576"}}), kOutOfRange);
  }
}

TEST_F(ImageCheckpointTest, SizesOfAnotherModelAreRefused) {
  EXPECT_EQ(refusal_of({{"height", "18"}}),
            "its metadata has images of 18 x 16 pixels, but its config has patches of 4 x 4");
  const std::string names = std::to_string((*make_dataset(config_))->vocabulary().size());
  for (const char* classes : {"0", "1", "1000"}) {
    EXPECT_EQ(refusal_of({{"classes", classes}}),
              absl::StrCat("its metadata has ", classes, " classes, but a vocabulary of ", names));
  }
  EXPECT_EQ(refusal_of({{"height", "20"}}),
            "position_embedding.weight is f32[17, 4], but the model needs f32[21, 4]");
  EXPECT_EQ(refusal_of({{"channels", "2"}}),
            "patch_embedding.weight is f32[4, 16], but the model needs f32[4, 32]");
}

TEST_F(ImageCheckpointTest, SizesOfAnImageAreRefusedWhereAModelReadsTokens) {
  const Metadata image = {{"channels", "1"}, {"height", "16"}, {"width", "16"}};
  config_.data.task = "parity";
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of({{"height", "16"}}), kOutOfRange);
  EXPECT_EQ(refusal_of(image), "there is no tensor patch_embedding.weight");
  for (const char* kind : {Decoder::kName, EncoderDecoder::kName}) {
    config_.model.kind = kind;
    EXPECT_EQ(refusal_of({}), "");
    EXPECT_EQ(refusal_of(image),
              absl::StrCat("its metadata has images, but the model is of the kind ", kind));
  }
  EXPECT_EQ(refusal([](Metadata& metadata) { metadata.erase("source_length"); }), kOutOfRange);
}

}  // namespace
}  // namespace qkv
