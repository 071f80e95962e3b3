// Training with several threads.

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "framework/autograd/backward.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/ops.h"
#include "framework/optim/optimizer.h"
#include "models/model.h"
#include "tests/models/every_choice.h"

namespace qkv {
namespace {

constexpr int64_t kBatch = 16, kLength = 32, kVocabulary = 11;

std::string bits_of(const std::vector<NamedParameter>& parameters) {
  std::string all;
  for (const NamedParameter& p : parameters) {
    all.append(static_cast<const char*>(p.tensor.array().raw()), p.tensor.array().bytes());
  }
  return all;
}

// The bits of the parameters after some steps on numbers in a row, large enough to be shared.
std::string trained(const ChosenModel& chosen, bool bf16, int steps) {
  const Model model(chosen.options, data_for(chosen, kLength, kVocabulary),
                    Initializer(RandomStream(3), DType::f32, bf16));
  const std::vector<NamedParameter> all = parameters(model);
  const std::unique_ptr<Optimizer> adam = make_optimizer({.kind = OptimizerKind::kAdamW}, all);
  const ModelBatch batch = batch_for(chosen, kBatch, kLength, kVocabulary);
  for (int step = 0; step < steps; ++step) {
    ForwardContext context{.training = true, .random = RandomStream(static_cast<uint64_t>(step))};
    const Gradients g = backward(cross_entropy(model(batch.inputs, context), batch.targets));
    std::vector<Tensor> gradients;
    for (const NamedParameter& p : all) gradients.push_back(g[p.tensor]);
    adam->step(gradients, 1e-3, clip_scale(global_norm(gradients), 1.0));
  }
  return bits_of(all);
}

ModelOptions base(int64_t num_layers, double dropout) {
  ModelOptions options = {
      .num_layers = num_layers, .d_model = 64, .num_heads = 4, .d_ff = 128, .dropout = dropout};
  options.patch_size = 2;
  return options;
}

std::string trained_decoder(bool bf16, double dropout) {
  return trained({.name = "decoder", .options = base(2, dropout)}, bf16, 3);
}

class TrainingThreadsTest : public testing::Test {
 protected:
  ~TrainingThreadsTest() override { kernels::set_num_threads(0); }
};

TEST_F(TrainingThreadsTest, AnyNumberOfThreadsTrainsTheSameBitsOfEveryChoice) {
  for (const bool bf16 : {false, true}) {
    for (const ChosenModel& chosen : every_choice(base(1, 0.1))) {
      kernels::set_num_threads(1);
      const std::string one = trained(chosen, bf16, 2);
      for (const int threads : {2, 3}) {
        kernels::set_num_threads(threads);
        EXPECT_TRUE(trained(chosen, bf16, 2) == one)
            << chosen.name << ", " << threads << " threads, bf16: " << bf16;
      }
    }
  }
}

TEST_F(TrainingThreadsTest, TwoModelsAreTrainedAtTheSameTimeAsEachAlone) {
  kernels::set_num_threads(2);
  const std::string alone = trained_decoder(false, 0.0);
  std::vector<std::string> beside(2);
  std::vector<std::thread> threads;
  for (std::string& bits : beside)
    threads.emplace_back([&] { bits = trained_decoder(false, 0.0); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(beside[0], alone);
  EXPECT_EQ(beside[1], alone);
}

}  // namespace
}  // namespace qkv
