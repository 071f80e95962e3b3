// Learned, fixed, turned or added to the scores: what positions are worth, and beyond training.
#include <optional>

#include "framework/core/error.h"
#include "lessons/labs/kit.h"
#include "lessons/labs/trained.h"
#include "train/run/experiment.h"

namespace qkv {
namespace {

// A question where the place counts (reverse), and one where the distance does (echo).
struct Task {
  const char* name;
  int64_t length, longer;
};
constexpr Task kReverse = {.name = "reverse", .length = 8, .longer = 8};
constexpr Task kEcho = {.name = "echo", .length = 24, .longer = 48};

struct Kind {
  Position position;
  Samples reverse = {}, echo = {};  // share of tokens that are right
  Samples longer = {};              // of echo at twice the length
  bool refuses = false;             // to read that at all
  double parameters = 0;

  std::string name() const { return name_of(position); }
};

std::vector<Trained> train(const LabContext& lab, const Task& task, Position position) {
  if (lab.is_control()) position = Position::kNone;
  std::vector<std::string> settings = {absl::StrCat("data.task=", task.name),
                                       absl::StrCat("data.length=", task.length),
                                       absl::StrCat("model.position=", name_of(position))};
  if (task.longer > task.length) settings.emplace_back("data.distance=4");
  if (position == Position::kSinusoidal) settings.emplace_back("model.sinusoidal_scale=0.1");
  return train_over_seeds(lab, settings);
}

// The share of tokens that are right at twice the length; nothing where that is refused.
std::optional<double> right_when_longer(const Trained& trained) {
  Config longer = trained.config;
  longer.data.length = kEcho.longer;
  const auto data = make_dataset(longer);
  try {
    return evaluate(trained.model, **data, Split::kValidation, 32)->token_accuracy;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<Kind> measure(const LabContext& lab) {
  std::vector<Kind> kinds = {{Position::kNone},   {Position::kLearned}, {Position::kSinusoidal},
                             {Position::kRotary}, {Position::kAlibi},   {Position::kRelative}};
  for (Kind& kind : kinds) {
    const std::vector<Trained> echo = train(lab, kEcho, kind.position);
    kind.reverse = right_tokens_of(train(lab, kReverse, kind.position));
    kind.echo = right_tokens_of(echo);
    kind.parameters = static_cast<double>(parameter_count(parameters(echo[0].model)));
    for (const Trained& each : echo) {
      const std::optional<double> right = right_when_longer(each);
      if (right) kind.longer.push_back(*right);
      kind.refuses = kind.refuses || !right;
    }
  }
  return kinds;
}

const Kind& kind_with(const std::vector<Kind>& kinds, Position position) {
  return *std::ranges::find(kinds, position, &Kind::position);
}

Table table_of(const std::vector<Kind>& kinds) {
  return table_by("Tokens that are right",
                  {"position", "parameters", "reverse", "echo", "twice as long"}, kinds,
                  [](const Kind& kind) {
                    return std::vector{kind.name(), format_number(kind.parameters),
                                       format_samples(kind.reverse), format_samples(kind.echo),
                                       kind.refuses ? "refused" : format_samples(kind.longer)};
                  });
}

Section source_section(const std::vector<Kind>& kinds) {
  const Kind &none = kind_with(kinds, Position::kNone),
             &learned = kind_with(kinds, Position::kLearned);
  return make_section(
      "positions.source",
      {larger("reverse, learned positions and none", learned.reverse, none.reverse),
       larger("echo, learned positions and none", learned.echo, none.echo),
       at_least("reverse, learned positions, the worst seed", 0.95, least_of(learned.reverse)),
       beyond(near("echo without positions, as by guessing", 1.0 / 8, none.echo))},
      {table_of(kinds)});
}

// Their difference is small beside what positions are worth.
Finding close(const std::string& what, const Samples& a, const Samples& b) {
  const double difference = std::abs(mean_of(a) - mean_of(b));
  return found(what, "differ by less than 0.05",
               absl::StrCat(format_samples(a), " and ", format_samples(b)), difference < 0.05);
}

Section same_section(const std::vector<Kind>& kinds) {
  const Kind &learned = kind_with(kinds, Position::kLearned),
             &sinusoids = kind_with(kinds, Position::kSinusoidal);
  return make_section(
      "positions.same",
      {close("reverse, learned and sinusoidal", learned.reverse, sinusoids.reverse),
       beyond(close("echo, learned and sinusoidal", learned.echo, sinusoids.echo))});
}

Section longer_section(const std::vector<Kind>& kinds) {
  const Kind& learned = kind_with(kinds, Position::kLearned);
  const auto as_before = [&](Position position) {
    const Kind& kind = kind_with(kinds, position);
    return near(absl::StrCat(kind.name(), ", twice as long, as before"), mean_of(kind.echo),
                kind.longer, 0.1);
  };
  return make_section("positions.longer",
                      {found("learned, twice as long", "refused",
                             learned.refuses ? "refused" : "read", learned.refuses),
                       as_before(Position::kRotary), as_before(Position::kRelative),
                       beyond(as_before(Position::kSinusoidal))});
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<Kind> kinds = measure(lab);
  return {source_section(kinds), same_section(kinds), longer_section(kinds)};
}

}  // namespace

Lab positions_lab() { return make_lab("positions", run); }

}  // namespace qkv
