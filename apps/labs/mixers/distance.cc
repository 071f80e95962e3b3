// How far attention reaches, beside a convolution and a recurrence.
#include "apps/labs/kit/lab_kit.h"
#include "apps/labs/kit/trained.h"
#include "framework/graph/modes.h"

namespace qkv {
namespace {

struct AtDistance {
  int64_t distance;
  Samples right;  // share of tokens, by seed
};

struct Kind {
  std::string name;  // as in model.mixer
  Text title;
  std::vector<AtDistance> at = {};
  // By seed, at the largest distance: the share of the answers that change with the letter that
  // many steps back.
  std::vector<Samples> changed = {};
};

// Each letter is the one that stood `distance` before it.
std::vector<Trained> train(const LabContext& lab, const Kind& kind, int64_t distance) {
  std::vector<std::string> settings = {absl::StrCat("model.mixer=", kind.name),
                                       absl::StrCat("data.distance=", distance)};
  if (kind.name == "attention") {
    settings.emplace_back("model.num_heads=1");
    if (lab.is_control()) settings.emplace_back("attention.window=1");
  }
  return train_over_seeds(lab, settings);
}

// The letters with the largest logits, [B T].
std::vector<int64_t> answers_of(const Model& model, const Array& letters) {
  const NoGrad no_grad;
  return places_of_largest(run_module(model, std::vector<Tensor>{Tensor(letters)}));
}

// Every letter is changed into another, one at a time, and every answer behind it is looked at.
Samples changed_by(const Trained& trained) {
  constexpr int64_t kRows = 4;
  const Array letters = trained.data->validation_batch(0, kRows).inputs[0];
  const int64_t rows = letters.shape()[0], length = letters.shape()[1];
  const int64_t distance = trained.config.data.distance, alphabet = trained.config.data.alphabet;
  const Samples numbers = letters.to_vector();
  const std::vector<int64_t> row_by_row(numbers.begin(), numbers.end());
  std::vector<int64_t> changed;
  for (int64_t place = 0; place < length; ++place) {
    std::vector<int64_t> copy = row_by_row;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t& letter = copy[static_cast<size_t>(row * length + place)];
      letter = (letter + 1) % alphabet;
    }
    changed.insert(changed.end(), copy.begin(), copy.end());
  }
  const auto before = answers_of(trained.model, letters);
  const auto after = answers_of(trained.model, Array::of({length * rows, length}, changed));
  Samples share(static_cast<size_t>(length)), count(share.size());
  for (int64_t place = 0; place < length; ++place) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t at = std::max(place, distance - 1); at < length; ++at) {
        const auto i = static_cast<size_t>(row * length + at),
                   back = static_cast<size_t>(at - place);
        const bool differs = after[static_cast<size_t>(place * rows * length) + i] != before[i];
        share[back] += differs ? 1 : 0;
        count[back] += 1;
      }
    }
  }
  for (size_t back = 0; back < share.size(); ++back) share[back] /= count[back];
  return share;
}

std::vector<Kind> measure(const LabContext& lab) {
  std::vector<Kind> kinds = {{.name = "attention", .title = say("attention")},
                             {.name = "convolution", .title = say("convolution of {0} taps", 3)},
                             {.name = "recurrence", .title = "LSTM"}};
  const std::vector<int64_t> distances = lab.integers("distance");
  for (Kind& kind : kinds) {
    for (const int64_t distance : distances) {
      const std::vector<Trained> models = train(lab, kind, distance);
      kind.at.push_back({distance, right_tokens_of(models)});
      if (distance == distances.back()) kind.changed = each_of(models, changed_by);
    }
  }
  return kinds;
}

Finding has_learned(const AtDistance& attention) {
  return premise(
      at_least(say("attention, distance {0}: share of answers that are right", attention.distance),
               0.9, attention.right));
}

Section learning_section(const std::vector<Kind>& kinds, int64_t letters) {
  LineChart chart =
      line_chart(say("Answers that are right, by distance"), log_axis(say("distance")),
                 say("share"), each_of(kinds, [](const Kind& kind) {
                   return series_by(kind.title, kind.at, &AtDistance::distance, &AtDistance::right);
                 }));
  chart.levels = {{say("by guessing"), 1 / static_cast<double>(letters)}};
  Section section = make_section("distance.learning", {}, {chart});
  for (const AtDistance& attention : kinds[0].at) section.add(has_learned(attention));
  const AtDistance& farthest = kinds[0].at.back();
  for (const Kind* const other : {&kinds[1], &kinds[2]}) {
    section.add(
        larger(say("right at distance {0}: attention, and {1}", farthest.distance, other->title),
               farthest.right, other->at.back().right));
  }
  return section;
}

// The mean over the seeds, by steps back.
Series series_of(const Kind& kind) {
  const auto steps = kind.changed[0].size();
  Series series = numbered_series(kind.title, Samples(steps), 0);
  for (size_t back = 0; back < steps; ++back) {
    series.y[back] =
        mean_of(values_of(kind.changed, [=](const Samples& all) { return all[back]; }));
  }
  series.has_marks = false;
  return series;
}

double farthest_change(const Samples& changed) {
  const auto last =
      std::find_if(changed.rbegin(), changed.rend(), [](double share) { return share > 0; });
  return static_cast<double>(changed.rend() - last - 1);
}

Section occlusion_section(const std::vector<Kind>& kinds, int64_t distance) {
  const auto letter = static_cast<size_t>(distance - 1);
  const auto& attention = kinds[0].changed;
  const Samples by_letter = values_of(attention, [&](const Samples& all) { return all[letter]; });
  const Samples elsewhere = values_of(attention, [&](Samples all) {
    all[letter] = 0;
    return most_of(all);
  });
  const double reach = most_of(values_of(kinds[1].changed, farthest_change));
  return make_section(
      "distance.occlusion",
      {has_learned(kinds[0].at.back()),
       larger(say("attention: answers that change with the letter {0} back, and with another, the "
                  "most",
                  distance - 1),
              by_letter, elsewhere),
       at_most(say("convolution of {0} taps: farthest letter back with which an answer changes", 3),
               2, reach)},
      {line_chart(say("Answers that change with a letter, by its distance, mean over the seeds"),
                  say("steps back"), say("share"), each_of(kinds, series_of))});
}

std::vector<Section> run(const LabContext& lab) {
  const std::vector<Kind> kinds = measure(lab);
  const int64_t letters = lab_config(lab, 1, {}).data.alphabet;
  return {learning_section(kinds, letters),
          occlusion_section(kinds, lab.integers("distance").back())};
}

}  // namespace

Lab distance_lab() { return make_lab("distance", run); }

}  // namespace qkv
