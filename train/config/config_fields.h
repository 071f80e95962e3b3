#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "framework/core/text/names.h"
#include "train/config/train_options.h"

namespace qkv {

// A pointer to a value of any enumeration. Configs name the value by its text.
class EnumPlace {
 public:
  template <class E>
  explicit EnumPlace(E* place)
      : place_(place),
        name_([](const void* value) { return name_of(*static_cast<const E*>(value)); }),
        set_([](void* value, const std::string& name) {
          const std::optional<E> named = value_of<E>(name);
          if (named) *static_cast<E*>(value) = *named;
          return named.has_value();
        }) {}

  std::string name() const { return name_(place_); }
  bool set(const std::string& name) const { return set_(place_, name); }  // false: no such name
  bool operator<(const EnumPlace& other) const { return place_ < other.place_; }

 private:
  void* place_;
  std::string (*name_)(const void*);
  bool (*set_)(void*, const std::string&);
};

// A pointer to a field's value in the Config that config_fields() was given.
using FieldValue = std::variant<int64_t*, uint64_t*, double*, bool*, std::string*,
                                std::array<double, 2>*, EnumPlace>;

// The limits of a field: {.at_least = 0, .below = 1}.
struct Limits {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // A number, or each number of an array.
  double at_least = -kInfinity, above = -kInfinity, at_most = kInfinity, below = kInfinity;
  bool is_path = false;  // a text names a file that the run reads
  // No parameter, and no number that one was made from, depends on it: a run can continue with
  // another value, and its past stays as it was. docs/training.md has the table.
  bool may_change_on_resume = false;

  bool has(double number) const;
  // For numbers: "at least 0 and below 1"; "" where there are none.
  std::string in_words() const;
};

// A value of a text, and the names of the fields that are read when it is taken.
struct KeyReader {
  std::string name;               // "addition"
  std::vector<std::string> keys;  // "digits", or of another table "attention.window"
};

// One key of a config.
struct Field {
  std::string table = {};        // "model"; "" at the top of the file
  std::string name = {};         // "d_model"
  std::string dotted_name = {};  // "model.d_model"
  FieldValue value = {};
  std::string_view description = {};  // one sentence
  Limits limits = {};
  std::vector<KeyReader> choices = {};  // the values of a text; empty: any

  // Another field may decide whether this one is read: `readers` are those of its choices that
  // read this field. Empty: all do.
  std::string decided_by = {};            // "data.task"
  std::vector<std::string> readers = {};  // "addition"
  bool is_read = true;                    // by the value of decided_by in the given config

  const std::string& key() const { return dotted_name; }
  std::vector<std::string> allowed() const;  // the names of the choices
  bool is_text() const;                      // a string, or an enumeration, which is written as one
  std::string text() const;                  // of a field that is_text()
  void set_text(const std::string& text) const;  // is_text(), and the text is one of the allowed
  std::string to_string() const;                 // the value as TOML
  void copy_value(const Field& other) const;     // from another config
};

// The description with the range, the values and the readers, in sentences.
std::string meaning_of(const Field& field);

// Shortest text that reads back as the same number, and as a float in TOML: "0.001", "3.0".
std::string float_to_toml(double value);
std::string string_to_toml(const std::string& value);  // in quotes, escaped

// The one list of all fields, in the order they are written in: each struct of options describe()s
// its own. Parsing, error messages, --help, `qkv config` and the config saved with a run all come
// from it.
std::vector<Field> config_fields(Config& config);
const Field* field_named(const std::vector<Field>& fields, std::string_view key);  // or null

// The tables, in the same order: "", "data", "model", "attention", "optimizer", "train".
std::vector<std::string> config_tables();

// Two settings that exclude each other.
struct Clash {
  std::vector<std::string> keys;  // the likely culprit first
  std::string message;
};
std::vector<Clash> find_clashes(const Config& config);

}  // namespace qkv
