#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "apps/exchange/export_formats.h"
#include "data/tasks/tasks.h"
#include "framework/core/status.h"
#include "framework/nn/mixers/position.h"
#include "train/folder/checkpoint.h"

namespace qkv {

extern const std::string kRunProgram;  // run.c, which is compiled in (cmake/run_program.cmake)

namespace {

constexpr char kBeginningOfProgram[] = "// Written by qkv export --c\n";
constexpr char kBeginningOfWeights[] = "qkv-c 2\n";
constexpr char kPositionGain[] = "position_gain";

// The file that run.c reads, which says what its parts are.
class ProgramWeights {
 public:
  explicit ProgramWeights(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        o_(checkpoint.config.model),
        task_(*find_task(checkpoint.config.data.task)) {}

  std::string bytes() {
    add_sizes();
    add_choices();
    add_texts();
    double scale = o_.factor_of_sinusoids();
    for (const NamedArray& named : checkpoint_.arrays) {
      if (named.name == kPositionGain) {
        scale *= std::exp(10 * named.array.to_vector()[0]);
      } else if (!named.name.starts_with(kOptimizerPrefix)) {
        add_numbers(named.name, named.array);
      }
    }
    add("sinusoidal_scale", absl::StrFormat("%.17g", scale));
    if (o_.position == Position::kAlibi) {
      const auto slopes = alibi_slopes(o_.num_heads, o_.attention.alibi_slopes);
      add_numbers("slopes", Array::of({o_.num_heads}, DType::f32, slopes));
    }
    add("numbers", numbers_.size() / sizeof(float));
    // The line of the file's size has a fixed length, and numbers begin where C may read them.
    constexpr char kSizeLine[] = "bytes %012d\n";
    std::string rest = header_ + '\0' + texts_;
    const size_t before = sizeof kBeginningOfWeights - 1 + absl::StrFormat(kSizeLine, 0).size();
    while ((before + rest.size()) % sizeof(float) != 0) rest += '\0';
    const auto size = static_cast<int64_t>(before + rest.size() + numbers_.size());
    return absl::StrCat(kBeginningOfWeights, absl::StrFormat(kSizeLine, size), rest, numbers_);
  }

 private:
  void add(const std::string& name, const absl::AlphaNum& value) {
    absl::StrAppend(&header_, name, " ", value, "\n");
  }

  void add_numbers(const std::string& name, const Array& array) {
    add(name, numbers_.size() / sizeof(float));
    const bool is_f32 = array.dtype() == DType::f32;
    const Array numbers = is_f32 ? array : Array::of(array.shape(), DType::f32, array.to_vector());
    numbers_.append(static_cast<const char*>(numbers.raw()), numbers.bytes());
  }

  void add_sizes() {
    const AttentionChoices& a = o_.attention;
    const int64_t width = a.heads == Heads::kWide ? o_.d_model : o_.d_model / o_.num_heads;
    add("vocabulary", checkpoint_.vocabulary.size());
    add("positions", checkpoint_.data.max_length);
    add("layers", o_.num_layers);
    add("d_model", o_.d_model);
    add("d_ff", o_.d_ff);
    add("heads", o_.num_heads);
    add("key_value_heads", a.num_key_value_heads > 0 ? a.num_key_value_heads : o_.num_heads);
    add("head_width", width);
    const double root = std::sqrt(static_cast<double>(width));
    const double scale = a.scale != 0 ? a.scale : o_.scale_scores ? 1 / root : 1;
    add("score_scale", absl::StrFormat("%.9g", scale));
    add("norm_epsilon", absl::StrFormat("%.9g", o_.norm_epsilon));
  }

  void add_choices() {
    add("head_kind", name_of(o_.attention.heads));
    add("causal", o_.attention.causal ? 1 : 0);
    add("window", o_.attention.window);
    add("full_every", o_.attention.full_every);
    add("rotary_base", absl::StrFormat("%.17g", o_.attention.rotary_base));
    add("logit_cap", absl::StrFormat("%.9g", o_.logit_cap));
    add("position", name_of(o_.position));
    add("norm", name_of(o_.norm));
    add("norm_kind", name_of(o_.norm_kind));
    add("activation", name_of(o_.activation));
  }

  void add_texts() {
    const Vocabulary& vocabulary = checkpoint_.vocabulary;
    const bool has_lines = std::ranges::count(vocabulary.texts(), "\n") > 0;
    add("spaced", vocabulary.is_spaced() ? 1 : 0);
    add("unknown", vocabulary.unknown().value_or(-1));
    add("begins", !has_lines                  ? "anywhere"
                  : task_.is_running_text     ? "empty"
                  : task_.first_token == "\n" ? "line"
                                              : "anywhere");
    std::vector<int64_t> lengths;
    for (int64_t n = 0; n <= checkpoint_.data.max_length; ++n) {
      lengths.push_back(task_.answer_length(checkpoint_.config.data, n));
    }
    add("answer_lengths", absl::StrJoin(lengths, " "));
    for (const std::string& text : vocabulary.texts()) texts_ += text + '\0';
    texts_ += (task_.records ? task_.records->after_question : "") + '\0';
    texts_ += task_.last_token + '\0';
  }

  const Checkpoint& checkpoint_;
  const ModelOptions& o_;
  const TaskKind& task_;
  std::string header_, texts_, numbers_;
};

// A setting that the program cannot express: the key, and its possible values.
std::string reason_against(const Checkpoint& checkpoint) {
  const ModelOptions& o = checkpoint.config.model;
  if (o.kind != "decoder") {
    return absl::StrCat("model.kind = \"", o.kind, "\", but the program is a decoder");
  }
  if (o.mixer != "attention") {
    return absl::StrCat("model.mixer = \"", o.mixer, "\", but the program has attention alone");
  }
  if (o.activation == Activation::kSwiglu) {
    return "model.activation = \"swiglu\", but the program has two maps in a feed-forward layer";
  }
  if (o.attention.query_key_norm) {
    return "attention.query_key_norm = true, but the program normalizes no queries and keys";
  }
  if (const TokenKind tokens = checkpoint.vocabulary.kind(); tokens != TokenKind::kCharacters) {
    return absl::StrCat("data.tokens = \"", name_of(tokens),
                        "\", but the program knows characters, and words with spaces between them");
  }
  for (const std::string& text : checkpoint.vocabulary.texts()) {
    if (text.find('\0') == std::string::npos) continue;
    return "its vocabulary has the character of code 0, which ends a text of C";
  }
  return "";
}

}  // namespace

std::vector<ExportedFile> c_files(const std::string& file) {
  return {{file + ".bin", "qkv-c"}, {file, kBeginningOfProgram}};
}

absl::StatusOr<std::vector<std::string>> make_c(const LoadedRun& run, const std::string& file) {
  if (const std::string why = reason_against(run.checkpoint); !why.empty()) {
    return failed_precondition(run.path, ": --c cannot write this model: ", why,
                               "; use --onnx FILE");
  }
  // Names, shapes and numbers of the parameters are those of the config's model.
  if (const absl::StatusOr<Model> model = run.model(); !model.ok()) return model.status();
  const std::string weights = std::filesystem::path(file).filename().string() + ".bin";
  // A question mark is written so that no trigraph comes about.
  const std::string name = absl::StrReplaceAll(absl::CEscape(weights), {{"?", "\\?"}});
  return std::vector<std::string>{
      ProgramWeights(run.checkpoint).bytes(),
      absl::StrCat(kBeginningOfProgram, "#define WEIGHTS \"", name, "\"\n", kRunProgram)};
}

}  // namespace qkv
