#include "apps/lesson/document.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "apps/lesson/page.h"
#include "framework/core/sure.h"
#include "framework/ops/ops.h"
#include "train/config/config.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kWeights = "attention.weights";
constexpr int64_t kRowsOfWindow = 16;
constexpr int64_t kBytesAroundNumbers = 48;  // of numbers, around them

Json to_json(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

struct JsonOfAttribute {
  Json operator()(double number) const { return to_json(number); }
  Json operator()(const Array&) const { return nullptr; }  // a value of the tape stands for it
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

Json attributes_of(const TapeOp& op) {
  Json all = Json::object();
  for (const auto& [name, value, array_id] : op.attributes) {
    if (array_id) {
      all[name] = {{"value", *array_id}};
    } else {
      all[name] = std::visit(JsonOfAttribute(), value);
    }
  }
  return all;
}

Json json_of(const TapeOp& op) {
  Json json = {{"op", op.op}, {"inputs", op.inputs}, {"output", op.output}};
  if (!op.scope.empty()) json["scope"] = op.scope;
  if (!op.attributes.empty()) json["attributes"] = attributes_of(op);
  if (!op.kept.empty()) json["kept"] = op.kept;
  if (op.backward_of) json["backward_of"] = *op.backward_of;
  return json;
}

const char* kind_of(const TapeValue& value) {
  return value.computed ? "computed" : value.parameter ? "parameter" : "constant";
}

Json json_of(const TapeValue& value) {
  const Tensor& x = value.tensor;
  Json json = {
      {"shape", x.shape().dims()}, {"dtype", dtype_name(x.dtype())}, {"kind", kind_of(value)}};
  if (!value.name.empty()) json["name"] = value.name;
  if (!value.paths.empty()) json["paths"] = value.paths;
  if (value.gradient) json["gradient"] = *value.gradient;
  return json;
}

// The numbers whose values are written: the most telling first, as long as there is room.
class NumbersWriter {
 public:
  NumbersWriter(const Recording& recording, int64_t most_bytes, Json& values)
      : tape_(recording.tape), values_(values), left_(most_bytes), has_limit_(most_bytes > 0) {}

  void write_leaves() {
    for (ValueId id = 0; id < std::ssize(tape_.values); ++id) {
      if (!tape_[id].computed) write(id, /*whole=*/true);
    }
  }

  // Writes the numbers of the values that `choose` takes, and of their gradients.
  template <class Choose>
  void write_where(Choose choose) {
    for (ValueId id = 0; id < std::ssize(tape_.values); ++id) {
      const TapeValue& value = tape_[id];
      if (!choose(value)) continue;
      write(id, /*whole=*/false);
      if (value.gradient) write(*value.gradient, /*whole=*/false);
    }
  }

 private:
  void write(ValueId id, bool whole) {
    Json& json = values_[static_cast<size_t>(id)];
    if (json.contains("numbers")) return;
    const Tensor& x = tape_[id].tensor;
    const int64_t columns = x.rank() > 0 ? x.dim(-1) : 1;
    const int64_t rows = columns > 0 ? x.size() / columns : 0;
    const bool is_limited = has_limit_ && !whole;
    int64_t kept = rows;
    EncodedNumbers all;
    if (!is_limited || least_encoded_bytes(x) <= left_) all = encode_numbers(x, 0, x.size());
    if (is_limited && (all.type.empty() || std::ssize(all.base64) > left_)) {
      kept = std::min(rows, kRowsOfWindow);
      all = encode_numbers(x, 0, kept * columns);
      if (std::ssize(all.base64) > left_) return;
    }
    left_ -= std::ssize(all.base64) + kBytesAroundNumbers;
    json["numbers"] = {{all.type, std::move(all.base64)}};
    if (kept < rows) json["numbers"]["rows"] = {0, kept};
  }

  const Tape& tape_;
  Json& values_;
  int64_t left_;
  bool has_limit_;
};

// "blocks.0." of "blocks.0.attention".
std::string block_of(const std::string& layer) { return layer.substr(0, layer.rfind('.') + 1); }

bool has_path(const TapeValue& value, const std::function<bool(std::string_view)>& is_it) {
  return std::ranges::any_of(value.paths, is_it) || (value.parameter && is_it(value.name));
}

Json describe_values(const Tape& tape) {
  Json values = Json::array();
  for (const TapeValue& value : tape.values) values.push_back(json_of(value));
  return values;
}

// Into the values of a document, as far as there is room.
void write_numbers(const Recording& recording, const Lesson& lesson, int64_t most_bytes,
                   Json& values) {
  NumbersWriter writer(recording, most_bytes, values);
  const std::string block = block_of(lesson.layer);
  const auto in_block = [&](std::string_view path) { return path.starts_with(block); };
  const auto outside = [](std::string_view path) {
    return path.find("blocks.") == std::string_view::npos;
  };
  writer.write_leaves();
  writer.write_where([](const TapeValue& v) {
    return has_path(v, [](std::string_view path) { return path.ends_with(kWeights); });
  });
  writer.write_where([&](const TapeValue& v) { return !v.parameter && has_path(v, in_block); });
  writer.write_where([&](const TapeValue& v) { return !v.parameter && has_path(v, outside); });
  writer.write_where([&](const TapeValue& v) { return v.parameter && has_path(v, in_block); });
  writer.write_where([](const TapeValue& v) { return v.parameter || !v.paths.empty(); });
}

// The texts of an input of tokens, or of targets: null where one does not count.
Json texts_of(const Array& tokens, const std::vector<std::string>& vocabulary) {
  Json texts = Json::array();
  for (int64_t i = 0; i < tokens.size(); ++i) {
    const int64_t token = tokens.data<int64_t>()[i];
    if (token >= 0 && token < std::ssize(vocabulary)) {
      texts.push_back(vocabulary[static_cast<size_t>(token)]);
    } else {
      texts.push_back(nullptr);
    }
  }
  return texts;
}

Json meta_of(const Recording& recording, const Lesson& lesson) {
  Json meta = {{"name", lesson.config.name},       {"kind", lesson.config.model.kind},
               {"task", lesson.config.data.task},  {"step", lesson.step},
               {"config", to_toml(lesson.config)}, {"vocabulary", lesson.vocabulary}};
  meta["layers"] = recording.attention_layers();
  meta["loss"] = recording.whole_loss;
  if (!lesson.answers.empty()) meta["answers"] = lesson.answers;
  const std::vector<std::string>& answers =
      lesson.answers.empty() ? lesson.vocabulary : lesson.answers;
  if (!recording.part.empty()) meta["part"] = recording.part;
  if (!lesson.untrained.empty()) meta["untrained"] = lesson.untrained;
  meta["begin"] = {{"layer", lesson.layer},
                   {"head", lesson.head},
                   {"position", lesson.position},
                   {"step", lesson.begins_at_place ? "softmax"
                            : lesson.practice      ? "practice"
                                                   : "opening"}};
  for (const TapeValue& value : recording.tape.values) {
    const Array& array = value.tensor.array();
    if (value.computed || value.parameter || array.dtype() != DType::i64) continue;
    for (const char* name : {"tokens", "source", "target"}) {
      if (value.name == name) meta["texts"][name] = texts_of(array, lesson.vocabulary);
    }
    if (value.name == "targets") meta["texts"]["targets"] = texts_of(array, answers);
  }
  return meta;
}

Json json_of(const LessonFrame& frame) {
  Json weights = Json::object(), norms = Json::object();
  for (const auto& [layer, x] : frame.weights) {
    weights[layer] = {{"shape", x.shape().dims()}, {"f32", encode_as_f32(x)}};
  }
  for (const auto& [part, norm] : frame.gradient_norms) norms[part] = to_json(norm);
  Json json = {{"step", frame.step},
               {"loss", to_json(frame.loss)},
               {"weights", std::move(weights)},
               {"gradient_norms", std::move(norms)}};
  for (const auto& [name, x] : frame.parameters) {
    const EncodedNumbers numbers = encode_numbers(x, 0, x.size());
    json["parameters"][name] = {{numbers.type, numbers.base64}};
  }
  return json;
}

Json tape_of(const Recording& recording, Json values) {
  Json ops = Json::array();
  for (const TapeOp& op : recording.tape.ops) ops.push_back(json_of(op));
  return {{"values", std::move(values)},
          {"ops", std::move(ops)},
          {"forward_ops", recording.forward_ops},
          {"loss", recording.loss}};
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// A tape without the numbers that are computed, and of parameters that are known: that have this
// shape in the model of the lesson.
Json tape_beside(const Recording& recording, const std::map<std::string, Shape>& known) {
  Json values = Json::array();
  for (const TapeValue& value : recording.tape.values) {
    values.push_back(json_of(value));
    const auto found = known.find(value.name);
    const bool is_known =
        value.parameter && found != known.end() && found->second == value.tensor.shape();
    if (value.computed || is_known) continue;
    EncodedNumbers numbers = encode_numbers(value.tensor, 0, value.tensor.size());
    values.back()["numbers"] = {{numbers.type, std::move(numbers.base64)}};
  }
  return tape_of(recording, std::move(values));
}

std::map<std::string, Shape> shapes_of_parameters(const Lesson& lesson) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : parameters(lesson.model)) shapes[name] = tensor.shape();
  return shapes;
}

// All questions with which the page can train the model, into what describes the lesson.
void add_practice(const Lesson& lesson, Json& json) {
  if (!lesson.practice) return;
  const Recording recording = record(lesson.model, *lesson.practice, lesson.form());
  json["practice"] = tape_beside(recording, shapes_of_parameters(lesson));
  const OptimizerOptions& optimizer = lesson.config.optimizer;
  json["practice"]["optimizer"] = {{"learning_rate", optimizer.learning_rate},
                                   {"betas", optimizer.betas},
                                   {"epsilon", optimizer.epsilon}};
}

// The tape of the model with a setting.
Json variant_of(const Lesson& lesson, const std::string& setting, const std::string& part,
                const std::map<std::string, Shape>& known) {
  const Lesson changed = sure(with_settings(lesson, {setting}));
  Recording recording = record(changed.model, changed.batch, changed.form());
  if (!part.empty()) recording = part_of(recording, part, /*other_weights=*/false);
  Json variant = {{"setting", setting},
                  {"whole_loss", to_json(recording.whole_loss)},
                  {"untrained", changed.untrained}};
  variant.update(tape_beside(recording, known));
  add_practice(changed, variant);
  return variant;
}

// The first of each key, then the second of each, and so on.
std::vector<std::string> mixed(const std::vector<std::string>& settings) {
  std::map<std::string, int64_t> seen;
  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const std::string& setting : settings) {
    ranked.emplace_back(seen[setting.substr(0, setting.find('='))]++, setting);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<int64_t, std::string>::first);
  std::vector<std::string> all;
  for (auto& [rank, setting] : ranked) all.push_back(std::move(setting));
  return all;
}

}  // namespace

Recording part_that_fits(Recording whole, const std::string& layer,
                         const std::function<bool(const Recording&)>& fits) {
  if (fits(whole)) return whole;
  const std::string block = layer.substr(0, layer.rfind('.'));
  for (const bool other_weights : {true, false}) {
    Recording part = part_of(whole, block, other_weights);
    if (fits(part)) return part;
  }
  return part_of(whole, layer, /*other_weights=*/false);
}

std::string lesson_document(const Recording& recording, const Lesson& lesson, int64_t most_bytes) {
  Json document = {{"format", "qkv lesson"}, {"version", 1}, {"meta", meta_of(recording, lesson)}};
  for (const LessonFrame& frame : lesson.history) document["history"].push_back(json_of(frame));
  add_practice(lesson, document);
  document.update(tape_of(recording, describe_values(recording.tape)));
  const int64_t room =
      most_bytes > 0 ? std::max<int64_t>(1, most_bytes - std::ssize(text_of(document))) : 0;
  write_numbers(recording, lesson, room, document["values"]);
  return text_of(document);
}

std::string variants_document(const Lesson& lesson, const std::string& part, int64_t most_bytes) {
  const std::map<std::string, Shape> known = shapes_of_parameters(lesson);
  const std::vector<std::string> settings = single_settings(lesson);
  std::map<std::string, Json> made;
  int64_t left = most_bytes;
  for (const std::string& setting : mixed(settings)) {
    if (left <= 0) break;
    Json variant = variant_of(lesson, setting, part, known);
    left -= std::ssize(packed(text_of(variant)));
    if (left >= 0) made[setting] = std::move(variant);
  }
  Json variants = Json::array();
  for (const std::string& setting : settings) {
    if (made.contains(setting)) variants.push_back(std::move(made[setting]));
  }
  return text_of(variants);
}

namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
std::string base64_of(std::span<const double> numbers) {
  const std::vector<T> converted(numbers.begin(), numbers.end());
  return absl::Base64Escape(
      {reinterpret_cast<const char*>(converted.data()), converted.size() * sizeof(T)});
}

bool is_f32(double number) {
  return static_cast<double>(static_cast<float>(number)) == number || number != number;
}

}  // namespace

EncodedNumbers encode_numbers(const Tensor& x, int64_t first, int64_t count) {
  const Tensor row = reshape(x.detached(), {x.size()});
  const std::vector<double> numbers = slice(row, 0, first, count).to_vector();
  if (x.dtype() == DType::boolean) return {"u8", base64_of<uint8_t>(numbers)};
  if (x.dtype() == DType::i64) return {"i32", base64_of<int32_t>(numbers)};
  if (std::ranges::all_of(numbers, is_f32)) return {"f32", base64_of<float>(numbers)};
  return {"f64", base64_of<double>(numbers)};
}

int64_t least_encoded_bytes(const Tensor& x) {
  const int64_t bytes = x.dtype() == DType::boolean ? x.size() : 4 * x.size();
  return (bytes + 2) / 3 * 4;  // base64
}

std::string encode_as_f32(const Tensor& x) { return base64_of<float>(x.to_vector()); }

}  // namespace qkv
