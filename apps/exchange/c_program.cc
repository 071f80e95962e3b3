#include "apps/exchange/c_program.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "apps/exchange/export_formats.h"
#include "data/tasks/tasks.h"
#include "framework/core/error.h"
#include "framework/core/utf8.h"
#include "framework/nn/attention_position.h"

namespace qkv {
namespace {

// What a template is filled with.
struct TemplateValues {
  std::set<std::string> facts;               // "norm=pre"
  std::map<std::string, std::string> parts;  // by the name of "//= name"
  std::map<std::string, std::string> words;  // by the name of "@NAME@"
};

std::string with_words(std::string line, const std::map<std::string, std::string>& words) {
  for (size_t at = line.find('@'); at != std::string::npos; at = line.find('@', at)) {
    const size_t end = line.find('@', at + 1);
    const auto word = words.find(line.substr(at + 1, end - at - 1));
    if (end == std::string::npos || word == words.end()) fail("template: no such word: " + line);
    line.replace(at, end + 1 - at, word->second);
    at += word->second.size();
  }
  return line;
}

bool holds(absl::string_view conditions, const std::set<std::string>& facts) {
  const std::vector<std::string> any = absl::StrSplit(conditions, ' ');
  return std::ranges::any_of(any, [&](const std::string& fact) {
    return fact.starts_with('!') ? !facts.contains(fact.substr(1)) : facts.contains(fact);
  });
}

// The text of a template. Of its lines, those between "//? a b" and "//." stay where one of the
// facts holds ("!a": does not hold); such pairs nest. "//= name" stands for a part, "@NAME@" for a
// word. Throws Error where the template has a mistake, or asks for what is not there.
std::string filled_template(const std::string& text, const TemplateValues& values) {
  std::string filled;
  std::vector<bool> stays = {true};
  const std::vector<std::string> lines = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  for (const std::string& line : lines) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "//? ")) {
      stays.push_back(stays.back() && holds(rest, values.facts));
    } else if (line == "//.") {
      stays.pop_back();
      if (stays.empty()) fail("template: an end without a beginning");
    } else if (absl::ConsumePrefix(&rest, "//= ")) {
      const auto part = values.parts.find(std::string(rest));
      if (part == values.parts.end()) fail("template: no such part: " + line);
      if (stays.back()) filled += part->second;
    } else if (stays.back()) {
      absl::StrAppend(&filled, with_words(line, values.words), "\n");
    }
  }
  if (stays.size() != 1) fail("template: a beginning without an end");
  return filled;
}

constexpr char kBeginningOfProgram[] = "// Written by qkv export --c";

std::string float_literal(double value) {
  const std::string digits = absl::StrFormat("%.9g", value);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0f" : digits + "f";
}

// A string of C. A question mark is written so that no trigraph comes about.
std::string string_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      absl::StrAppend(&literal, "\\", std::string(1, c));
    } else if (c == '\n') {
      literal += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&literal, "\\%03o", byte);
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

std::string list_of(const std::vector<std::string>& items) {
  std::string list, line = "   ";
  for (const std::string& item : items) {
    if (line.size() + item.size() > 95) {
      absl::StrAppend(&list, line, "\n");
      line = "   ";
    }
    absl::StrAppend(&line, " ", item, ",");
  }
  return absl::StrCat(list, line, "\n");
}

std::string texts_of(const char* name, const char* size, const std::vector<std::string>& texts) {
  std::vector<std::string> literals;
  for (const std::string& text : texts) literals.push_back(string_literal(text));
  return absl::StrCat("static const char *const ", name, "[", size, "] = {\n", list_of(literals),
                      "};\n");
}

class CProgram {
 public:
  CProgram(const LoadedRun& run, const std::string& file, const std::string& weights)
      : beginning_(weights.substr(0, kBeginningBytes)),
        checkpoint_(run.checkpoint),
        config_(checkpoint_.config),
        o_(config_.model),
        data_(checkpoint_.data),
        task_(*find_task(config_.data.task)),
        is_classifier_(form_of(o_.kind) == DataForm::kClass),
        file_(std::filesystem::path(file).filename().string()) {}

  std::string text() {
    const bool has_class_token = is_classifier_ && o_.pool == Pool::kClassToken;
    longest_ = data_.max_length;
    length_ = longest_ + (has_class_token ? 1 : 0);
    add_facts(has_class_token);
    add_words();
    values_.parts["sizes"] = sizes();
    values_.parts["vocabulary"] = texts_of("vocabulary", "V", checkpoint_.vocabulary.texts());
    if (!checkpoint_.class_names.empty()) {
      values_.parts["vocabulary"] += texts_of("class_names", "OUTPUTS", checkpoint_.class_names);
    }
    values_.parts["weights"] = c_structs(checkpoint_.arrays);
    values_.parts["answer_length"] = answer_length();
    return without_bias_marks(filled_template(kProgramTemplate, values_));
  }

 private:
  void add_fact(const std::string& fact, bool holds = true) {
    if (holds) values_.facts.insert(fact);
  }

  void add_facts(bool has_class_token) {
    const AttentionChoices& a = o_.attention;
    const bool causal = !is_classifier_ && a.causal;
    const bool looks = o_.mixer == "attention" || o_.mixer == "learned" || o_.mixer == "uniform";
    for (const std::string& fact :
         {absl::StrCat("kind=", o_.kind), absl::StrCat("mixer=", o_.mixer),
          absl::StrCat("heads=", name_of(a.heads)),
          absl::StrCat("projections=", name_of(a.projections)),
          absl::StrCat("position=", name_of(o_.position)), absl::StrCat("cell=", name_of(o_.cell)),
          absl::StrCat("norm=", name_of(o_.norm)),
          absl::StrCat("norm_kind=", name_of(o_.norm_kind)),
          absl::StrCat("activation=", name_of(o_.activation))}) {
      add_fact(fact);
    }
    add_fact("looks", looks);
    add_fact("causal", causal);
    add_fact("window", looks && a.window > 0);
    add_fact("sees_all", !causal && a.window == 0);
    add_fact("depthwise", o_.depthwise);
    add_fact("class_token", has_class_token);
    add_fact("pool=mean", is_classifier_ && !has_class_token);
    add_fact("class_names", !checkpoint_.class_names.empty());
    add_fact("spaced", is_spaced());
    add_fact("unknown", checkpoint_.vocabulary.unknown().has_value());
    add_fact("after_question", task_.records && !task_.records->after_question.empty());
    const auto& texts = checkpoint_.vocabulary.texts();
    const bool has_lines = std::ranges::count(texts, "\n") > 0;
    add_fact("begins_empty", has_lines && task_.is_running_text);
    add_fact("begins_line", has_lines && !task_.is_running_text && task_.first_token == "\n");
    add_fact("last_token", !task_.last_token.empty());
  }

  void add_words() {
    auto& words = values_.words;
    words["FILE"] = printable(file_);
    words["WEIGHTS"] = printable(file_ + ".bin");
    words["WEIGHTS_PATH"] = string_literal(file_ + ".bin");
    words["EPSILON"] = float_literal(o_.norm_epsilon);
    words["MIXER"] = o_.mixer;
    words["HEAD"] = o_.tie_embeddings ? "token_embedding" : "head";
    words["SPACE"] = is_spaced() ? "\" \"" : "\"\"";
    words["OUTPUT_NAMES"] = checkpoint_.class_names.empty() ? "vocabulary" : "class_names";
    words["BIAS_OF_CONVOLUTION"] = o_.bias ? "b->convolution.bias[o]" : "0";
    std::vector<std::string> slopes;
    for (const double slope : alibi_slopes(o_.num_heads, o_.attention.alibi_slopes)) {
      slopes.push_back(float_literal(slope));
    }
    words["SLOPES"] = absl::StrJoin(slopes, ", ");
    double scale = o_.factor_of_sinusoids();
    for (const NamedArray& named : checkpoint_.arrays) {
      if (named.name == kPositionGain) scale *= std::exp(10 * named.array.to_vector()[0]);
    }
    words["SINUSOIDAL_SCALE"] = absl::StrFormat("%.17g", scale);
  }

  bool is_spaced() const { return checkpoint_.vocabulary.is_spaced(); }

  std::string sizes() const {
    std::string text;
    const auto define = [&](const char* name, const std::string& value, const char* meaning) {
      absl::StrAppendFormat(&text, "#define %s %s  // %s\n", name, value, meaning);
    };
    const auto number = [&](const char* name, int64_t value, const char* meaning) {
      define(name, absl::StrCat(value), meaning);
    };
    define("BEGINNING", string_literal(beginning_), "of the weights, which no others have");
    number("V", checkpoint_.vocabulary.size(), "tokens in the vocabulary");
    if (const auto unknown = checkpoint_.vocabulary.unknown()) {
      number("UNKNOWN", *unknown, "the token of what the vocabulary does not have");
    }
    number("OUTPUTS", is_classifier_ ? data_.classes : data_.vocabulary_size, "logits");
    number("LONGEST", longest_, "tokens that are read at most");
    number("T", length_, "positions");
    number("L", o_.num_layers, "layers");
    number("C", o_.d_model, "numbers for each position: d_model");
    number("F", o_.d_ff, "numbers between the two layers of a feed-forward layer: d_ff");
    if (o_.mixer == "attention") add_attention_sizes(number, define);
    if (o_.mixer == "convolution") {
      const bool causal = values_.facts.contains("causal");
      number("KERNEL", o_.kernel, "positions that a convolution reads");
      number("BEFORE", causal ? o_.kernel - 1 : (o_.kernel - 1) / 2, "them before the own one");
    }
    if (o_.mixer == "recurrence") {
      const bool both = !values_.facts.contains("causal");
      const int64_t state = both ? (o_.d_model + 1) / 2 : o_.d_model;
      number("DIRECTIONS", both ? 2 : 1, "of the recurrence");
      number("S", state, "numbers of a state");
      number("R", o_.cell == Cell::kLstm ? 4 * state : state, "rows of its weight");
    }
    if (values_.facts.contains("window")) {
      number("WINDOW", o_.attention.window, "the distance of what is seen at most");
    }
    if (values_.facts.contains("after_question")) {
      define("AFTER_QUESTION", string_literal(task_.records->after_question), "ends a question");
    }
    if (values_.facts.contains("last_token") && !is_classifier_) {
      define("LAST_TOKEN", string_literal(task_.last_token), "ends an answer");
    }
    return text;
  }

  void add_attention_sizes(const auto& number, const auto& define) const {
    const AttentionChoices& a = o_.attention;
    const int64_t width = a.heads == Heads::kWide ? o_.d_model : o_.d_model / o_.num_heads;
    number("H", o_.num_heads, "heads");
    number("K", a.num_key_value_heads > 0 ? a.num_key_value_heads : o_.num_heads,
           "heads of keys and values");
    number("D", width, "numbers of a head");
    const double root = std::sqrt(static_cast<double>(width));
    const double scale = a.scale != 0 ? a.scale : o_.scale_scores ? 1 / root : 1;
    define("SCALE", float_literal(scale), "of the scores: 1 / sqrt(D), if no key says otherwise");
    if (o_.position != Position::kRelative) return;
    const bool causal = values_.facts.contains("causal");
    number("DISTANCES", causal ? length_ : 2 * length_ - 1, "that have a bias of their own");
    number("ZERO", causal ? 0 : length_ - 1, "the row of distance 0");
  }

  // How many tokens follow a prompt: one number, or a table by its length.
  std::string answer_length() const {
    std::vector<std::string> counts;
    for (int64_t n = 0; n <= longest_; ++n) {
      counts.push_back(absl::StrCat(task_.answer_length(config_.data, n)));
    }
    if (std::ranges::count(counts, counts.back()) == std::ssize(counts)) {
      return absl::StrCat("  int count = ", counts.back(), ";\n");
    }
    return absl::StrCat("  static const int length_of_answer[] = {  // to a prompt of n tokens\n",
                        list_of(counts),
                        "  };\n  int count = length_of_answer[n < LONGEST ? n : LONGEST];\n");
  }

  // BIAS(x) is x where linear layers have a bias, else NULL; NORM_BIAS(x) the same of norms.
  std::string without_bias_marks(const std::string& text) const {
    const bool norms_have = o_.bias && o_.norm_kind == NormKind::kLayer;
    std::string result;
    for (size_t at = 0; at < text.size();) {
      size_t mark = text.find("BIAS(", at);
      if (mark == std::string::npos) return result + text.substr(at);
      const size_t open = mark + 4, close = text.find(')', open);
      const bool is_norm = std::string_view(text).substr(0, mark).ends_with("NORM_");
      if (is_norm) mark -= 5;
      result += text.substr(at, mark - at);
      const bool has = is_norm ? norms_have : o_.bias;
      result += has ? text.substr(open + 1, close - open - 1) : "NULL";
      at = close + 1;
    }
    return result;
  }

  std::string beginning_;  // of the weights
  const Checkpoint& checkpoint_;
  const Config& config_;
  const ModelOptions& o_;
  const DataShape& data_;
  const TaskKind& task_;
  bool is_classifier_;
  std::string file_;
  int64_t longest_ = 0, length_ = 0;
  TemplateValues values_;
};

// What the program cannot say: the key, and why.
std::string reason_against(const Checkpoint& checkpoint) {
  const ModelOptions& o = checkpoint.config.model;
  if (form_of(o.kind) == DataForm::kSourceTarget) {
    return absl::StrCat("model.kind = \"", o.kind, "\": the program has one stack of layers");
  }
  if (checkpoint.data.is_image()) return "its data are images, and the program reads texts";
  if (const TokenKind tokens = checkpoint.vocabulary.kind(); tokens != TokenKind::kCharacters) {
    return absl::StrCat("data.tokens = \"", name_of(tokens),
                        "\": the program knows characters, and words with spaces between them");
  }
  for (const std::string& text : checkpoint.vocabulary.texts()) {
    if (text.find('\0') == std::string::npos) continue;
    return "its vocabulary has the character of code 0, which ends a text of C";
  }
  return "";
}

}  // namespace

std::vector<ExportedFile> c_files(const std::string& file) {
  return {{file + ".bin", kBeginningOfWeights}, {file, kBeginningOfProgram}};
}

absl::StatusOr<std::vector<std::string>> make_c(const LoadedRun& run, const std::string& file) {
  if (const std::string why = reason_against(run.checkpoint); !why.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(run.path, ": --c cannot write this model: ", why));
  }
  // Names, shapes and numbers of the parameters are those of the config's model.
  if (const absl::StatusOr<Model> model = run.model(); !model.ok()) return model.status();
  std::string weights = c_weights(run.checkpoint.arrays);
  std::string program = CProgram(run, file, weights).text();
  return std::vector<std::string>{std::move(weights), std::move(program)};
}

}  // namespace qkv
