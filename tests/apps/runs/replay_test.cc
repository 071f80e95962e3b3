// ./qkv replay: what it says of a run that ended in NaN is what a search finds that shares no code
// with it, and it changes nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/runs/replay/first_bad.h"
#include "framework/core/shape.h"
#include "framework/graph/middleware.h"
#include "framework/graph/op.h"
#include "framework/io/safetensors.h"
#include "framework/ops/ops.h"
#include "tests/command_line_fixture.h"
#include "tests/framework/testing.h"
#include "train/config/config.h"
#include "train/evaluate/evaluate.h"
#include "train/folder/checkpoint.h"
#include "train/folder/experiment.h"
#include "train/loop/trainer.h"

namespace qkv {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Where a number stops being finite.
struct Place {
  int64_t step = 0;
  std::string op, part, path;
  std::vector<int64_t> element;

  bool operator==(const Place&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Place& place) {
  return out << "step " << place.step << ", " << place.op << ", " << place.part << ", "
             << place.path << ", " << testing::PrintToString(place.element);
}

std::optional<std::vector<int64_t>> first_bad_element(const Array& array) {
  const std::vector<double> numbers = array.to_vector();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (std::isnan(numbers[i]) || std::isinf(numbers[i])) {
      return index_of(array.shape(), static_cast<int64_t>(i));
    }
  }
  return std::nullopt;
}

// Looks at every result as it is made, and holds none.
class Search final : public Middleware {
 public:
  explicit Search(bool evaluates = false) : evaluates_(evaluates) {}

  void before_section(std::string_view name) override { backward_ |= name == "backward"; }
  void after_section(std::string_view name) override { backward_ &= name != "backward"; }
  Tensor forward(const std::shared_ptr<Op>& op, TensorSpan x) override {
    Tensor y = next(op, x);
    look(*op, y.array());
    return y;
  }
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    std::vector<Tensor> dx = next(op, saved, dy);
    for (const Tensor& each : dx) {
      if (each.defined()) look(op, each.array());
    }
    return dx;
  }

  Place found;

 private:
  void look(const Op& op, const Array& array) {
    if (!found.op.empty() || op.name() == "masked_fill") return;
    const auto element = first_bad_element(array);
    if (!element) return;
    found = {.op = std::string(op.name()),
             .part = evaluates_  ? "evaluation"
                     : backward_ ? "backward"
                                 : "forward",
             .path = Scope::current(),
             .element = *element};
  }

  bool evaluates_, backward_ = false;
};

// The number of the optimizer, or else the weight, that a step has made.
Place bad_number_of(const Trainer& trainer, const std::string& optimizer) {
  const auto look = [&](const std::string& name, const Array& array) -> std::optional<Place> {
    const auto element = first_bad_element(array);
    if (!element) return std::nullopt;
    return Place{.op = optimizer, .part = "update", .path = name, .element = *element};
  };
  for (const auto& [name, tensor] : parameters(trainer.model())) {
    for (const NamedState& state : trainer.optimizer().state()) {
      if (state.name != "first_moment." + name && state.name != "second_moment." + name &&
          state.name != "velocity." + name) {
        continue;
      }
      if (const auto place = look(state.name, state.array)) return *place;
    }
    if (const auto place = look(name, tensor.array())) return *place;
  }
  return {};
}

// From the first step of the run on, or from a checkpoint.
Place search_run(const Config& config, const std::string& checkpoint = "") {
  const auto dataset = *make_dataset(config);
  Trainer trainer(config, *dataset);
  if (!checkpoint.empty()) {
    EXPECT_TRUE(restore(checkpoint, *load_checkpoint(checkpoint), trainer.evaluated_model(),
                        &trainer.optimizer(), CheckpointNumbers::kAny)
                    .ok());
  }
  while (trainer.steps_made() < config.train.steps) {
    const int64_t number = trainer.steps_made() + 1;
    Search search;
    const bool made = trainer.step().ok();
    Place place = search.found;
    if (made && place.op.empty()) {
      place = bad_number_of(trainer, std::string(name_of(config.optimizer.kind)));
    }
    if (made && place.op.empty() && number % config.train.eval_interval == 0) {
      Search in_evaluation(/*evaluates=*/true);
      const int64_t size =
          config.train.eval_batch_size > 0 ? config.train.eval_batch_size : config.train.batch_size;
      EXPECT_TRUE(evaluate(trainer.evaluated_model(), *dataset, Split::kValidation, size).ok());
      place = in_evaluation.found;
    }
    place.step = number;
    if (!place.op.empty()) return place;
  }
  return {};
}

Place place_of(const json& replay) {
  const json& first = replay["first"];
  return {.step = replay["step"],
          .op = first["op"],
          .part = first["part"],
          .path = first["path"],
          .element = first["element"]};
}

class ReplayTest : public CommandLineFixture {
 protected:
  ProcessResult train(const std::vector<std::string>& settings) {
    std::filesystem::remove_all(folder_ / "run");
    return train_tiny("run", settings);
  }

  json replay(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"replay", "run", "--json", "-"});
    const ProcessResult result = qkv(options);
    expect_success(result);
    return json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  }

  Config config() { return *load_saved_config(folder_ / "run/config.toml"); }

  // Every file of the run, with the moment of its last change.
  auto files() {
    std::map<std::string, std::pair<std::string, std::filesystem::file_time_type>> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "run")) {
      const std::string path = entry.path().string();
      all[path] = {entry.is_regular_file() ? contents_of(path) : "",
                   std::filesystem::last_write_time(entry)};
    }
    return all;
  }

  void plant(const std::string& file, const std::string& tensor, double value) {
    TensorFile content = *read_safetensors(folder_ / file);
    for (NamedArray& each : content.tensors) {
      if (each.name == tensor) {
        each.array.mutable_data<float>()[3] = static_cast<float>(value);
      }
    }
    ASSERT_TRUE(write_safetensors(folder_ / file, content).ok());
  }
};

TEST_F(ReplayTest, NamesWhatASearchFinds) {
  const std::string rate = "optimizer.learning_rate=1e3";
  EXPECT_EQ(train({rate}).exit_status, 1);
  // The step whose weights are the first bad ones is another one on another processor.
  const std::string after = absl::StrCat("train.eval_interval=", search_run(config()).step - 1);
  const std::pair<std::vector<std::string>, std::string> runs[] = {
      {{rate}, "forward"},
      {{rate, "train.precision=bf16", "train.accumulation_steps=2"}, "forward"},
      {{rate, "model.kind=encoder_decoder", "model.dropout=0.1"}, "backward"},
      {{rate, "data.task=shapes", "data.image_size=12", "model.kind=classifier"}, "forward"},
      {{"optimizer.learning_rate=1e6", "model.mixer=recurrence"}, "forward"},
      {{rate, "model.mixer=convolution", "train.average=0.5"}, "forward"},
      {{rate, after}, "evaluation"},
      {{"model.init_std=1e6", "model.norm=none"}, "forward"},
      {{rate, "model.init_std=1e37"}, "update"},
  };
  for (const auto& [settings, part] : runs) {
    const std::string name = testing::PrintToString(settings);
    const ProcessResult trained = train(settings);
    EXPECT_EQ(trained.exit_status, 1) << name;
    EXPECT_THAT(trained.errors, HasSubstr("; qkv replay run shows where\n")) << name;
    const auto before = files();
    const json found = replay();
    EXPECT_EQ(files(), before) << name;
    const Place place = search_run(config());
    EXPECT_EQ(place.part, part) << name;
    EXPECT_EQ(place_of(found), place) << name;
    EXPECT_TRUE(found["differs_at"].is_null()) << name;
    EXPECT_NE(found["first"]["cause"], "") << name;
  }
}

// A weight of 0 times anything is finite; the gradient of what it multiplies is not.
TEST_F(ReplayTest, NamesAnOpOfTheBackward) {
  expect_success(train({"train.steps=20", "model.tie_embeddings=false"}));
  const std::string last = "run/checkpoints/last.safetensors";
  TensorFile content = *read_safetensors(folder_ / last);
  for (NamedArray& each : content.tensors) {
    if (each.name == "blocks.0.feed_forward.up.weight") {
      each.array = Array::full(each.array.shape(), DType::f32, 0);
    }
    if (each.name == "blocks.0.feed_forward.up.bias") {
      each.array = Array::full(each.array.shape(), DType::f32, 0);
    }
    if (each.name == "blocks.0.feed_forward.down.weight") {
      std::vector<double> numbers(static_cast<size_t>(each.array.size()), 3e38);
      for (size_t i = 0; i < numbers.size(); i += 3) numbers[i] = -3e38;
      each.array = Array::of(each.array.shape(), DType::f32, numbers);
    }
    if (each.name == "head.weight") {
      std::vector<double> numbers = each.array.to_vector();
      for (double& x : numbers) x *= 100;
      each.array = Array::of(each.array.shape(), DType::f32, numbers);
    }
  }
  ASSERT_TRUE(write_safetensors(folder_ / last, content).ok());
  const ProcessResult resumed =
      qkv({"train", "run/config.toml", "--resume", "--out", "run", "--set", "train.steps=40"});
  EXPECT_THAT(resumed.errors, HasSubstr("step 21: the gradient's norm is"));
  const Place place = search_run(config(), folder_ / last);
  EXPECT_EQ(place.part, "backward");
  const json found = replay();
  EXPECT_EQ(place_of(found), place);
  EXPECT_EQ(found["first"]["within"], "linear");
}

TEST_F(ReplayTest, ANumberThatWasPlantedInACheckpointIsNamedWithWhatReadsIt) {
  expect_success(train({}));
  expect_success(
      qkv({"train", "tiny.toml", "--out", "run", "--resume", "--set", "train.steps=60"}));
  const std::string last = "run/checkpoints/last.safetensors";
  for (const auto& [tensor, value] : std::map<std::string, double>{
           {"blocks.0.attention.key.weight", NAN},
           {"final_norm.bias", INFINITY},
           {"optimizer.second_moment.blocks.0.feed_forward.up.bias", NAN}}) {
    const std::string whole = in(last);
    plant(last, tensor, value);
    expect_success(qkv({"replay", "run"}));
    const json found = replay();
    Config longer = config();
    longer.train.steps = 61;
    EXPECT_EQ(place_of(found), search_run(longer, folder_ / last)) << tensor;
    EXPECT_THAT(found["first"]["cause"].get<std::string>(), HasSubstr("itself holds")) << tensor;
    EXPECT_THAT(found["notes"].dump(), HasSubstr("numbers of " + tensor)) << tensor;
    EXPECT_EQ(found["advice"], "") << tensor;  // training has not made it
    // The steps before it can be repeated from a whole checkpoint.
    EXPECT_THAT(found["notes"].dump(), HasSubstr("best.safetensors")) << tensor;
    write_bytes(folder_ / last, whole);
  }
}

TEST_F(ReplayTest, TheElementsThatFeedTheBadOneAreThoseThatTheOpReads) {
  EXPECT_EQ(train({"model.init_std=1e6", "model.norm=none"}).exit_status, 1);
  const json first = replay()["first"];
  ASSERT_EQ(first["op"], "linear");
  const json &x = first["operands"][0], &weight = first["operands"][1];
  // y[b, t, n] reads x[b, t, :] and weight[n, :].
  EXPECT_EQ(x["feeding"], x["shape"].back());
  EXPECT_EQ(weight["feeding"], weight["shape"].back());
  for (const json& fed : x["fed"]) {
    EXPECT_EQ(fed["element"][0], first["element"][0]);
    EXPECT_EQ(fed["element"][1], first["element"][1]);
  }
  for (const json& fed : weight["fed"]) EXPECT_EQ(fed["element"][0], first["element"][2]);
  EXPECT_EQ(weight["parameter"], true);
  EXPECT_THAT(first["cause"].get<std::string>(), HasSubstr("beyond the largest number of f32"));
}

TEST_F(ReplayTest, WeightsThatGrewAreListedWithTheirRate) {
  EXPECT_EQ(train({"optimizer.learning_rate=1e3", "train.checkpoint_interval=0"}).exit_status, 1);
  const json found = replay();
  ASSERT_FALSE(found["growth"].empty());
  const json& fastest = found["growth"][0];
  EXPECT_GT(fastest["each_step"], 90);  // learning_rate * weight_decay is 100
  const double steps = found["step"].get<double>() - 1;
  EXPECT_NEAR(std::log(fastest["now"].get<double>() / fastest["before"].get<double>()) / steps,
              std::log(fastest["each_step"].get<double>()), 1e-9);
  EXPECT_THAT(qkv({"replay", "run"}).output, HasSubstr("norms since step 0"));
}

TEST_F(ReplayTest, AnyStepIsATableOfItsOps) {
  expect_success(train({"train.checkpoint_interval=10"}));
  const auto before = files();
  for (const int64_t step : {1, 15, 40}) {
    const json found = replay({"--step", std::to_string(step)});
    EXPECT_EQ(found["finite"], true);
    EXPECT_EQ(found["checkpoint_step"], (step - 1) / 10 * 10);
    EXPECT_TRUE(found["differs_at"].is_null());
    double loss = NAN;  // of the line of that step, where there is one
    const auto lines = read_metrics(folder_ / "run/metrics.jsonl");
    for (const Metrics& line : *lines) {
      if (line.step == step) loss = *line.loss;
    }
    if (!std::isnan(loss)) {
      EXPECT_EQ(found["loss"].get<double>(), loss);
    }
    ASSERT_EQ(found["table"].size(), found["ops"].get<size_t>());
    EXPECT_EQ(found["table"][0]["op"], "embedding");
    EXPECT_EQ(found["table"].back()["part"], "update");
  }
  const ProcessResult text = qkv({"replay", "run", "--step", "15"});
  expect_success(text);
  EXPECT_THAT(text.output, HasSubstr("\nforward, blocks.0.attention\n"));
  EXPECT_THAT(text.output, HasSubstr("\nupdate, blocks.0.attention.key.weight\n"));
  EXPECT_EQ(files(), before);
}

TEST_F(ReplayTest, AStepAfterTheFirstBadOneIsNotRepeated) {
  EXPECT_EQ(train({"optimizer.learning_rate=1e3"}).exit_status, 1);
  const int64_t bad = search_run(config()).step;
  expect_error(qkv({"replay", "run", "--step", "30"}), 2,
               absl::StrCat("--step 30: the numbers of the run are finite up to step ", bad - 1,
                            " only; without --step, step ", bad, " is looked at"));
}

NumberRange range_of_numbers(const std::vector<double>& numbers) {
  return range_of(Array::of({std::ssize(numbers)}, DType::f64, numbers));
}

TEST(NumberRangeTest, IsThatOfTheFiniteNumbers) {
  const NumberRange range = range_of_numbers({1, -3, INFINITY, std::nan(""), 2, -INFINITY});
  EXPECT_EQ(range.least, -3);
  EXPECT_EQ(range.greatest, 2);
  EXPECT_EQ(range.not_finite, 3);
  EXPECT_DOUBLE_EQ(range.norm, std::sqrt(14.0));
  EXPECT_EQ(range_of_numbers({5, 7}).least, 5);
  EXPECT_EQ(range_of_numbers({-5, -7}).greatest, -5);
  EXPECT_DOUBLE_EQ(range_of_numbers({3e200, 4e200}).norm, 5e200);
}

using Operands = std::vector<Tensor>;

StepEntry entry_of(const std::string& op, const Operands& operands,
                   const std::function<Tensor(const Operands&)>& f) {
  StepEntry entry;
  entry.op = op;
  for (const Tensor& x : operands) {
    entry.operands.push_back({.name = std::string(1, "ab"[entry.operands.size()]), .tensor = x});
  }
  entry.output = f(operands);
  entry.again = f;
  return entry;
}

std::string cause_of(const StepEntry& entry) {
  StepRecording recording;
  recording.entries = {entry};
  return find_first_bad(recording).cause;
}

Tensor with_one(double number, DType dtype = DType::f32) {
  return constant({3}, {1, number, 2}, dtype);
}

TEST(FirstBadTest, TheCauseIsTheNumberAtWhichAnOpHasNone) {
  const auto one = [](auto op) { return [op](const Operands& x) { return op(x[0]); }; };
  const Operands both = {constant({2}, {1, 2}, DType::f32), constant({2}, {4, 0}, DType::f32)};
  EXPECT_EQ(cause_of(entry_of("div", both, [](const Operands& x) { return x[0] / x[1]; })),
            "It divides 2 by 0. ");
  const Operands small = {constant({1}, {3e38}, DType::f32), constant({1}, {0.5}, DType::f32)};
  EXPECT_EQ(cause_of(entry_of("div", small, [](const Operands& x) { return x[0] / x[1]; })),
            "In f64 it is 6e+38, beyond the largest number of f32, 3.4e+38. The numbers of a come "
            "up to 3e+38. ");
  const Operands lost = {with_one(INFINITY), constant({3}, {1, 0, 1}, DType::f32)};
  EXPECT_EQ(cause_of(entry_of("mul", lost, [](const Operands& x) { return x[0] * x[1]; })),
            "a itself holds inf at [1]; the op passes it on. ");
  EXPECT_EQ(cause_of(entry_of("log", {with_one(-3)}, one([](auto& x) { return log(x); }))),
            "It takes the logarithm of -3. ");
  EXPECT_EQ(cause_of(entry_of("log", {with_one(0)}, one([](auto& x) { return log(x); }))),
            "It takes the logarithm of 0. ");
  EXPECT_EQ(cause_of(entry_of("sqrt", {with_one(-4)}, one([](auto& x) { return sqrt(x); }))),
            "It takes the root of -4. ");
  EXPECT_EQ(cause_of(entry_of("rsqrt", {with_one(0)}, one([](auto& x) { return rsqrt(x); }))),
            "It divides by the root of 0. ");
  EXPECT_EQ(cause_of(entry_of("pow", {with_one(0)}, one([](auto& x) { return pow(x, -1.0); }))),
            "It is inf in f64, too. ");
}

TEST(FirstBadTest, TheCauseIsTheLargestNumberOfItsType) {
  const auto exponential = [](const Operands& x) { return exp(x[0]); };
  EXPECT_EQ(cause_of(entry_of("exp", {with_one(100)}, exponential)),
            "It takes the exponential of 100; the largest that f32 holds is that of 88.7. ");
  StepEntry narrow = entry_of("exp", {with_one(100)}, exponential);
  narrow.output = cast(narrow.output, DType::bf16);
  EXPECT_EQ(cause_of(narrow),
            "It takes the exponential of 100; the largest that bf16 holds is that of 88.7. ");
  EXPECT_EQ(cause_of(entry_of("exp", {with_one(800, DType::f64)}, exponential)),
            "It takes the exponential of 800; the largest that f64 holds is that of 710. ");
  const auto square = [](const Operands& x) { return x[0] * x[0]; };
  EXPECT_EQ(cause_of(entry_of("mul", {with_one(1e30)}, square)),
            "In f64 it is 1e+60, beyond the largest number of f32, 3.4e+38. The numbers of a come "
            "up to 1e+30. ");
  EXPECT_EQ(cause_of(entry_of("mul", {with_one(1e200, DType::f64)}, square)),
            "The numbers of a come up to 1e+200. ");
  EXPECT_EQ(cause_of(entry_of("mul", {with_one(-1e30)},
                              [](const Operands& x) { return x[0] * x[0] * 1e-30; })),
            "In f64 it is 1e+30, so a number on the way to it is beyond the largest of f32, "
            "3.4e+38. The numbers of a come up to 1e+30. ");
}

TEST(FirstBadTest, TheCauseIsWhatAnOperandHoldsUnlessThatIsMeantToHide) {
  StepEntry entry = entry_of("add", {with_one(-INFINITY), with_one(3e38)},
                             [](const Operands& x) { return x[0] + x[1]; });
  EXPECT_EQ(cause_of(entry), "a itself holds -inf at [1]; the op passes it on. ");
  entry.operands[0].is_masked = true;
  EXPECT_EQ(cause_of(entry), "It is -inf in f64, too. The numbers of b come up to 3e+38. ");
  entry.part = StepPart::kNorm;
  EXPECT_EQ(cause_of(entry),
            "Each gradient is finite, but the sum of their squares is not. The numbers of b come "
            "up to 3e+38. ");
}

TEST(FirstBadTest, AnUpdateIsMadeElementByElement) {
  StepEntry entry = entry_of("adamw", {with_one(INFINITY), with_one(5)},
                             [](const Operands& x) { return x[0] + x[1]; });
  entry.again = {};
  EXPECT_EQ(cause_of(entry), "");
  entry.part = StepPart::kUpdate;
  EXPECT_EQ(cause_of(entry), "a itself holds inf at [1]; the op passes it on. ");
}

}  // namespace
}  // namespace qkv
