#include "framework/gradcheck/gradcheck_report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/core/shape.h"

namespace qkv {
namespace {

constexpr std::string_view kIndent = "      ";

std::string counted(int64_t count, const char* one, const char* many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string numbers(const Agreement& a) {
  return absl::StrCat("analytic ", digits_of(a.analytic), ", numeric ", digits_of(a.numeric),
                      absl::StrFormat(" ± %.1e, error %.1e, tolerance %.1e", a.estimated_error,
                                      a.error, a.tolerance));
}

// "FAIL at [1, 0] of output [2]: analytic …; note"
std::string line_of(const InputReport& input, const ElementReport& entry) {
  std::string text =
      absl::StrCat(entry.verdict == Verdict::kPass ? "worst" : name_of(entry.verdict), " at ",
                   position(input.shape, entry.element));
  if (entry.output >= 0 && input.output_shape.rank() > 0) {
    absl::StrAppend(&text, " of output ", position(input.output_shape, entry.output));
  }
  absl::StrAppend(&text, ": ", numbers(entry));
  if (!entry.note.empty()) absl::StrAppend(&text, "; ", entry.note);
  return text;
}

std::string counts_of(const InputReport& input) {
  std::string text = counted(input.derivatives, "derivative", "derivatives");
  if (input.elements == 0) return text;
  absl::StrAppend(&text, ", ", counted(input.elements, "element", "elements"), " looked at by ",
                  input.elements == 1 ? "itself" : "themselves");
  if (input.failed > 0) absl::StrAppend(&text, ", ", input.failed, " wrong");
  if (input.undecided > 0) absl::StrAppend(&text, ", ", input.undecided, " undecided");
  return text;
}

std::string methods_of(const InputReport& input) {
  std::string text = absl::StrFormat("<Ju, v> - <u, JTv> %.0e, fused - composed %.0e",
                                     input.dot_product.error, input.composed.error);
  if (input.no_forward_rule.empty()) {
    absl::StrAppend(&text, absl::StrFormat(", forward - backward %.0e", input.forward.error));
  }
  if (input.digits > 0.0)
    absl::StrAppend(&text, absl::StrFormat(", f64 keeps %.0f digits", std::floor(input.digits)));
  return text;
}

void append_line(std::string& text, std::string_view line) {
  absl::StrAppend(&text, std::string(kIndent), std::string(line), "\n");
}

}  // namespace

Verdict worse(Verdict a, Verdict b) {
  if (a == Verdict::kFail || b == Verdict::kFail) return Verdict::kFail;
  return a == Verdict::kPass ? b : a;
}

std::string InputReport::to_text() const {
  std::string text = absl::StrFormat("%-4s  order %d  %s %s%s: ", name_of(verdict), order, name,
                                     std::string(dtype_name(dtype)), shape.to_string());
  if (derivatives == 0) {
    absl::StrAppend(&text, note.empty() ? "empty" : note, "\n");
    return text;
  }
  absl::StrAppend(&text, counts_of(*this), "\n");
  if (!note.empty()) append_line(text, note);
  if (!diagnosis.empty()) append_line(text, "diagnosis: " + diagnosis);
  for (const ElementReport& entry : worst) {
    if (entry.verdict != Verdict::kPass) append_line(text, line_of(*this, entry));
  }
  const bool were_compared = dot_product.tolerance > 0.0 || composed.tolerance > 0.0;
  if (were_compared) append_line(text, methods_of(*this));
  const auto append = [&](std::string_view name_of_check, const Agreement& a) {
    if (a.verdict == Verdict::kPass) return;
    append_line(text, absl::StrCat(name_of(a.verdict), " ", std::string(name_of_check), ": ",
                                   a.note.empty() ? "" : absl::StrCat(a.note, ": "), numbers(a)));
  };
  append("dot product", dot_product);
  append(absl::StrCat("composed, at ", position(shape, composed.element)), composed);
  append("forward mode", forward);
  append(absl::StrCat("in f64, at ", position(shape, in_f64.element)), in_f64);
  if (!dot_product.note.empty() && dot_product.verdict == Verdict::kPass) {
    append_line(text, "dot product: " + dot_product.note);
  }
  return text;
}

std::string FormulaReport::to_text() const {
  const std::string of_what = absl::StrCat(inputs, " x ", outputs, " derivatives");
  if (verdict != Verdict::kPass) {
    return absl::StrFormat("%s over %s: off by %.0e (resolved to %.0e)",
                           verdict == Verdict::kFail ? "does not agree" : "is undecided", of_what,
                           disagreement, resolved_to);
  }
  return absl::StrFormat("agrees to %.0e over %s (resolved to %.0e)", disagreement, of_what,
                         resolved_to);
}

Verdict GradcheckReport::verdict() const {
  Verdict verdict = hessian_symmetry.verdict;
  for (const InputReport& input : inputs) verdict = worse(verdict, input.verdict);
  for (const FormulaReport& formula : formulas) verdict = worse(verdict, formula.verdict);
  return verdict;
}

std::string GradcheckReport::to_text() const {
  std::string text;
  for (const InputReport& input : inputs) absl::StrAppend(&text, input.to_text());
  for (const FormulaReport& formula : formulas) {
    absl::StrAppend(&text, "formula, order ", formula.order, ": ", formula.to_text(), "\n");
  }
  if (hessian_symmetry.verdict != Verdict::kPass) {
    absl::StrAppend(&text, "FAIL  symmetry of the Hessian: ", numbers(hessian_symmetry), "\n");
  }
  for (const std::string& note : notes) absl::StrAppend(&text, "note: ", note, "\n");
  const auto not_passed = inputs.size() - std::ranges::count_if(inputs, &InputReport::passed);
  absl::StrAppend(&text, name_of(verdict()));
  if (not_passed > 0) absl::StrAppend(&text, ": ", not_passed, " of ", inputs.size());
  absl::StrAppend(&text, ": ", counted(derivatives, "derivative", "derivatives"), "\n", wrong_op);
  return text;
}

std::string digits_of(Float128 x) {
  if (x != x) return "nan";  // of either sign
  char text[64];
#ifdef __SIZEOF_FLOAT128__
  strfromf128(text, sizeof(text), "%.20g", x);
#else
  strfroml(text, sizeof(text), "%.20g", x);
#endif
  return text;
}

}  // namespace qkv
