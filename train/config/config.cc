#include "train/config/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "framework/io/files.h"
#include "train/config/config_fields.h"
#include "train/config/mistakes.h"
#include "train/config/suggest.h"

namespace qkv {
namespace {

constexpr uint64_t kMaxBytes = 64 << 10;

// Where something was said: a place in the file, or the override of that number.
struct Place {
  size_t override_number = 0;  // counts from 1; 0: in the file
  std::string override_text;
  uint32_t line = 0;
  uint32_t column = 0;
};

Place in_file(const toml::source_position& position) {
  Place place;
  place.line = position.line;
  place.column = position.column;
  return place;
}

// A parse that cannot throw. The error is a line for the user, without its place.
struct Parsed {
  std::optional<toml::table> table;
  std::string error;
  toml::source_position position;
};

Parsed parse_toml(std::string_view text) {
  Parsed parsed;
  try {
    parsed.table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    parsed.position = error.source().begin;
    absl::string_view description(error.description().data(), error.description().size());
    absl::string_view doing;
    if (absl::ConsumePrefix(&description, "Error while parsing ")) {
      const size_t end = std::min(description.find(": "), description.size());
      doing = description.substr(0, end);
      description.remove_prefix(std::min(end + 2, description.size()));
    }
    parsed.error = absl::StrCat("not valid TOML: ", description,
                                doing.empty() ? "" : absl::StrCat(" (in a ", doing, ")"));
    if (description == "could not determine value type") {
      absl::StrAppend(&parsed.error, "; a string stands in quotes");
    }
  }
  return parsed;
}

// Tables nest in dotted keys, and the parser's depth with them: no line needs more than a few dots.
size_t line_with_too_many_dots(std::string_view text) {
  constexpr size_t kMost = 1000;
  size_t line = 1, dots = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '.' && ++dots > kMost) {
      return line;
    }
  }
  return 0;
}

std::string type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return absl::StrCat("an array of ", node.as_array()->size());
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

class Loader {
 public:
  explicit Loader(std::string source)
      : source_(std::move(source)), fields_(config_fields(result_.config)) {}
  Loader(const Loader&) = delete;  // fields_ points into result_

  void read_file(std::string_view text);
  void read_override(size_t number, const std::string& text);
  absl::StatusOr<LoadedConfig> finish();

 private:
  struct Mistake {
    Place place;
    std::string message;
  };

  void read_table(const std::string& name, const toml::table& table);
  void apply(Field& field, const toml::node& node, const Place& place);
  std::string convert(Field& field, const toml::node& node, Place& place);
  std::string convert_number(const Field& field, const toml::node& node, double& number);
  void find_clashes_in_result();

  Field* find_field(const std::string& table, const std::string& name);
  std::vector<std::string> names_in(const std::string& table) const;
  std::string unknown_key(const std::string& table, const std::string& name, bool dotted);
  void add_mistake(const Place& place, std::string message) {
    mistakes_.push_back({place, std::move(message)});
  }
  static Place place_of(const toml::source_region& region) { return in_file(region.begin); }
  std::string to_string(const Place& place) const;

  std::string source_;
  LoadedConfig result_;
  std::vector<Field> fields_;
  std::map<std::string, Place> places_;        // of every key that was set
  std::map<std::string, Place> wrong_places_;  // of every key with a mistake in its value
  std::vector<Mistake> mistakes_;
  bool defaults_are_meant_ = true;  // false: what the user set has not all been understood
};

std::string Loader::to_string(const Place& place) const {
  if (place.override_number != 0) return absl::StrCat("--set ", place.override_text);
  if (place.line == 0) return source_;
  return absl::StrCat(source_, ":", place.line, ":", place.column);
}

Field* Loader::find_field(const std::string& table, const std::string& name) {
  for (Field& field : fields_) {
    if (field.table == table && field.name == name) return &field;
  }
  return nullptr;
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
  defaults_are_meant_ = false;
  const std::string prefix = table.empty() ? "" : absl::StrCat(table, ".");
  std::string message = absl::StrCat("unknown key ", string_to_toml(absl::StrCat(prefix, name)));
  std::string suggestion;
  if (const std::string near = nearest(name, names_in(table)); !near.empty()) {
    suggestion = absl::StrCat("\"", dotted ? prefix : "", near, "\"");
  }
  // A key that exists elsewhere beats one that is only near here.
  for (const std::string& other : config_tables()) {
    const std::vector<std::string> names = names_in(other);
    const bool exists = std::ranges::count(names, name) != 0;
    if (other == table || (!exists && !suggestion.empty())) continue;
    const std::string near = exists ? name : nearest(name, names);
    if (near.empty()) continue;
    suggestion = other.empty() ? absl::StrCat("\"", near, "\"", dotted ? "" : " above all tables")
                 : dotted      ? absl::StrCat("\"", other, ".", near, "\"")
                               : absl::StrCat("[", other, "] ", near);
  }
  if (!suggestion.empty()) absl::StrAppend(&message, "; did you mean ", suggestion, "?");
  return message;
}

void Loader::read_file(std::string_view text) {
  if (const size_t line = line_with_too_many_dots(text)) {
    defaults_are_meant_ = false;
    add_mistake(in_file({static_cast<uint32_t>(line), 1}), "too many dots for a config");
    return;
  }
  const Parsed parsed = parse_toml(text);
  if (!parsed.table) {
    defaults_are_meant_ = false;
    add_mistake(in_file(parsed.position), parsed.error);
    return;
  }
  read_table("", *parsed.table);
}

void Loader::read_table(const std::string& table_name, const toml::table& table) {
  const std::vector<std::string> tables = config_tables();
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const Place place = place_of(key.source());
    if (Field* field = find_field(table_name, name)) {
      apply(*field, node, place);
    } else if (table_name.empty() && std::count(tables.begin() + 1, tables.end(), name) != 0) {
      if (node.is_table()) {
        read_table(name, *node.as_table());
      } else {
        add_mistake(place, absl::StrCat("\"", name, "\": expected a table, found ", type_of(node)));
      }
    } else if (table_name.empty() && node.is_table()) {
      const std::string near = nearest(name, {tables.begin() + 1, tables.end()});
      defaults_are_meant_ = false;
      add_mistake(
          place,
          absl::StrCat("unknown table ", string_to_toml(name),
                       near.empty() ? absl::StrCat("; the tables are ",
                                                   quoted_list({tables.begin() + 1, tables.end()}))
                                    : absl::StrCat("; did you mean [", near, "]?")));
    } else {
      add_mistake(place, unknown_key(table_name, name, /*dotted=*/false));
    }
  }
}

void Loader::read_override(size_t number, const std::string& text) {
  const size_t equals = text.find('=');
  Place place;
  place.override_number = number;
  place.override_text = text;
  if (equals == std::string::npos) {
    add_mistake(place, "expected key=value");
    return;
  }
  const std::string key(absl::StripAsciiWhitespace(text.substr(0, equals)));
  const std::string value = text.substr(equals + 1);
  const size_t dot = key.find('.');
  const std::string table = dot == std::string::npos ? "" : key.substr(0, dot);
  const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
  Field* field = find_field(table, name);
  if (field == nullptr) {
    const std::vector<std::string> tables = config_tables();
    if (!key.empty() && std::count(tables.begin(), tables.end(), key) != 0) {
      add_mistake(place, absl::StrCat("\"", key, "\" is a table; set one of its keys, as in ", key,
                                      ".", names_in(key).front(), "=…"));
    } else {
      add_mistake(place, unknown_key(table, name, /*dotted=*/true));
    }
    return;
  }

  Parsed parsed;
  if (line_with_too_many_dots(value) == 0) parsed = parse_toml(absl::StrCat("value = ", value));
  const bool is_toml = parsed.table && parsed.table->size() == 1;
  if (!is_toml || (field->is_text() && !parsed.table->get("value")->is_string())) {
    parsed = parse_toml(absl::StrCat("value = ", string_to_toml(value)));
  }
  if (!parsed.table) {
    wrong_places_[field->key()] = place;
    add_mistake(place, "the value is not valid UTF-8");
    return;
  }
  apply(*field, *parsed.table->get("value"), place);
}

void Loader::apply(Field& field, const toml::node& node, const Place& key_place) {
  const std::string key = field.key();
  Place place = key_place;
  if (place.override_number == 0) place = place_of(node.source());
  const std::string message = convert(field, node, place);
  if (!message.empty()) {
    wrong_places_[key] = place;
    add_mistake(place, absl::StrCat("\"", key, "\"", message));
    return;
  }
  places_[key] = place;
  result_.origins[key] =
      place.override_number != 0 ? "--set" : absl::StrCat(source_, ":", key_place.line);
}

// Checks a number of `field` and stores it in `number`. Returns what is wrong, or "".
std::string Loader::convert_number(const Field& field, const toml::node& node, double& number) {
  if (node.is_integer()) {
    number = static_cast<double>(node.as_integer()->get());
  } else if (node.is_floating_point()) {
    number = node.as_floating_point()->get();
  } else {
    return absl::StrCat(": expected a float, found ", type_of(node));
  }
  if (!std::isfinite(number)) return absl::StrCat(" must be finite, not ", float_to_toml(number));
  if (!field.in_range(number)) {
    return absl::StrCat(" must be ", field.range(), ", not ", float_to_toml(number));
  }
  return "";
}

// Sets the field's value. Returns what is wrong, or "". Narrows `place` down to the culprit.
std::string Loader::convert(Field& field, const toml::node& node, Place& place) {
  const auto expected = [&](const char* type) {
    return absl::StrCat(": expected ", type, ", found ", type_of(node));
  };
  if (double* const* number = std::get_if<double*>(&field.value)) {
    double value = 0;
    std::string message = convert_number(field, node, value);
    if (message.empty()) **number = value;
    return message;
  }
  if (std::array<double, 2>* const* pair = std::get_if<std::array<double, 2>*>(&field.value)) {
    const toml::array* array = node.as_array();
    if (array == nullptr || array->size() != 2) return expected("an array of 2 floats");
    std::array<double, 2> values{};
    for (size_t i = 0; i < 2; ++i) {
      const toml::node& element = *array->get(i);
      std::string message = convert_number(field, element, values[i]);
      if (message.empty()) continue;
      if (place.override_number == 0) place = place_of(element.source());
      return message;
    }
    **pair = values;
    return "";
  }
  if (bool* const* flag = std::get_if<bool*>(&field.value)) {
    if (!node.is_boolean()) return expected("a boolean (true or false)");
    **flag = node.as_boolean()->get();
    return "";
  }
  if (field.is_text()) {
    if (!node.is_string()) return expected("a string");
    const std::string& value = node.as_string()->get();
    const std::vector<std::string>& allowed = field.allowed;
    if (!allowed.empty() && std::count(allowed.begin(), allowed.end(), value) == 0) {
      const std::string near = nearest(value, allowed);
      return absl::StrCat(": unknown value ", string_to_toml(value),
                          near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?"),
                          near.empty() ? "; it can be " : " It can be ", quoted_list(allowed));
    }
    field.set_text(value);
    return "";
  }
  if (!node.is_integer()) {
    std::string message = expected("an integer");
    const double number = node.is_floating_point() ? node.as_floating_point()->get() : 0.5;
    if (std::floor(number) == number && std::abs(number) < 1e15) {
      absl::StrAppend(&message, "; write ", static_cast<int64_t>(number));
    }
    return message;
  }
  const int64_t value = node.as_integer()->get();
  if (!field.in_range(static_cast<double>(value))) {
    return absl::StrCat(" must be ", field.range(), ", not ", value);
  }
  if (int64_t* const* number = std::get_if<int64_t*>(&field.value)) **number = value;
  if (uint64_t* const* number = std::get_if<uint64_t*>(&field.value)) {
    **number = static_cast<uint64_t>(value);
  }
  return "";
}

// Where a value was not understood its default still stands, so what clashes with that is no news.
void Loader::find_clashes_in_result() {
  for (const Clash& clash : find_clashes(result_.config)) {
    Place culprit;
    bool is_news = true;
    for (const std::string& key : clash.keys) {
      if (wrong_places_.count(key) != 0) is_news = false;
      const auto found = places_.find(key);
      if (found == places_.end()) {
        if (!defaults_are_meant_) is_news = false;
        continue;
      }
      const Place& place = found->second;
      const bool is_first = culprit.line == 0 && culprit.override_number == 0;
      if (is_first || place.override_number > culprit.override_number) culprit = place;
    }
    if (is_news) add_mistake(culprit, clash.message);
  }
}

absl::StatusOr<LoadedConfig> Loader::finish() {
  find_clashes_in_result();
  if (mistakes_.empty()) return std::move(result_);
  const auto order = [](const Mistake& mistake) {
    return std::tuple(mistake.place.override_number, mistake.place.line, mistake.place.column);
  };
  std::stable_sort(mistakes_.begin(), mistakes_.end(),
                   [&order](const auto& a, const auto& b) { return order(a) < order(b); });
  std::vector<std::string> lines;
  for (const Mistake& mistake : mistakes_) {
    lines.push_back(absl::StrCat(to_string(mistake.place), ": ", mistake.message));
  }
  return mistakes_error(lines);
}

}  // namespace

absl::StatusOr<LoadedConfig> parse_config(std::string_view text, const std::string& source,
                                          const std::vector<std::string>& overrides) {
  Loader loader(source);
  loader.read_file(text);
  for (size_t i = 0; i < overrides.size(); ++i) loader.read_override(i + 1, overrides[i]);
  return loader.finish();
}

absl::StatusOr<LoadedConfig> load_config(const std::string& path,
                                         const std::vector<std::string>& overrides) {
  const absl::StatusOr<std::string> text = read_file(path, kMaxBytes);
  if (!text.ok()) return text.status();
  return parse_config(*text, path, overrides);
}

}  // namespace qkv
