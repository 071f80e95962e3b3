#include "train/folder/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/tasks/tasks.h"
#include "tests/temporary_folder.h"
#include "train/config/config.h"
#include "train/folder/experiment.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

Config small() {
  Config config;
  config.data.alphabet = 4;
  config.data.length = 3;
  config.model.num_layers = config.model.num_heads = 1;
  config.model.d_model = config.model.d_ff = 4;
  config.model.bias = false;
  config.model.position = Position::kNone;
  config.optimizer.kind = OptimizerKind::kSgd;
  return config;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() { EXPECT_TRUE(trainer_.step().ok()); }

  absl::Status save() {
    RunState state;
    state.step = 1;
    return save(state);
  }
  absl::Status save(const RunState& state) {
    return save_checkpoint(
        path_, checkpoint_of(config_, *dataset_, trainer_.model(), trainer_.optimizer(), state));
  }
  // Into another model, as --resume does.
  absl::Status resume() {
    const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(path_);
    if (!checkpoint.ok()) return checkpoint.status();
    Trainer other(config_, *dataset_);
    return restore(path_, *checkpoint, other.model(), &other.optimizer());
  }
  absl::Status use() {
    const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(path_);
    if (!checkpoint.ok()) return checkpoint.status();
    return restore_model(path_, *checkpoint).status();
  }
  // Changes the file, with checksums that fit again.
  template <class Change>
  void rewrite(const Change& change) {
    TensorFile file = *read_safetensors(path_);
    change(file);
    ASSERT_TRUE(write_safetensors(path_, file).ok());
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "c.safetensors";
  const Config config_ = small();
  const std::unique_ptr<Dataset> dataset_ = *make_dataset(config_.data, config_.seed);
  Trainer trainer_{config_, *dataset_};
};

TEST_F(CheckpointTest, WhereTheRunStandsComesBackToTheLastBit) {
  const RunState state = {.step = 7, .best_val_loss = 1.0 / 3, .best_step = 5, .unwritten = {}};
  ASSERT_TRUE(save(state).ok());
  const absl::StatusOr<Checkpoint> checkpoint = load_checkpoint(path_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->state.step, state.step);
  EXPECT_EQ(checkpoint->state.best_val_loss, state.best_val_loss);
  EXPECT_EQ(checkpoint->state.best_step, state.best_step);
}

TEST_F(CheckpointTest, ATensorTooManyIsAnError) {
  ASSERT_TRUE(save().ok());
  rewrite([](TensorFile& file) {
    file.tensors.push_back({"other.weight", Array::full({2}, DType::f32, 0)});
  });
  EXPECT_EQ(resume().message(), path_ + ": it holds tensors that the model does not have");
}

TEST_F(CheckpointTest, NumbersThatAreNotFiniteAreAnErrorThatNamesTheTensor) {
  ASSERT_TRUE(save().ok());
  const std::string weight = "blocks.0.attention.query.weight";
  const auto put = [&](const std::string& name, float a, float b) {
    rewrite([&](TensorFile& file) {
      for (NamedArray& tensor : file.tensors) {
        if (tensor.name != name) continue;
        tensor.array.mutable_data<float>()[0] = a;
        tensor.array.mutable_data<float>()[5] = b;
      }
    });
  };
  put("optimizer.velocity." + weight, -INFINITY, 0);
  EXPECT_EQ(resume().message(),
            path_ + ": 1 of the 16 numbers of optimizer.velocity." + weight + " are not finite");
  EXPECT_TRUE(use().ok());  // without the optimizer
  put(weight, NAN, INFINITY);
  for (const absl::Status& status : {resume(), use()}) {
    EXPECT_EQ(status.message(), path_ + ": 2 of the 16 numbers of " + weight + " are not finite");
    EXPECT_TRUE(absl::IsDataLoss(status));
  }
}

TEST_F(CheckpointTest, AConfigThatCannotBeReadIsADamageOfTheFile) {
  ASSERT_TRUE(save().ok());
  rewrite([](TensorFile& file) { file.metadata["config"] = "[model]\nd_modl = 4\n"; });
  const absl::Status status = load_checkpoint(path_).status();
  EXPECT_EQ(status.message(),
            path_ + " (config):2:1: unknown key \"model.d_modl\"; did you mean \"d_model\"?");
  EXPECT_TRUE(absl::IsDataLoss(status));
}

// Checkpoints of models that read images, with sizes that none of them can have.

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
