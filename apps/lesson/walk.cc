#include "apps/lesson/walk.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

constexpr int64_t kMostRows = 8, kMostColumns = 7;

enum class Columns { kNumbers, kKeys };

struct Step {
  std::string path;      // "q", of the layer; or whole, where it begins with "/"
  const char* name;      // "Q"
  const char* formula;   // of it
  const char* backward;  // of its gradient
  Columns columns = Columns::kNumbers;
};

const Step kSteps[] = {
    {"_norm", "X", "norm of the residual stream", "dQ W_qᵀ + dK W_kᵀ + dV W_vᵀ"},
    {".q", "Q", "X W_q + b_q, this head's part", "scale dS K"},
    {".k", "K", "X W_k + b_k", "scale dSᵀ Q"},
    {".v", "V", "X W_v + b_v", "Pᵀ dO"},
    {".scores", "S", "scale Q Kᵀ", "dS_m, and 0 where hidden", Columns::kKeys},
    {".masked_scores", "S_m", "S, and -inf where a key is hidden", "P ∘ (dP - rowsum(P ∘ dP))",
     Columns::kKeys},
    {".weights", "P", "softmax of each row of S_m", "dO Vᵀ", Columns::kKeys},
    {".heads", "O", "P V", "this head's part of dC"},
    {".concatenated", "C", "all heads, side by side", "dY W_oᵀ"},
    {"", "Y", "C W_o + b_o", "what comes back from the residual stream"},
};

const TapeValue* find(const Recording& recording, const std::string& path) {
  for (const TapeValue& value : recording.tape.values) {
    if (std::ranges::find(value.paths, path) != value.paths.end()) return &value;
  }
  return nullptr;
}

// One head of a tensor as rows, one for each token.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> numbers;

  double at(int64_t row, int64_t column) const {
    return numbers[static_cast<size_t>(row * columns + column)];
  }
};

//   [1, T, C]; [1, T, H, D] of q, k and v; [1, H, Tq, Tk] of scores and heads
Matrix matrix_of(const Tensor& x, int64_t head, bool heads_first) {
  const std::vector<double> all = x.to_vector();
  if (x.rank() < 4) return {x.dim(-2), x.dim(-1), all};
  Matrix matrix = {heads_first ? x.dim(2) : x.dim(1), x.dim(3), {}};
  const int64_t heads = heads_first ? x.dim(1) : x.dim(2);
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const int64_t block = heads_first ? head * matrix.rows + row : row * heads + head;
    const auto begin = all.begin() + block * matrix.columns;
    matrix.numbers.insert(matrix.numbers.end(), begin, begin + matrix.columns);
  }
  return matrix;
}

// Where `shown` of `size` begin, with `place` among them.
int64_t window_around(int64_t place, int64_t shown, int64_t size) {
  return std::clamp<int64_t>(place - shown / 2, 0, std::max<int64_t>(0, size - shown));
}

std::string cut_to(const std::string& text, size_t bytes) {
  std::string shown = printable(text);
  if (shown.size() <= bytes) return shown;
  while (bytes > 0 && (static_cast<unsigned char>(shown[bytes]) & 0xC0) == 0x80) --bytes;
  return shown.substr(0, bytes);
}

std::string format_cell(double number) {
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  if (number == 0) return "0";
  const double size = std::abs(number);
  return size < 1e-3 || size >= 1e4 ? absl::StrFormat("%.1e", number)
                                    : absl::StrFormat("%.4f", number);
}

class Walk {
 public:
  Walk(const Recording& recording, const Lesson& lesson) : recording_(recording), lesson_(lesson) {
    const bool crosses = lesson.layer.ends_with("cross_attention");
    const bool has_source = lesson.form() == DataForm::kSourceTarget;
    const bool in_encoder = lesson.layer.starts_with("encoder.");
    queries_ = texts_of(has_source && !in_encoder ? 1 : 0);
    keys_ = crosses ? texts_of(0) : queries_;
  }

  std::string text() {
    absl::StrAppendFormat(&text_, "%s, %s, head %d; loss %.6f\n", printable(lesson_.config.name),
                          lesson_.layer, lesson_.head, recording_.whole_loss);
    absl::StrAppend(&text_, "\nForward\n");
    for (const Step& step : kSteps) tell(step, /*backward=*/false);
    absl::StrAppend(&text_, "\nBackward\n");
    for (size_t i = std::size(kSteps); i-- > 0;) tell(kSteps[i], /*backward=*/true);
    return text_;
  }

 private:
  std::vector<std::string> texts_of(size_t input) const {
    std::vector<std::string> texts;
    if (lesson_.model.data().is_image()) return texts;
    const Array& tokens = lesson_.batch.inputs[input];
    for (int64_t i = 0; i < tokens.size(); ++i) {
      const int64_t token = tokens.data<int64_t>()[i];
      texts.push_back(lesson_.vocabulary[static_cast<size_t>(token)]);
    }
    return texts;
  }

  // A class token or a patch has no text.
  static std::string label(const std::vector<std::string>& texts, int64_t i, int64_t count) {
    const int64_t before = count - std::ssize(texts);
    const bool has_text = i >= before && i - before < std::ssize(texts);
    return cut_to(has_text ? texts[static_cast<size_t>(i - before)] : absl::StrCat(i), 8);
  }

  void tell(const Step& step, bool backward) {
    const TapeValue* value = find(recording_, lesson_.layer + step.path);
    if (!value || (backward && !value->gradient)) return;
    const Tensor& x = backward ? recording_.tape[*value->gradient].tensor : value->tensor;
    const std::string name = absl::StrCat(backward ? "d" : "", step.name);
    const bool heads_first = step.columns == Columns::kKeys || step.path == ".heads";
    const Matrix matrix = matrix_of(x, lesson_.head, heads_first);
    absl::StrAppendFormat(&text_, "\n%s [%d, %d] = %s\n", name, matrix.rows, matrix.columns,
                          backward ? step.backward : step.formula);
    const bool rows_are_keys = step.path == ".k" || step.path == ".v";
    write(matrix, rows_are_keys ? keys_ : queries_, step.columns == Columns::kKeys);
  }

  void write(const Matrix& matrix, const std::vector<std::string>& labels, bool columns_are_keys) {
    const int64_t rows = std::min(matrix.rows, kMostRows);
    const int64_t columns = std::min(matrix.columns, kMostColumns);
    const int64_t first_row = window_around(lesson_.position, kMostRows, matrix.rows);
    const int64_t first_column =
        columns_are_keys ? window_around(lesson_.position, kMostColumns, matrix.columns) : 0;
    absl::StrAppendFormat(&text_, "%-9s", "");
    for (int64_t j = first_column; j < first_column + columns; ++j) {
      const std::string name = columns_are_keys ? label(keys_, j, matrix.columns) : absl::StrCat(j);
      absl::StrAppendFormat(&text_, "%10s", name);
    }
    absl::StrAppend(&text_, "\n");
    for (int64_t i = first_row; i < first_row + rows; ++i) {
      absl::StrAppendFormat(&text_, "%-9s", label(labels, i, matrix.rows));
      for (int64_t j = first_column; j < first_column + columns; ++j) {
        absl::StrAppendFormat(&text_, "%10s", format_cell(matrix.at(i, j)));
      }
      absl::StrAppend(&text_, "\n");
    }
    if (rows < matrix.rows || columns < matrix.columns) {
      absl::StrAppendFormat(&text_, "%d of %d rows shown, %d of %d columns\n", rows, matrix.rows,
                            columns, matrix.columns);
    }
  }

  const Recording& recording_;
  const Lesson& lesson_;
  std::vector<std::string> queries_, keys_;
  std::string text_;
};

}  // namespace

std::string lesson_walk(const Recording& recording, const Lesson& lesson) {
  return Walk(recording, lesson).text();
}

}  // namespace qkv
