#include "train/config/config.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "data/file.h"
#include "framework/core/text/mistakes.h"
#include "train/config/config_fields.h"
#include "train/config/suggest.h"
#include "train/config/toml_parser.h"

namespace qkv {
namespace {

// Where something was said: a place in the file, or the override of that number.
struct Place {
  size_t override_number = 0;  // counts from 1; 0: in the file
  std::string override_text = {};
  uint32_t line = 0;
  uint32_t column = 0;
};

Place in_file(const toml::source_position& position) {
  return {.line = position.line, .column = position.column};
}

std::string key_in(const std::string& table, const std::string& name) {
  return table.empty() ? name : absl::StrCat(table, ".", name);
}

class Loader {
 public:
  enum class Author { kUser, kQkv };  // qkv wrote down keys that nothing reads, once
  Loader(std::string source, Author author)
      : source_(std::move(source)), author_(author), fields_(config_fields(result_.config)) {
    // Runs that are older than a key meant this.
    if (author_ == Author::kQkv) {
      result_.config.model.sinusoidal_scale = 1.0;
      result_.config.model.learn_sinusoidal_scale = false;
    }
  }
  Loader(const Loader&) = delete;  // fields_ points into result_

  void read_file(std::string_view text);
  void read_overrides(const std::vector<std::string>& overrides);
  absl::StatusOr<LoadedConfig> finish();

 private:
  struct Said {
    Place key, value;
  };
  struct Mistake {
    Place place;
    std::string message;
  };

  void read_table(const std::string& name, const toml::table& table);
  void read_override(size_t number, const std::string& text);
  void apply(const Field& field, const toml::node& node, const Place& place);
  void drop_unread_keys();
  bool was_read_before_overrides(const Field& field) const;
  void find_files_beside_config();
  void shorten_warmup();
  void find_clashes_in_result();
  bool is_meant(const std::string& key) const;
  void doubt_all(const std::string& table = "");  // "": of all tables

  std::vector<std::string> names_in(const std::string& table) const;
  std::string unknown_key(const std::string& table, const std::string& name, bool dotted);
  template <class... Parts>
  void add_mistake(const Place& place, const Parts&... message) {
    mistakes_.push_back({place, absl::StrCat(message...)});
  }
  std::string to_string(const Place& place) const;

  std::string source_;
  Author author_;
  LoadedConfig result_;
  std::vector<Field> fields_;
  std::map<std::string, Said> said_;  // the settings, by key
  std::set<std::string> wrong_;       // the keys with a mistake in their value
  std::vector<Mistake> mistakes_;
  std::set<std::string> read_in_file_;  // the keys that are read where nothing is overridden
  int64_t steps_in_file_ = 0;           // or the default
  std::set<std::string> doubted_;       // keys that the user may have meant by an unknown one
};

std::string Loader::to_string(const Place& place) const {
  if (place.override_number != 0) return absl::StrCat("--set ", place.override_text);
  if (place.line == 0) return source_;
  return absl::StrCat(source_, ":", place.line, ":", place.column);
}

std::vector<std::string> Loader::names_in(const std::string& table) const {
  std::vector<std::string> names;
  for (const Field& field : fields_) {
    if (field.table == table) names.push_back(field.name);
  }
  return names;
}

// `dotted`: suggest the whole key, as --set takes it.
std::string Loader::unknown_key(const std::string& table, const std::string& name, bool dotted) {
  std::string message = absl::StrCat("unknown key ", string_to_toml(key_in(table, name)));
  std::string suggestion;
  if (const std::string near = nearest(name, names_in(table)); !near.empty()) {
    suggestion = absl::StrCat("\"", dotted ? key_in(table, near) : near, "\"");
    doubted_.insert(key_in(table, near));
  }
  // A key that exists elsewhere beats one that is only near here.
  for (const std::string& other : config_tables()) {
    const std::vector<std::string> names = names_in(other);
    const bool exists = std::ranges::count(names, name) != 0;
    if (other == table || (!exists && !suggestion.empty())) continue;
    const std::string near = exists ? name : nearest(name, names);
    if (near.empty()) continue;
    doubted_.insert(key_in(other, near));
    suggestion = dotted          ? absl::StrCat("\"", key_in(other, near), "\"")
                 : other.empty() ? absl::StrCat("\"", near, "\" above all tables")
                                 : absl::StrCat("[", other, "] ", near);
  }
  if (suggestion.empty()) {
    for (const std::string& any : names_in(table)) doubted_.insert(key_in(table, any));
  } else {
    absl::StrAppend(&message, "; did you mean ", suggestion, "?");
  }
  return message;
}

void Loader::doubt_all(const std::string& table) {
  for (const Field& field : fields_) {
    if (table.empty() || field.table == table) doubted_.insert(field.key());
  }
}

void Loader::read_file(std::string_view text) {
  const LinesOfToml lines = parse_each_line(text);
  for (const TomlMistake& mistake : lines.mistakes) {
    doubt_all();
    add_mistake(in_file(mistake.position), mistake.message);
  }
  if (lines.table) read_table("", *lines.table);
}

void Loader::read_table(const std::string& table_name, const toml::table& table) {
  const std::vector<std::string> tables = config_tables();
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const Place place = in_file(key.source().begin);
    const Field* const field = field_named(fields_, key_in(table_name, name));
    if (field && field->table == table_name) {  // its name may have a dot, in quotes
      apply(*field, node, place);
    } else if (table_name.empty() && std::count(tables.begin() + 1, tables.end(), name) != 0) {
      if (node.is_table()) {
        read_table(name, *node.as_table());
      } else {
        add_mistake(place, "\"", name, "\": expected a table, found ", type_of(node));
      }
    } else if (table_name.empty() && node.is_table()) {
      const std::string near = nearest(name, {tables.begin() + 1, tables.end()});
      doubt_all(near);
      add_mistake(place, "unknown table ", string_to_toml(name),
                  near.empty()
                      ? absl::StrCat("; the tables are ",
                                     quoted_list({tables.begin() + 1, tables.end()}, "and"))
                      : absl::StrCat("; did you mean [", near, "]?"));
    } else {
      add_mistake(place, unknown_key(table_name, name, /*dotted=*/false));
    }
  }
}

void Loader::read_overrides(const std::vector<std::string>& overrides) {
  for (const Field& field : config_fields(result_.config)) {
    if (field.is_read) read_in_file_.insert(field.key());
  }
  steps_in_file_ = result_.config.train.steps;
  if (author_ == Author::kUser && said_.empty()) {
    result_.notes.push_back(absl::StrCat(source_, " sets nothing: every key has its default",
                                         overrides.empty() ? "" : ", except those of --set"));
  }
  for (size_t i = 0; i < overrides.size(); ++i) read_override(i + 1, overrides[i]);
}

void Loader::read_override(size_t number, const std::string& text) {
  const size_t equals = text.find('=');
  const Place place{.override_number = number, .override_text = text};
  if (equals == std::string::npos) {
    add_mistake(place, "expected key=value");
    return;
  }
  const std::string key(absl::StripAsciiWhitespace(text.substr(0, equals)));
  const std::string value = text.substr(equals + 1);
  const size_t dot = key.find('.');
  const std::string table = dot == std::string::npos ? "" : key.substr(0, dot);
  const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
  const Field* const field = field_named(fields_, key_in(table, name));
  if (field == nullptr) {
    const std::vector<std::string> tables = config_tables();
    if (!key.empty() && std::count(tables.begin(), tables.end(), key) != 0) {
      add_mistake(place, "\"", key, "\" is a table; set one of its keys, as in ", key, ".",
                  names_in(key).front(), "=…");
    } else {
      add_mistake(place, unknown_key(table, name, /*dotted=*/true));
    }
    return;
  }

  ParsedToml parsed = parse_toml(absl::StrCat("value = ", value));
  const bool is_toml = parsed.table && parsed.table->size() == 1;
  const auto fits = [&](const toml::node& node) {
    return !field->is_text() || node.is_string() ||
           (field->limits.is_path && is_list_of_texts(node));
  };
  if (!is_toml || !fits(*parsed.table->get("value"))) {
    parsed = string_as_toml(value);
  }
  if (!parsed.table) {
    wrong_.insert(field->key());
    add_mistake(place, "the value is not valid UTF-8");
    return;
  }
  apply(*field, *parsed.table->get("value"), place);
}

void Loader::apply(const Field& field, const toml::node& node, const Place& key_place) {
  const std::string& key = field.key();
  const bool overrides = key_place.override_number != 0;
  if (const std::optional<WrongValue> wrong = set_field(field, node)) {
    wrong_.insert(key);
    add_mistake(overrides ? key_place : in_file(wrong->culprit->source().begin), "\"", key, "\"",
                wrong->message);
    return;
  }
  said_[key] = {.key = key_place, .value = overrides ? key_place : in_file(node.source().begin)};
  result_.origins[key] = overrides ? "--set" : absl::StrCat(source_, ":", key_place.line);
}

// Whether the key has the value that the user wants: a setting that was not understood leaves the
// default.
bool Loader::is_meant(const std::string& key) const {
  return wrong_.count(key) == 0 && (said_.count(key) != 0 || doubted_.count(key) == 0);
}

// Whether it stands in the file and is read there: an override may choose another task or another
// mixer than the file is made for.
bool Loader::was_read_before_overrides(const Field& field) const {
  const auto said = said_.find(field.key());
  return said != said_.end() && said->second.key.override_number == 0 &&
         read_in_file_.contains(field.key());
}

// A value that nothing reads goes back to its default. It is a mistake, unless it was that all
// along (the config.toml of an older run lists every key), or is one in the file alone.
void Loader::drop_unread_keys() {
  Config defaults;
  const std::vector<Field> default_fields = config_fields(defaults);
  const std::vector<Field> fields = config_fields(result_.config);
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    if (field.is_read || !is_meant(field.decided_by)) continue;
    if (field.to_string() == default_fields[i].to_string()) continue;
    field.copy_value(default_fields[i]);
    if (was_read_before_overrides(field)) {
      result_.origins.erase(field.key());
      continue;
    }
    const Place& place = said_[field.key()].key;
    if (author_ == Author::kQkv && place.override_number == 0) continue;
    const Field *unread = &field, *decider = field_named(fields, field.decided_by);
    for (; !decider->is_read; decider = field_named(fields, unread->decided_by)) unread = decider;
    const bool has_task = decider->key() != "data.task" || said_.contains(decider->key());
    add_mistake(place, "\"", field.key(), "\" is read by ", list_in_words(unread->readers, "and"),
                has_task ? absl::StrCat(", not by ", decider->text())
                         : "; set \"data.task\" to one of these");
  }
}

void Loader::find_clashes_in_result() {
  for (const Clash& clash : find_clashes(result_.config)) {
    const bool has_no_data = clash.keys.front() == "data.path" && result_.config.data.path.empty();
    if (has_no_data && author_ == Author::kQkv) continue;  // a run that was imported
    if (!std::ranges::all_of(clash.keys, [this](const auto& key) { return is_meant(key); })) {
      continue;
    }
    Place culprit;
    for (const std::string& key : clash.keys) {
      const auto found = said_.find(key);
      if (found == said_.end()) continue;
      const Place& place = found->second.value;
      const bool is_first = culprit.line == 0 && culprit.override_number == 0;
      if (is_first || place.override_number > culprit.override_number) culprit = place;
    }
    add_mistake(culprit, clash.message);
  }
}

// A relative path in a config begins at the config's folder, where such a file is there; else, and
// after --set, at the current directory.
void Loader::find_files_beside_config() {
  const std::filesystem::path folder = std::filesystem::path(source_).parent_path();
  if (author_ != Author::kUser || folder.empty()) return;
  for (const Field& field : fields_) {
    if (!field.limits.is_path || field.text().empty()) continue;
    const auto said = said_.find(field.key());
    if (said == said_.end() || said->second.key.override_number != 0) continue;
    std::vector<std::string> paths = split_paths(field.text());
    for (std::string& path : paths) {
      const std::string beside = (folder / path).string();  // an absolute path is itself
      std::error_code ignored;
      if (std::filesystem::exists(beside, ignored)) path = beside;
    }
    field.set_text(join_paths(paths));
  }
}

// A run that is shortened with --set train.steps=40 warms up for the same share of its steps.
void Loader::shorten_warmup() {
  constexpr const char* kSteps = "train.steps";
  constexpr const char* kWarmup = "optimizer.warmup_steps";
  const auto is_overridden = [this](const char* key) {
    const auto said = said_.find(key);
    return said != said_.end() && said->second.key.override_number != 0;
  };
  const int64_t steps = result_.config.train.steps;
  int64_t& warmup = result_.config.optimizer.warmup_steps;
  const bool is_asked = is_overridden(kSteps) && !is_overridden(kWarmup) && wrong_.empty();
  if (!is_asked || warmup <= steps || warmup > steps_in_file_) return;
  const int64_t before = warmup;
  warmup = warmup * steps / steps_in_file_;
  result_.origins[kWarmup] = absl::StrCat("shortened for --set ", kSteps);
  result_.notes.push_back(absl::StrCat(kWarmup, " is ", warmup, " instead of ", before,
                                       ", as train.steps is ", steps, " instead of ",
                                       steps_in_file_));
}

absl::StatusOr<LoadedConfig> Loader::finish() {
  drop_unread_keys();
  constexpr const char* kFraction = "data.train_fraction";
  if (!result_.config.data.validation_path.empty() && !said_.contains(kFraction)) {
    result_.config.data.train_fraction = 1;
    result_.origins[kFraction] = "all, as data.validation_path is set";
  }
  shorten_warmup();
  find_files_beside_config();
  find_clashes_in_result();
  if (!result_.config.model.attention.causal) {
    result_.notes.push_back(
        "attention.causal is false: each position reads the tokens after it, too, and so the "
        "answer that it should give; a low loss does not mean that the model can write");
  }
  if (mistakes_.empty()) return std::move(result_);
  const auto order = [](const Mistake& mistake) {
    return std::tuple(mistake.place.override_number, mistake.place.line, mistake.place.column);
  };
  std::ranges::stable_sort(mistakes_, {}, order);
  std::vector<std::string> lines;
  for (const Mistake& mistake : mistakes_) {
    lines.push_back(absl::StrCat(to_string(mistake.place), ": ", mistake.message));
  }
  return mistakes_error(lines);
}

}  // namespace

absl::StatusOr<LoadedConfig> parse_config(std::string_view text, const std::string& source,
                                          const std::vector<std::string>& overrides) {
  Loader loader(source, Loader::Author::kUser);
  loader.read_file(text);
  loader.read_overrides(overrides);
  return loader.finish();
}

absl::StatusOr<Config> parse_saved_config(std::string_view text, const std::string& source,
                                          const std::vector<std::string>& overrides) {
  Loader loader(source, Loader::Author::kQkv);
  loader.read_file(text);
  loader.read_overrides(overrides);
  ASSIGN_OR_RETURN(LoadedConfig loaded, loader.finish());
  return std::move(loaded.config);
}

}  // namespace qkv
