#include "train/folder/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/tasks/tasks.h"
#include "tests/temporary_folder.h"
#include "train/config/config.h"
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

}  // namespace
}  // namespace qkv
