#include "framework/gradcheck/gradcheck_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "framework/gradcheck/position.h"

namespace qkv {
namespace {

constexpr std::string_view kIndent = "      ";

std::string counted(int64_t count, const char* one, const char* many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string numbers(const Agreement& a) {
  return absl::StrFormat("analytic %.10g, numeric %.10g ± %.1e, error %.1e, tolerance %.1e",
                         a.analytic, a.numeric, a.estimated_error, a.error, a.tolerance);
}

// "FAIL at [1, 0] of output [2]: analytic …; note"
std::string line_of(const InputReport& input, const ElementReport& entry) {
  std::string text = absl::StrCat(
      entry.verdict == Verdict::kPass ? "worst" : std::string(verdict_name(entry.verdict)), " at ",
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
  absl::StrAppend(&text, input.full_jacobian ? " (full Jacobian)" : " (random cotangent)");
  const auto append = [&](int64_t count, const char* one, const char* many) {
    if (count > 0) absl::StrAppend(&text, ", ", counted(count, one, many));
  };
  append(input.failed, "wrong", "wrong");
  append(input.undecided, "undecided", "undecided");
  append(input.structural_zeros, "structural zero", "structural zeros");
  append(input.kinks_stepped_around, "kink stepped around", "kinks stepped around");
  append(input.smaller_steps, "element by smaller steps", "elements by smaller steps");
  return text;
}

std::string blocks_of(const BlockReport& blocks) {
  return absl::StrFormat(
      "every element, in %d rounds of %s%s: an error above %.1e%s is missed with a "
      "probability of %.0e at most",
      blocks.rounds, counted(blocks.count, "block", "blocks"),
      blocks.wrong == 0 ? "" : absl::StrCat(", ", blocks.wrong, " of them wrong"), blocks.seen,
      blocks.by_size ? " / |x|" : "", blocks.missed);
}

std::string methods_of(const InputReport& input) {
  std::string text = absl::StrCat("Taylor ", input.taylor.to_text());
  absl::StrAppend(&text, absl::StrFormat(", <Ju, v> - <u, JTv> %.0e, fused - composed %.0e",
                                         input.dot_product.error, input.composed.error));
  if (input.no_forward_rule.empty()) {
    absl::StrAppend(&text, absl::StrFormat(", forward - backward %.0e", input.forward.error));
  }
  return text;
}

void append_line(std::string& text, std::string_view line) {
  absl::StrAppend(&text, std::string(kIndent), std::string(line), "\n");
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kUndecided:
      break;
  }
  return "UNDECIDED";
}

Verdict worse(Verdict a, Verdict b) {
  if (a == Verdict::kFail || b == Verdict::kFail) return Verdict::kFail;
  return a == Verdict::kPass ? b : a;
}

std::vector<int64_t> index_of(const Shape& shape, int64_t element) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

std::string position(const Shape& shape, int64_t element) {
  return absl::StrCat("[", absl::StrJoin(index_of(shape, element), ", "), "]");
}

std::string TaylorReport::to_text() const {
  if (measured) return absl::StrFormat("slope %.2f", slope);
  return is_finite ? "all rounding" : "not finite";
}

std::string InputReport::to_text() const {
  std::string text =
      absl::StrFormat("%-4s  order %d  %s f64%s: ", std::string(verdict_name(verdict)), order, name,
                      shape.to_string());
  if (elements == 0) {
    absl::StrAppend(&text, note.empty() ? "empty" : note, "\n");
    return text;
  }
  absl::StrAppend(&text, counts_of(*this), "\n");
  if (!note.empty()) append_line(text, note);
  if (!diagnosis.empty()) append_line(text, "diagnosis: " + diagnosis);
  for (size_t i = 0; i < worst.size(); ++i) {  // of what passes, one is enough
    if (i == 0 || worst[i].verdict != Verdict::kPass) append_line(text, line_of(*this, worst[i]));
  }
  if (blocks.count > 0) append_line(text, blocks_of(blocks));
  append_line(text, methods_of(*this));
  const auto append = [&](std::string_view name_of_check, Verdict its_verdict,
                          const std::string& details) {
    if (its_verdict == Verdict::kPass) return;
    append_line(text, absl::StrCat(std::string(verdict_name(its_verdict)), " ",
                                   std::string(name_of_check), ": ", details));
  };
  const auto details = [](const Agreement& a) {
    return a.note.empty() ? numbers(a) : absl::StrCat(a.note, ": ", numbers(a));
  };
  append(blocks.worst.element < 0
             ? "along a block"
             : absl::StrCat("along a block that holds ", position(shape, blocks.worst.element)),
         blocks.worst.verdict, details(blocks.worst));
  append("along a random direction", direction.verdict, details(direction));
  append("Taylor remainder", taylor.verdict,
         absl::StrFormat("slope %.2f, %s", taylor.slope, taylor.note));
  append("dot product", dot_product.verdict, details(dot_product));
  append("composed", composed.verdict,
         absl::StrCat("at ", position(shape, composed.element), ": ", details(composed)));
  append("forward mode", forward.verdict,
         forward.output < 0 ? details(forward)
                            : absl::StrCat("output ", position(output_shape, forward.output), ": ",
                                           details(forward)));
  if (!dot_product.note.empty() && dot_product.verdict == Verdict::kPass) {
    append_line(text, "dot product: " + dot_product.note);
  }
  return text;
}

Verdict GradcheckReport::verdict() const {
  Verdict verdict = hessian_symmetry.verdict;
  for (const InputReport& input : inputs) verdict = worse(verdict, input.verdict);
  return verdict;
}

std::string GradcheckReport::to_text() const {
  std::string text;
  for (const InputReport& input : inputs) absl::StrAppend(&text, input.to_text());
  if (hessian_symmetry.verdict != Verdict::kPass) {
    absl::StrAppend(&text, "FAIL  symmetry of the Hessian: ", numbers(hessian_symmetry), "\n");
  }
  for (const std::string& note : notes) absl::StrAppend(&text, "note: ", note, "\n");
  const auto not_passed = inputs.size() - std::ranges::count_if(inputs, &InputReport::passed);
  absl::StrAppend(&text, std::string(verdict_name(verdict())));
  if (not_passed > 0) absl::StrAppend(&text, ": ", not_passed, " of ", inputs.size());
  absl::StrAppend(&text, ": ", counted(derivatives, "derivative", "derivatives"), "\n");
  return text;
}

}  // namespace qkv
