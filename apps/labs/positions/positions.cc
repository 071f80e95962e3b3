// Learned, fixed, turned or added to the scores: what positions are worth, and beyond training.
#include <optional>

#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/core/error.h"
#include "framework/core/sure.h"
#include "train/folder/experiment.h"

namespace qkv {
namespace {

// A question where the distance counts (echo), and one where the place does (reverse).
constexpr const char *kEcho = "echo", *kReverse = "reverse";
// The inputs of echo are whole periods, so that a model that sees all of them can count them, and
// still does not know which letter comes first.
constexpr int64_t kPeriod = 3, kLength = 10, kTwice = 20, kDeep = 3;
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

// The share of tokens that are right at twice the length; nothing where that is refused.
std::optional<double> right_when_longer(const Trained& trained) {
  Config longer = trained.config;
  longer.data.length = kTwice;
  try {
    return sure(evaluate(trained.model, *sure(make_dataset(longer)), Split::kValidation, 32))
        .token_accuracy;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The results of echo with one kind of positions.
struct Kind {
  Position position;
  int64_t layers = 1;
  Samples right = {}, longer = {};  // shares of tokens, as trained and at twice the length
  bool refuses = false;             // to read that at all
  double parameters = 0;
  std::vector<double> losses = {};  // of the first seed

  std::string name() const { return name_of(position); }
};

void measure(const LabContext& lab, Kind& kind) {
  const auto models = train(lab, {.position = kind.position, .layers = kind.layers});
  kind.right = right_tokens_of(models);
  kind.losses = models[0].losses;
  kind.parameters = static_cast<double>(parameter_count(parameters(models[0].model)));
  for (const Trained& each : models) {
    const std::optional<double> right = right_when_longer(each);
    if (right) kind.longer.push_back(*right);
    kind.refuses = kind.refuses || !right;
  }
}

std::vector<Kind> measure_all(const LabContext& lab) {
  std::vector<Kind> kinds = {
      {Position::kNone},     {Position::kNone, 2},    {Position::kNone, kDeep},
      {Position::kLearned},  {Position::kSinusoidal}, {Position::kRotary},
      {Position::kRelative}, {Position::kAlibi},      {Position::kAlibi, kDeep}};
  for (Kind& kind : kinds) measure(lab, kind);
  return kinds;
}

const Kind& kind_with(const std::vector<Kind>& kinds, Position position, int64_t layers = 1) {
  return *std::ranges::find_if(
      kinds, [&](const Kind& kind) { return kind.position == position && kind.layers == layers; });
}

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

Finding is_learned(const Text& what, const Samples& right) {
  return premise(at_least(what, kLearned, right));
}

Section source_section(const LabContext& lab, const std::vector<Kind>& kinds) {
  const auto unmasked = [&](Position position, int64_t layers) {
    return right_tokens_of(
        train(lab, {.position = position, .layers = layers, .is_causal = false}));
  };
  const Samples learned = unmasked(Position::kLearned, 1), flat = unmasked(Position::kNone, 1),
                deep = unmasked(Position::kNone, kDeep);
  const Guesses guesses = guess(lab);
  std::vector<Kind> masked;
  for (const int64_t layers : {1, 2, 3}) {
    masked.push_back(kind_with(kinds, Position::kNone, layers));
  }
  LineChart chart = line_chart(say("Without positions: share of tokens that are right"),
                               say("layers"), say("share"),
                               {series_by(say("causal mask"), masked, &Kind::layers, &Kind::right),
                                {.name = say("no mask"),
                                 .x = {1, kDeep},
                                 .y = {mean_of(flat), mean_of(deep)},
                                 .spread = {deviation_of(flat), deviation_of(deep)}}});
  chart.levels = {{say("the commonest letter of the period"), guesses.commonest},
                  {say("best guess without order"), guesses.other}};
  return make_section(
      "positions.source",
      {is_learned(say("no mask, learned positions: tokens that are right"), learned),
       at_most(say("no mask, no positions, {0} layers: right, beside the best guess without order",
                   kDeep),
               guesses.other, deep),
       beyond(named("one", at_most(say("causal mask, no positions, 1 layer"), guesses.other,
                                   masked.front().right))),
       beyond(named("mask", at_most(say("causal mask, no positions, {0} layers", kDeep),
                                    guesses.other, masked.back().right)))},
      {chart});
}

Section same_section(const LabContext& lab, const std::vector<Kind>& kinds) {
  constexpr double kAlike = 0.02;  // of the shares that are right
  const Kind &learned = kind_with(kinds, Position::kLearned),
             &sinusoids = kind_with(kinds, Position::kSinusoidal);
  const auto reversed = [&](Position position) {
    return right_tokens_of(train(lab, {.task = kReverse, .position = position}));
  };
  const Samples reverse = reversed(Position::kLearned), other = reversed(Position::kSinusoidal);
  return make_section(
      "positions.same",
      {is_learned("reverse, learned", reverse), is_learned("reverse, sinusoidal", other),
       is_learned("echo, learned", learned.right), is_learned("echo, sinusoidal", sinusoids.right),
       alike(say("reverse: tokens that are right, learned and sinusoidal"), reverse, other, kAlike),
       alike(say("echo: tokens that are right, learned and sinusoidal"), learned.right,
             sinusoids.right, kAlike)},
      {line_chart(say("Loss of the training batches of echo, first seed"), say("step"),
                  log_axis(say("loss")),
                  {numbered_series("learned", learned.losses),
                   numbered_series("sinusoidal", sinusoids.losses)})});
}

Table table_of(const std::vector<Kind>& kinds) {
  return table_by(
      say("Tokens of echo that are right, of {0} symbols and of {1}", kLength, kTwice),
      {say("position"), say("layers"), say("parameters"), say("as trained"), say("twice as long")},
      kinds, [](const Kind& kind) {
        return std::vector<Text>{kind.name(), absl::StrCat(kind.layers),
                                 format_number(kind.parameters), format_samples(kind.right),
                                 kind.refuses ? say("refused") : Text(format_samples(kind.longer))};
      });
}

Section forms_section(const std::vector<Kind>& kinds) {
  const auto more = [&](Position position, int64_t layers) {
    const Kind& kind = kind_with(kinds, position, layers);
    return larger(say("tokens that are right, {0} and none, layers: {1}", kind.name(), layers),
                  kind.right, kind_with(kinds, Position::kNone, layers).right);
  };
  return make_section("positions.forms",
                      {is_learned("echo, rotary", kind_with(kinds, Position::kRotary).right),
                       is_learned("echo, relative", kind_with(kinds, Position::kRelative).right),
                       more(Position::kRotary, 1), more(Position::kRelative, 1),
                       beyond(named("alibi", more(Position::kAlibi, 1))),
                       beyond(named("deep", more(Position::kAlibi, kDeep)))},
                      {table_of(kinds)});
}

Section longer_section(const std::vector<Kind>& kinds) {
  constexpr double kAlike = 0.05;
  const Kind &learned = kind_with(kinds, Position::kLearned),
             &rotary = kind_with(kinds, Position::kRotary),
             &relative = kind_with(kinds, Position::kRelative);
  const auto as_before = [&](const Kind& kind) {
    return alike(say("{0}: tokens that are right, twice as long and as trained", kind.name()),
                 kind.longer, kind.right, kAlike);
  };
  return make_section(
      "positions.longer",
      {is_learned("echo, learned", learned.right), is_learned("echo, rotary", rotary.right),
       is_learned("echo, relative", relative.right),
       found(say("learned, twice as long"), say("refused"),
             learned.refuses ? say("refused") : say("read"), learned.refuses),
       as_before(rotary), as_before(relative),
       beyond(named("sinusoidal", as_before(kind_with(kinds, Position::kSinusoidal)))),
       beyond(named("alibi", as_before(kind_with(kinds, Position::kAlibi, kDeep))))});
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<Kind> kinds = measure_all(lab);
  return {source_section(lab, kinds), same_section(lab, kinds), forms_section(kinds),
          longer_section(kinds)};
}

}  // namespace

Lab positions_lab() { return make_lab("positions", run); }

}  // namespace qkv
