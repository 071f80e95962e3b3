#include <algorithm>
#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/check/findings.h"
#include "apps/report/gradcheck/gradcheck_documents.h"
#include "apps/report/writers/page_frame.h"
#include "framework/core/text/utf8.h"

namespace qkv {
namespace {

std::vector<std::string> columns(std::initializer_list<const char*> names) {
  std::vector<std::string> html;
  for (const char* name : names) html.push_back(in_both(say(name)));
  return html;
}

// For each function, a part that opens: its mistakes, and what caught them.
std::string catches_of(const MutationReport& report) {
  std::string html;
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < report.results.size(); ++i) {
    const MutationResult& r = report.results[i];
    if (r.killed) {
      rows.push_back({escaped(r.mutant.to_text()), name_of(r.mutant.kind), escaped(r.example),
                      escaped(r.how)});
    }
    const std::string& name = r.mutant.function;
    const bool is_last = i + 1 == report.results.size();
    if ((!is_last && report.results[i + 1].mutant.function == name) || rows.empty()) continue;
    html +=
        folded_html(say("{0}: {1} caught", name, rows.size()),
                    table_of(columns({"mistake", "kind", "example", "what its check says"}), rows));
    rows.clear();
  }
  return html;
}

constexpr int kMostShownFirst = 20;  // examples that did not pass, above all else

// Where the details of a function stand. No name: it may hold anything.
std::string id_of(size_t index) { return absl::StrCat("function-", index); }

std::string heading_of(const CheckedExample& example) {
  return absl::StrCat(printable(example.name), ", seed ", example.seed);
}

std::string html_of(const CheckedExample& example, const std::string& heading) {
  return element("h3", heading) + element("pre", example.report.to_text());
}

std::string v_curve_of(const StepCurve& curve) {
  if (curve.points.empty()) return paragraph_html(say("No V curve: {0}", curve.why_none), "soft");
  const LineChart chart = sweep_chart(curve.points, curve.example);
  const auto has_error = [](const Series& series) { return std::ranges::max(series.y) > 0; };
  if (std::ranges::none_of(chart.series, has_error)) {
    return paragraph_html(say("No V curve: the differences are exact at every step"), "soft");
  }
  return figures_html({chart});
}

const char* kind_of(bool passed) { return passed ? "agrees verdict" : "disagrees verdict"; }

std::string verdict_of(const GradcheckFindings& findings) {
  const GradcheckRow all = findings.total();
  const auto not_passed = std::ranges::count_if(
      findings.functions,
      [](const CheckedFunction& function) { return function.row.verdict != Verdict::kPass; });
  const size_t count = findings.functions.size();
  const Text passed = not_passed == 0 ? say("PASS: every derivative agrees")
                                      : say("Not passed: {0} of {1} functions", not_passed, count);
  const std::string seeds = findings.seeds == 1 ? absl::StrCat("seed ", findings.seed)
                                                : absl::StrCat("seeds ", findings.seed, " to ",
                                                               findings.seed + findings.seeds - 1);
  std::string html =
      paragraph_html(say("gradcheck.total", passed, all.derivatives, all.examples, count,
                         findings.order, seeds, absl::StrFormat("%.1f", findings.seconds)),
                     kind_of(not_passed == 0));
  if (!findings.mutations) return html;
  const MutationCount planted = findings.mutations->rows().back().counts.back();
  return html + paragraph_html(say("gradcheck.caught", planted.planted, planted.killed),
                               kind_of(planted.killed == planted.planted));
}

// The part that no reader may miss: all that did not pass, open.
std::string what_did_not_pass(const GradcheckFindings& findings) {
  std::string html;
  int count = 0;
  for (const CheckedFunction& function : findings.functions) {
    for (const CheckedExample& example : function.examples) {
      if (example.report.passed() || ++count > kMostShownFirst) continue;
      html += html_of(example, absl::StrCat(function.row.kind, " ", printable(function.row.name),
                                            ", ", heading_of(example)));
    }
  }
  if (count > kMostShownFirst) {
    html += paragraph_html(
        say("And {0} more examples that did not pass, below.", count - kMostShownFirst));
  }
  if (findings.mutations && !findings.mutations->survivors().empty()) {
    absl::StrAppend(&html, "<h3>", in_both(say("Planted mistakes that nothing caught")),
                    "</h3>\n<ul>\n");
    for (const Mutant& mutant : findings.mutations->survivors()) {
      html += element("li", mutant.to_text());
    }
    html += "</ul>\n";
  }
  return html.empty() ? "" : titled_html(say("What did not pass"), html);
}

std::string how_to_read_reports() {
  std::string methods;
  for (const Text& method :
       {say("gradcheck.differences"), say("gradcheck.dot_product"), say("gradcheck.forward")}) {
    absl::StrAppend(&methods, "<li>", in_both(method), "</li>\n");
  }
  return titled_html(say("How to read this page"),
                     absl::StrCat(paragraph_html(say("gradcheck.methods")), "<ul>\n", methods,
                                  "</ul>\n", paragraph_html(say("gradcheck.digits")),
                                  paragraph_html(say("gradcheck.v_curve"))));
}

std::string overview_of(const GradcheckFindings& findings) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < findings.functions.size(); ++i) {
    const GradcheckRow& row = findings.functions[i].row;
    rows.push_back({link_to("#" + id_of(i), printable(row.name)), html_of(row.verdict), row.kind,
                    absl::StrCat(row.examples), absl::StrCat(row.derivatives),
                    size_text(row.disagreement), size_text(row.resolved_to),
                    digits_text(row.digits)});
  }
  const std::vector<std::string> head =
      columns({"name", "verdict", "kind", "examples", "derivatives", "agrees to", "resolved to",
               "digits in f64"});
  return titled_html(say("Overview"),
                     paragraph_html(say("gradcheck.overview")) + table_of(head, rows));
}

// A part that opens. A link to its content opens it, too.
std::string details_of(const CheckedFunction& function, const std::string& id) {
  const GradcheckRow& row = function.row;
  const Text what =
      say("{0} derivatives, agree to {1}, ", row.derivatives, size_text(row.disagreement));
  std::string html = absl::StrCat(
      "<details><summary><b>", escaped(printable(row.name)), "</b>: ", in_both(what),
      html_of(row.verdict), "</summary>\n<div id=\"", id, "\">\n", v_curve_of(function.curve));
  for (const CheckedExample& example : function.examples) {
    html += html_of(example, heading_of(example));
  }
  return html + "</div>\n</details>\n";
}

std::string functions_of(const GradcheckFindings& findings) {
  std::string html, details;
  const std::vector<CheckedFunction>& functions = findings.functions;
  for (size_t i = 0; i < functions.size(); ++i) {
    details += details_of(functions[i], id_of(i));
    const std::string& kind = functions[i].row.kind;
    if (i + 1 < functions.size() && functions[i + 1].row.kind == kind) continue;
    html += titled_html(say("One by one: {0}", kind + "s"), details);
    details.clear();
  }
  return html;
}

std::string mutations_of(const GradcheckFindings& findings) {
  const std::string shown = findings.mutations ? paragraph_html(say("gradcheck.planted")) +
                                                     element("pre", findings.mutations->to_text()) +
                                                     catches_of(*findings.mutations)
                                               : paragraph_html(say("gradcheck.not_planted"));
  return titled_html(say("Planted mistakes"), shown);
}

}  // namespace

std::string gradcheck_page(const GradcheckFindings& findings, Language language) {
  const Text title = say("Gradient check");
  return page_in_both(
      title,
      absl::StrCat("<h1>", in_both(title), "</h1>\n", verdict_of(findings),
                   what_did_not_pass(findings), how_to_read_reports(), overview_of(findings),
                   functions_of(findings), mutations_of(findings)),
      language);
}

}  // namespace qkv
