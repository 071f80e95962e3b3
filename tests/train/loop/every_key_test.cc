// Every key of a config does in a run what it says, and nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/temporary_folder.h"
#include "tests/train/loop/key_effects.h"
#include "tests/train/loop/observed_run.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"
#include "train/loop/train.h"

namespace qkv {
namespace {

// Collects what differs between two runs, and by how much numbers do.
class Comparison {
 public:
  Comparison(const ObservedRun& a, const ObservedRun& b) {
    note(kFolder, a.folder != b.folder);
    note(kLines, a.logged() != b.logged());
    note(kEvaluated, a.evaluated() != b.evaluated());
    note(kCheckpoints, a.names_of_checkpoints() != b.names_of_checkpoints());
    note(kWeights, a.weights() != b.weights());
    note(kSamples, a.samples != b.samples);
    for (const int64_t step : a.logged()) {
      if (b.logged().contains(step)) compare(a.at(step), b.at(step));
    }
    for (const auto& [name, numbers] : a.weights()) {
      const auto other = b.weights().find(name);
      if (other == b.weights().end()) continue;
      for (size_t i = 0; i < numbers.size(); ++i) measure(numbers[i], other->second[i]);
    }
  }

  unsigned differs() const { return differs_; }
  double farthest() const { return farthest_; }

 private:
  using Number = std::optional<double> Metrics::*;

  void note(Part part, bool different) {
    if (different) differs_ |= part;
  }
  void measure(double a, double b) { farthest_ = std::max(farthest_, std::abs(a - b)); }

  void compare(const Metrics& a, const Metrics& b) {
    const auto note_number = [&](Part part, Number number) {
      if (!(a.*number) || !(b.*number)) return;
      note(part, a.*number != b.*number);
      measure(*(a.*number), *(b.*number));
    };
    for (const Number number : {&Metrics::loss, &Metrics::grad_norm}) {
      note_number(a.step == 1 ? kStart : kCourse, number);
    }
    note_number(kRate, &Metrics::learning_rate);
    for (const Number number :
         {&Metrics::val_loss, &Metrics::val_token_accuracy, &Metrics::val_sequence_accuracy,
          &Metrics::train_sequence_accuracy}) {
      note_number(kValidation, number);
    }
  }

  unsigned differs_ = kNothing;
  double farthest_ = 0;
};

std::string text_of(unsigned parts) {
  static constexpr const char* kNames[] = {"folder",     "lines",  "evaluated steps", "checkpoints",
                                           "start",      "course", "learning rate",   "weights",
                                           "validation", "samples"};
  std::vector<std::string> names;
  for (unsigned i = 0; i < std::size(kNames); ++i) {
    if (parts & 1U << i) names.emplace_back(kNames[i]);
  }
  return absl::StrCat("{", absl::StrJoin(names, ", "), "}");
}

// The values of a key's effect, as TOML.
std::vector<std::string> values_of(const KeyEffect& effect, const Field& field,
                                   const std::string& folder) {
  std::vector<std::string> values = effect.values.empty() ? field.allowed() : effect.values;
  for (std::string& value : values) absl::StrReplaceAll({{"FOLDER", folder}}, &value);
  return values;
}

// Who is meant by an effect, of those that read its key; "" where all do.
std::vector<std::string> readers_of(const KeyEffect& effect, const Field& field) {
  for (const std::string& reader : field.readers) {
    const std::string chosen = absl::StrCat(field.decided_by, "=", reader);
    if (std::ranges::count(effect.around, chosen) != 0) return {reader};
  }
  return field.readers.empty() ? std::vector<std::string>{""} : field.readers;
}

// A key that is added to the list is to be added to effects().
class EveryKeyTest : public testing::TestWithParam<std::string> {
 protected:
  EveryKeyTest() {
    write_data(folder_.path(), 1);
    std::filesystem::create_directory(folder_ / "other");
    write_data(folder_ / "other", 2);
    if (GetParam() == "train") train_source();
  }

  // A run from which another can begin.
  void train_source() {
    const absl::StatusOr<LoadedConfig> config = parse_config(kSmallRun, "source", {"seed=9"});
    ASSERT_TRUE(config.ok()) << config.status();
    testing::internal::CaptureStdout();
    const absl::Status status = run_training(*config, {.out = folder_ / "source"}).status();
    testing::internal::GetCapturedStdout();
    ASSERT_TRUE(status.ok()) << status;
  }

  static bool is_task(const std::string& override) { return override.starts_with("data.task="); }

  // All that a run is given beside kSmallRun. `beside` comes before what the effect needs.
  Overrides overrides(const KeyEffect& effect, const Field& field, const std::string& reader,
                      const std::string& value, const Overrides& beside = {}) const {
    Overrides all;
    const auto add = [&](const std::string& override) {
      all.push_back(override);
      if (!is_task(override)) return;
      const Overrides more = overrides_of(override.substr(10), folder_.path());
      all.insert(all.end(), more.begin(), more.end());
    };
    for (const std::string& override : beside) add(override);
    for (const std::string& override : effect.around) add(override);
    const bool has_task = std::ranges::any_of(all, is_task);
    if (field.decided_by == "model.kind" && !has_task && form_of(reader) == DataForm::kClass) {
      add("data.task=parity");
    }
    if (!reader.empty()) add(absl::StrCat(field.decided_by, "=", reader));
    add(absl::StrCat(field.key(), "=", value));
    return all;
  }

  // What two keys have in common, the run with all their defaults, is made once.
  const ObservedRun& run_with(const Overrides& overrides) {
    const auto [run, is_new] = runs_.try_emplace(to_toml(parsed(kSmallRun, overrides)));
    if (is_new) run->second = observe_run(kSmallRun, overrides);
    return run->second;
  }

  // Whether two effects are of different tasks.
  static bool are_apart(const Overrides& a, const Overrides& b) {
    const auto of_a = std::ranges::find_if(a, is_task), of_b = std::ranges::find_if(b, is_task);
    return of_a != a.end() && of_b != b.end() && *of_a != *of_b;
  }

  // Whether a choice of what decides over a key leaves it unread.
  static bool is_left_out(const Field& field, const Overrides& all) {
    const std::string decided_by = absl::StrCat(field.decided_by, "=");
    for (const std::string& o : all) {
      if (!o.starts_with(decided_by)) continue;
      if (std::ranges::count(field.readers, o.substr(decided_by.size())) == 0) return true;
    }
    return false;
  }

  // Whether a key has an effect where another of its table has a value that does something, too.
  // Nothing where they do not go together: one of them is not read, or the config is a mistake.
  std::optional<bool> is_heard_beside(const KeyEffect& effect, const Field& field,
                                      const std::string& reader, const KeyEffect& other,
                                      const Field& other_field) {
    const std::string key = absl::StrCat(other_field.key(), "=");
    const auto sets_other = [&](const std::string& o) { return o.starts_with(key); };
    if (std::ranges::any_of(effect.around, sets_other) || field.decided_by == other_field.key()) {
      return std::nullopt;  // it needs that value of the other
    }
    const ObservedRun* first = nullptr;
    bool is_compared = false;
    // From the last one on: that is the run in which the other of the two is judged, too.
    std::vector<std::string> values = values_of(effect, field, folder_.path());
    std::ranges::reverse(values);
    for (const std::string& value : values) {
      Overrides all = overrides(effect, field, reader, value);
      if (are_apart(all, other.around) || is_left_out(other_field, all)) continue;
      all = overrides(effect, field, reader, value, other.around);
      all.push_back(key + values_of(other, other_field, folder_.path()).back());
      // Warmup is over, and what the last step does with a rate of 0 is not the second update.
      for (const char* more : {"train.steps=5", "train.eval_interval=5"}) all.emplace_back(more);
      absl::StatusOr<LoadedConfig> loaded = parse_config(kSmallRun, "c.toml", all);
      if (!loaded.ok()) continue;
      const std::vector<Field> fields = config_fields(loaded->config);
      if (!field_named(fields, field.key())->is_read) continue;
      if (!field_named(fields, other_field.key())->is_read) continue;
      const ObservedRun& run = run_with(all);
      if (first && Comparison(*first, run).differs() != kNothing) return true;
      is_compared = first != nullptr;
      if (!first) first = &run;
    }
    return is_compared ? std::optional(false) : std::nullopt;
  }

  void expect_effect(const KeyEffect& effect, const Field& field, const std::string& reader) {
    std::vector<const ObservedRun*> runs;
    const std::vector<std::string> values = values_of(effect, field, folder_.path());
    ASSERT_GE(values.size(), 2u);
    for (const std::string& value : values) {
      SCOPED_TRACE(value);
      runs.push_back(&run_with(overrides(effect, field, reader, value)));
      if (runs.back()->checkpoints.empty()) return;
      for (size_t i = 0; i + 1 < runs.size(); ++i) {
        SCOPED_TRACE(absl::StrCat("and ", values[i]));
        const Comparison seen(*runs[i], *runs.back());
        const unsigned may = effect.may_differ | (effect.differs & kWeights ? kSamples : kNothing);
        EXPECT_EQ(text_of(seen.differs() & ~may), text_of(effect.differs & ~may));
        EXPECT_LE(seen.farthest(), effect.at_most);
      }
    }
  }

  TemporaryFolder folder_;
  std::map<std::string, ObservedRun> runs_;  // by config
};

TEST_P(EveryKeyTest, DoesInARunWhatItSaysAndNothingElse) {
  Config config;
  for (const Field& field : config_fields(config)) {
    if (field.table != GetParam()) continue;
    std::set<std::string> unseen(field.readers.begin(), field.readers.end());
    bool has_effect = false;
    for (const KeyEffect& effect : effects()) {
      if (effect.key != field.key()) continue;
      has_effect = true;
      for (const std::string& reader : readers_of(effect, field)) {
        SCOPED_TRACE(
            absl::StrCat(field.key(), " ", absl::StrJoin(effect.around, " "), " ", reader));
        unseen.erase(reader);
        expect_effect(effect, field, reader);
      }
    }
    EXPECT_TRUE(has_effect) << field.key() << " is not in effects()";
    EXPECT_TRUE(unseen.empty()) << field.key() << " of " << *unseen.begin();
  }
}

// Not the keys that decide how often something is done: of five steps they see nothing.
TEST_P(EveryKeyTest, IsHeardBesideEveryOtherOfItsTable) {
  if (GetParam().empty() || GetParam() == "train") return;
  Config config;
  const std::vector<Field> fields = config_fields(config);
  std::vector<std::pair<const KeyEffect*, const Field*>> table;
  for (const KeyEffect& effect : effects()) {
    const Field* const field = field_named(fields, effect.key);
    if (field->table == GetParam() && effect.differs != kNothing)
      table.emplace_back(&effect, field);
  }
  for (const auto& [effect, field] : table) {
    if (effect->differs == kSamples) continue;  // which five steps need not change
    for (const std::string& reader : readers_of(*effect, *field)) {
      std::set<std::string> judged = {effect->key};  // a pair once
      for (const auto& [other, beside] : table) {
        if (judged.contains(other->key)) continue;
        const auto is_heard = is_heard_beside(*effect, *field, reader, *other, *beside);
        if (!is_heard) continue;
        judged.insert(other->key);
        EXPECT_TRUE(*is_heard) << effect->key << " " << absl::StrJoin(effect->around, " ") << " "
                               << reader << " does nothing beside " << other->key;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, EveryKeyTest, testing::ValuesIn(config_tables()),
                         [](const auto& table) {
                           return table.param.empty() ? std::string("top") : table.param;
                         });

}  // namespace
}  // namespace qkv
