#include "apps/runs/sweep/sweep_plan.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "apps/runs/run_summary.h"
#include "framework/core/text/mistakes.h"
#include "train/config/config.h"
#include "train/config/config_fields.h"
#include "train/folder/experiment.h"
#include "train/folder/run_folder.h"

namespace qkv {
namespace {

constexpr size_t kMostRuns = 10'000;
constexpr size_t kLongestName = 255;  // of a folder, in bytes
constexpr const char* kSeed = "seed";

// One --set: a key and the values to try. Without a key it is a mistake, which the config names.
struct Setting {
  std::string key;
  std::vector<std::string> values;

  std::string with(size_t value) const {
    return key.empty() ? values[value] : absl::StrCat(key, "=", values[value]);
  }
  std::string text() const {
    return key.empty() ? values[0] : absl::StrCat(key, "=", absl::StrJoin(values, ","));
  }
};

Setting setting_of(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return {"", {text}};
  return {std::string(absl::StripAsciiWhitespace(text.substr(0, equals))),
          values_of_list(std::string_view(text).substr(equals + 1))};
}

// Each mistake once, in the order of their coming.
class Mistakes {
 public:
  void add(std::string mistake) {
    if (std::ranges::count(lines_, mistake) == 0) lines_.push_back(std::move(mistake));
  }
  void add(const absl::Status& status) {
    for (std::string& line : lines_to_show(status)) add(std::move(line));
  }
  bool none() const { return lines_.empty(); }
  absl::Status status() const { return mistakes_error(lines_); }

 private:
  std::vector<std::string> lines_;
};

// For one key the last --set counts.
std::vector<Setting> read_settings(const SweepRequest& request, Mistakes& mistakes) {
  std::vector<Setting> settings;
  for (const std::string& text : request.settings) {
    Setting setting = setting_of(text);
    std::erase_if(settings,
                  [&](const Setting& s) { return !s.key.empty() && s.key == setting.key; });
    settings.push_back(std::move(setting));
  }
  const int64_t seeds = request.seeds.value_or(1);
  if (seeds < 1) mistakes.add(absl::StrCat("--seeds must be at least 1, not ", seeds));
  auto runs = static_cast<size_t>(std::max<int64_t>(seeds, 1));
  for (const Setting& s : settings) {
    const std::string place = absl::StrCat("--set ", s.text(), ": ");
    const bool is_list = s.values.size() > 1;
    if (is_list && std::ranges::any_of(s.values, &std::string::empty)) {
      mistakes.add(absl::StrCat(place, "a value of the list is empty"));
    }
    if (is_list && s.key == "name") {
      mistakes.add(absl::StrCat(place, "the runs of a sweep have one name"));
    }
    if (is_list && s.key == kSeed && request.seeds) {
      mistakes.add(absl::StrCat(place, "this lists the seeds, and --seeds counts them; give one"));
    }
    runs = std::min(runs, kMostRuns + 1) * std::min(s.values.size(), kMostRuns + 1);
  }
  if (runs > kMostRuns) {
    mistakes.add(absl::StrCat("the sweep would have more than ", kMostRuns, " runs"));
  }
  return settings;
}

// The characters that a folder's name may have, and "/" as "%2F".
std::string as_file_name(std::string_view value) {
  std::string name;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '%' || byte <= ' ' || byte == 0x7f) {
      absl::StrAppendFormat(&name, "%%%02X", byte);
    } else {
      name += c;
    }
  }
  return name;
}

// "learning_rate=0.001": the key without its table where no other table has one of that name.
std::string name_of_setting(const std::vector<Field>& fields, const Field& field) {
  const auto same = std::ranges::count(fields, field.name, &Field::name);
  std::string value = field.is_text() ? field.text() : field.to_string();  // "[0.9, 0.95]"
  if (value.starts_with('[') && !field.is_text()) {
    value = absl::StrJoin(values_of_list(value.substr(1, value.size() - 2)), "_");
    std::erase(value, ' ');
  }
  return absl::StrCat(same == 1 ? field.name : field.key(), "=", as_file_name(value));
}

class Planner {
 public:
  explicit Planner(const SweepRequest& request) : request_(request) {}

  absl::StatusOr<SweepPlan> plan() {
    ASSIGN_OR_RETURN(const std::string text, read_config_file(request_.config));
    settings_ = read_settings(request_, mistakes_);
    if (!mistakes_.none()) return mistakes_.status();
    for (const Setting& setting : settings_) {
      if (setting.key == kSeed) {
        seeds_ = setting.values;
      } else if (setting.values.size() > 1) {
        plan_.keys.push_back(setting.key);
      }
    }
    std::vector<size_t> chosen(settings_.size(), 0);
    do add_combination(text, chosen);
    while (advance(chosen));
    if (holds_run(plan_.folder)) {
      mistakes_.add(absl::StrCat(plan_.folder, " is a run; choose another folder with --out"));
    }
    if (!mistakes_.none()) return mistakes_.status();
    for (const Combination& combination : plan_.combinations) {
      check_data(combination.runs.front().config);
      for (const SweepRun& run : combination.runs) check_folder(run);
    }
    if (!mistakes_.none()) return mistakes_.status();
    return std::move(plan_);
  }

 private:
  // The next combination of the values, the last key first; false after the last.
  bool advance(std::vector<size_t>& chosen) const {
    for (size_t i = chosen.size(); i-- > 0;) {
      if (settings_[i].key == kSeed) continue;
      if (++chosen[i] < settings_[i].values.size()) return true;
      chosen[i] = 0;
    }
    return false;
  }

  void add_combination(const std::string& text, const std::vector<size_t>& chosen) {
    std::vector<std::string> overrides;
    for (size_t i = 0; i < settings_.size(); ++i) {
      if (settings_[i].key != kSeed) overrides.push_back(settings_[i].with(chosen[i]));
    }
    Combination combination;
    for (const std::string& seed : seeds_) {
      std::vector<std::string> all = overrides;
      if (!seed.empty()) all.push_back(absl::StrCat(kSeed, "=", seed));
      absl::StatusOr<LoadedConfig> loaded = parse_config(text, request_.config, all);
      if (!loaded.ok()) {
        mistakes_.add(loaded.status());
        continue;
      }
      for (const std::string& note : loaded->notes) {
        if (std::ranges::count(plan_.notes, note) == 0) plan_.notes.push_back(note);
      }
      add_runs(loaded->config, combination);
    }
    if (!combination.runs.empty()) plan_.combinations.push_back(std::move(combination));
  }

  void add_runs(Config config, Combination& combination) {
    const auto count = static_cast<uint64_t>(request_.seeds.value_or(1));
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();  // TOML has no larger one
    if (config.seed > kMost - (count - 1)) {
      mistakes_.add(absl::StrCat("--seeds ", count, " from seed ", config.seed,
                                 " on: the last one would be above ", kMost));
      return;
    }
    const std::vector<Field> fields = config_fields(config);
    std::vector<std::string> names;
    combination.values.clear();
    for (const std::string& key : plan_.keys) {
      const Field& field = *std::ranges::find_if(fields, [&](auto& f) { return f.key() == key; });
      combination.values.push_back(field.to_string());
      names.push_back(name_of_setting(fields, field));
    }
    if (plan_.folder.empty()) {
      plan_.folder =
          request_.out.empty() ? absl::StrCat("runs/", config.name, "-sweep") : request_.out;
    }
    names.emplace_back();
    for (uint64_t i = 0; i < count; ++i, ++config.seed) {
      names.back() = absl::StrCat(kSeed, "=", config.seed);
      const std::string name = absl::StrJoin(names, ",");
      if (!names_.insert(name).second) {
        mistakes_.add(absl::StrCat("two runs of the sweep are the same: ", name));
      } else if (name.size() > kLongestName) {
        mistakes_.add(absl::StrCat(name, ": the name of this run has ", name.size(),
                                   " bytes, but a folder's has at most ", kLongestName));
      }
      combination.runs.push_back(
          {name, (std::filesystem::path(plan_.folder) / name).string(), config});
    }
  }

  // Tries the sources of the data once, and the weights that a model begins with.
  void check_data(const Config& config) {
    Config read_by_data = config.train.from.empty() ? Config() : config;
    read_by_data.data = config.data;
    read_by_data.model.kind = config.model.kind;
    read_by_data.model.patch_size = config.model.patch_size;
    if (!data_.insert(to_toml(read_by_data)).second) return;
    const auto dataset = make_dataset(config);
    if (!dataset.ok()) return mistakes_.add(dataset.status());
    const auto first = find_first_weights(config, **dataset);
    if (!first.ok()) return mistakes_.add(first.status());
    plan_.notes.insert(plan_.notes.end(), first->notes.begin(), first->notes.end());
  }

  // A run that has begun must be this one.
  void check_folder(const SweepRun& run) {
    if (absl::Status s = check_is_no_link(run.folder); !s.ok()) return mistakes_.add(s);
    if (!find_checkpoint(run.folder).ok()) return;
    const absl::StatusOr<Config> before =
        load_saved_config(absl::StrCat(run.folder, "/config.toml"));
    if (!before.ok()) return mistakes_.add(before.status());
    std::vector<std::string> changes;
    for (const ConfigDifference& d : config_differences(run.config, *before)) {
      changes.push_back(absl::StrCat(d.key, " is ", d.a, ", but was ", d.b));
    }
    if (changes.empty()) return;
    mistakes_.add(absl::StrCat(run.folder,
                               " holds a run with another config: ", absl::StrJoin(changes, "; "),
                               "; choose another folder with --out, or remove that one"));
  }

  const SweepRequest& request_;
  std::vector<Setting> settings_;
  std::vector<std::string> seeds_ = {""};  // "": the config's
  SweepPlan plan_;
  Mistakes mistakes_;
  std::set<std::string> names_, data_;
};

}  // namespace

std::vector<std::string> values_of_list(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;  // the one that the value began with, until it ends
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& value = values.back();
    if (quote != 0) {
      if (c == '\\' && quote == '"' && i + 1 < text.size()) value += text[i++];
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && absl::StripAsciiWhitespace(value).empty()) {
      quote = c;
    } else if (c == '[' || c == ']') {
      depth += c == '[' ? 1 : -1;
    } else if (c == ',' && depth <= 0) {
      values.emplace_back();
      continue;
    }
    value += text[i];
  }
  return values;
}

absl::StatusOr<SweepPlan> plan_sweep(const SweepRequest& request) {
  return Planner(request).plan();
}

}  // namespace qkv
