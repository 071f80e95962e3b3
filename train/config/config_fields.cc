#include "train/config/config_fields.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/file.h"
#include "data/tasks/tasks.h"
#include "framework/core/each_of.h"
#include "models/mixer_kind.h"
#include "models/model.h"

namespace qkv {
namespace {

struct FieldList {
  std::string table;
  std::vector<Field> fields;

  template <class T>
  void add(const std::string& name, T& value, const Limits& limits, std::string_view description) {
    Field& field =
        fields.emplace_back(Field{table, name, table.empty() ? name : table + "." + name});
    field.description = description;
    field.limits = limits;
    if constexpr (std::is_enum_v<T>) {
      field.value = EnumPlace(&value);
      for (const Named<T>& choice : kNames<T>) {
        field.choices.push_back({choice.name, {choice.reads.begin(), choice.reads.end()}});
      }
    } else {
      field.value = &value;
    }
  }
  template <class T>
  void add(const std::string& name, T& value, std::string_view description) {
    add(name, value, Limits(), description);
  }
  template <class Options>
  void add_table(std::string name, Options& options) {
    table = std::move(name);
    options.describe(*this);
  }
};

template <class Kinds>
std::vector<KeyReader> readers_in(const Kinds& kinds) {
  return each_of(kinds, [](const auto& kind) { return KeyReader{kind.name, kind.keys}; });
}

// Attention to a source is attention, whatever mixes the tokens of one sequence.
std::vector<KeyReader> mixers(const ModelOptions& model) {
  std::vector<KeyReader> readers;
  for (const MixerKind& mixer : mixer_kinds()) {
    KeyReader& reader = readers.emplace_back(KeyReader{std::string(mixer.name), {}});
    reader.keys.assign(mixer.keys.begin(), mixer.keys.end());
    if (!attends_to_source(model.kind)) continue;
    const auto& attention_keys = find_mixer("attention").keys;
    reader.keys.insert(reader.keys.end(), attention_keys.begin(), attention_keys.end());
  }
  return readers;
}

// Sets the readers of each field that only some values of `choice` read.
void add_readers(const Field& choice, std::vector<Field>& fields) {
  for (Field& field : fields) {
    const std::string& name = field.table == choice.table ? field.name : field.key();
    std::vector<std::string> readers;
    for (const KeyReader& reader : choice.choices) {
      if (std::ranges::count(reader.keys, name) != 0) readers.push_back(reader.name);
    }
    if (readers.empty() || readers.size() == choice.choices.size()) continue;
    field.decided_by = choice.key();
    field.is_read = std::ranges::count(readers, choice.text()) != 0;
    field.readers = std::move(readers);
  }
}

}  // namespace

const Field* field_named(const std::vector<Field>& fields, std::string_view key) {
  const auto found = std::ranges::find(fields, key, &Field::key);
  return found == fields.end() ? nullptr : &*found;
}

std::vector<Field> config_fields(Config& config) {
  FieldList list;
  config.describe(list);
  std::vector<Field>& fields = list.fields;
  std::ranges::find(fields, "data.task", &Field::key)->choices = readers_in(task_kinds());
  std::ranges::find(fields, "model.kind", &Field::key)->choices = readers_in(model_kinds());
  std::ranges::find(fields, "model.mixer", &Field::key)->choices = mixers(config.model);
  for (const Field& field : fields) add_readers(field, fields);
  for (Field& field : fields) {
    if (!field.decided_by.empty()) field.is_read &= field_named(fields, field.decided_by)->is_read;
  }
  return fields;
}

std::vector<std::string> config_tables() {
  return {"", "data", "model", "attention", "optimizer", "train"};
}

bool Limits::has(double number) const {
  return number >= at_least && number > above && number <= at_most && number < below;
}

void Field::copy_value(const Field& other) const {
  const auto copy = [&other](const auto& place) {
    using Place = std::decay_t<decltype(place)>;
    const Place& from = std::get<Place>(other.value);
    if constexpr (std::is_pointer_v<Place>) {
      *place = *from;
    } else {
      place.set(from.name());
    }
  };
  std::visit(copy, value);
}

std::vector<std::string> Field::allowed() const { return each_of(choices, &KeyReader::name); }

bool Field::is_text() const {
  return std::holds_alternative<std::string*>(value) || std::holds_alternative<EnumPlace>(value);
}

std::string Field::text() const {
  if (const EnumPlace* place = std::get_if<EnumPlace>(&value)) return place->name();
  return *std::get<std::string*>(value);
}

void Field::set_text(const std::string& text) const {
  if (const EnumPlace* place = std::get_if<EnumPlace>(&value)) {
    place->set(text);
  } else {
    *std::get<std::string*>(value) = text;
  }
}

std::string Limits::in_words() const {
  std::vector<std::string> limits;
  const auto add = [&limits](const char* words, double limit) {
    if (std::isfinite(limit)) limits.push_back(absl::StrFormat("%s %.15g", words, limit));
  };
  add("at least", at_least);
  add("above", above);
  add("at most", at_most);
  add("below", below);
  return absl::StrJoin(limits, " and ");
}

std::string Field::to_string() const {
  struct {
    std::string operator()(const int64_t* number) const { return absl::StrCat(*number); }
    std::string operator()(const uint64_t* number) const { return absl::StrCat(*number); }
    std::string operator()(const double* number) const { return float_to_toml(*number); }
    std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }
    std::string operator()(const std::string* text) const { return string_to_toml(*text); }
    std::string operator()(const std::array<double, 2>* pair) const {
      return absl::StrCat("[", float_to_toml((*pair)[0]), ", ", float_to_toml((*pair)[1]), "]");
    }
    std::string operator()(const EnumPlace& place) const { return string_to_toml(place.name()); }
  } text;
  if (limits.is_path && is_list_of_paths(this->text())) {
    return absl::StrCat("[",
                        absl::StrJoin(split_paths(this->text()), ", ",
                                      [](std::string* list, const std::string& path) {
                                        list->append(string_to_toml(path));
                                      }),
                        "]");
  }
  return std::visit(text, value);
}

}  // namespace qkv
