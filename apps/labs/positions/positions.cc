// Places in a model: by an encoding of positions, and without one.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/core/sure.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

// A question where the distance counts (echo), and one where the place does (reverse).
constexpr const char *kEcho = "echo", *kReverse = "reverse";
// The inputs of echo are whole periods, so that a model that sees all of them can count them, and
// still does not know which letter comes first.
constexpr int64_t kPeriod = 3, kLength = 10, kDeep = 3;
constexpr double kLearned = 0.95;  // share of tokens that are right, of a task that is learned

struct Arm {
  const char* task = kEcho;
  Position position = Position::kNone;
  int64_t layers = 1;
  bool is_causal = true;
};

std::vector<Trained> train(const LabContext& lab, const Arm& arm) {
  const Position position = lab.is_control() ? Position::kNone : arm.position;
  std::vector<std::string> settings = {absl::StrCat("data.task=", arm.task),
                                       absl::StrCat("model.position=", name_of(position)),
                                       absl::StrCat("model.num_layers=", arm.layers)};
  if (arm.task == kEcho) {
    settings.push_back(absl::StrCat("data.length=", kLength));
    settings.push_back(absl::StrCat("data.distance=", kPeriod));
  } else {
    settings.emplace_back("data.length=8");
  }
  if (!arm.is_causal) settings.emplace_back("attention.causal=false");
  if (position == Position::kSinusoidal) settings.emplace_back("model.sinusoidal_scale=0.3");
  return train_over_seeds(lab, settings);
}

// Echo without positions, under a causal mask.
struct Masked {
  int64_t layers;
  Samples right;  // shares of tokens
};

// How often a guess is right that knows the letters of a period, but not their order.
struct Guesses {
  double commonest = 0;  // and says the commonest of them
  double other = 0;      // or the commonest of the others than the letter that stands there
};

double share_of_commonest(const std::vector<int64_t>& letters) {
  int64_t most = 0;
  for (const int64_t letter : letters) most = std::max(most, std::ranges::count(letters, letter));
  return static_cast<double>(most) / static_cast<double>(letters.size());
}

Guesses guess(const LabContext& lab) {
  Samples commonest, other;
  for (const uint64_t seed : lab.seeds()) {
    const Config config = lab_config(lab, seed,
                                     {"data.task=echo", absl::StrCat("data.length=", kLength),
                                      absl::StrCat("data.distance=", kPeriod)});
    const auto data = sure(make_dataset(config));
    for (int64_t i = 0; i < data->validation_size(); ++i) {
      const std::vector<int64_t> period = data->validation_example(i).prompt;
      commonest.push_back(share_of_commonest(period));
      // Before each of the answers stands a letter of the period, each in turn, the last one first.
      for (int64_t answer = 0; answer < kLength - kPeriod; ++answer) {
        std::vector<int64_t> others = period;
        others.erase(others.begin() + (answer + kPeriod - 1) % kPeriod);
        other.push_back(share_of_commonest(others));
      }
    }
  }
  return {.commonest = mean_of(commonest), .other = mean_of(other)};
}

Section source_section(const LabContext& lab) {
  std::vector<Losses> losses;
  const auto right_of = [&](const Arm& arm) {
    const std::vector<Trained> models = train(lab, arm);
    losses.push_back(training_losses_of(models));
    return right_tokens_of(models);
  };
  const auto unmasked = [&](Position position, int64_t layers) {
    return right_of({.position = position, .layers = layers, .is_causal = false});
  };
  const Samples learned = unmasked(Position::kLearned, 1), flat = unmasked(Position::kNone, 1),
                deep = unmasked(Position::kNone, kDeep);
  const Guesses guesses = guess(lab);
  std::vector<Masked> masked;
  for (int64_t layers = 1; layers <= kDeep; ++layers) {
    masked.push_back({layers, right_of({.layers = layers})});
  }
  LineChart chart = line_chart(
      say("Without positions: share of tokens that are right"), say("layers"), say("share"),
      {series_by(say("causal mask"), masked, &Masked::layers, &Masked::right),
       {.name = say("no mask"),
        .x = {1, kDeep},
        .y = {mean_of(flat), mean_of(deep)},
        .spread = {deviation_of(flat), deviation_of(deep)}}});
  chart.levels = {{say("the commonest letter of the period"), guesses.commonest},
                  {say("best guess without order"), guesses.other}};
  Section section = make_section(
      "positions.source",
      {premise(
           at_least(say("no mask, learned positions: tokens that are right"), kLearned, learned)),
       at_most(say("no mask, no positions, {0} layers: right, beside the best guess without order",
                   kDeep),
               guesses.other, deep),
       beyond(named("one", at_most(say("causal mask, no positions, 1 layer"), guesses.other,
                                   masked.front().right))),
       beyond(named("mask", at_most(say("causal mask, no positions, {0} layers", kDeep),
                                    guesses.other, masked.back().right)))},
      {chart});
  add_settled(section, losses);
  return section;
}

// Both kinds of positions, on both tasks. One training that learns is enough for "can".
Section kinds_section(const LabContext& lab) {
  Section section = make_section("positions.kinds");
  LineChart chart = chart_of_losses({});
  for (const char* const task : {kReverse, kEcho}) {
    for (const Position position : {Position::kLearned, Position::kSinusoidal}) {
      const auto models = train(lab, {.task = task, .position = position});
      const std::string name = absl::StrCat(task, ", ", name_of(position));
      section.add(
          at_least(say("{0}: tokens that are right", name), kLearned, right_tokens_of(models)));
      chart.series.push_back(numbered_series(name, models[0].losses));
    }
  }
  section.show(chart);
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  return {source_section(lab), kinds_section(lab)};
}

}  // namespace

Lab positions_lab() { return make_lab("positions", run); }

}  // namespace qkv
