#include "apps/report/writers/section_html.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "apps/report/writers/notes.h"
#include "apps/report/writers/page_files.h"
#include "apps/report/writers/page_frame.h"
#include "framework/core/each_of.h"

namespace qkv {
namespace {

// The class with the colour of the verdict.
std::string kind_of(ClaimVerdict verdict) {
  if (verdict == ClaimVerdict::kUndecided) return "undecided-verdict";
  return absl::StrReplaceAll(name_of(verdict), {{" ", "-"}});
}

std::map<ClaimVerdict, int> counts_of(const std::vector<JudgedSentence>& sentences) {
  std::map<ClaimVerdict, int> counts;
  for (const JudgedSentence& each : sentences) ++counts[each.verdict()];
  return counts;
}

// As a sentence begins; a letter that stands for a number, as in e_t, stays small.
std::string with_capital(std::string text) {
  const auto is_small = [&](size_t i) {
    return i < text.size() && absl::ascii_islower(static_cast<unsigned char>(text[i])) != 0;
  };
  if (is_small(0) && is_small(1))
    text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  return text;
}

std::string folded(const Text& title, const std::string& html, Language language) {
  return absl::StrCat("<details>\n", element("summary", title.in(language)), html, "</details>\n");
}

std::string expectation_html(const Section& section, Language language) {
  if (section.prediction.empty()) return "";
  std::string html = element("p", section.prediction.in(language));
  if (!section.formula.empty()) html += element("div", section.formula.in(language), "formula");
  return folded(say("What do you expect?"), html, language);
}

std::string findings_html(const Section& section, Language language) {
  if (section.findings.empty()) return "";
  const std::vector<Text> head = {say("what"), say("predicted"), say("measured"), Text()};
  const auto columns = each_of(head, [language](const Text& name) { return name.in(language); });
  const auto rows = each_of(section.findings, [language](const Finding& finding) {
    const std::string kind = finding.result == FindingResult::kAgrees      ? "agrees"
                             : finding.result == FindingResult::kDisagrees ? "disagrees"
                                                                           : "undecided";
    return std::vector{escaped(with_role(finding).in(language)),
                       escaped(finding.predicted.in(language)),
                       escaped(with_interval(finding).in(language)),
                       element("span", result_name(finding.result).in(language), kind)};
  });
  return folded(say("Measurements"), table_of(columns, rows), language);
}

std::string code_html(const std::string& section, Language language) {
  const auto found = code_of_sections().find(section);
  if (found == code_of_sections().end()) return "";
  return folded(
      say("In qkv's own code ({0})", "examples/steps.cc"),
      absl::StrCat("<pre><code>", escaped(code_regions().at(found->second)), "</code></pre>\n"),
      language);
}

std::string sources_html(const Section& section, Language language) {
  if (section.sources.empty()) return "";
  const auto links = each_of(section.sources, [](const Source& source) {
    return Source{source_html(source), ""};
  });
  return absl::StrCat("<p class=\"soft\">", cited(links).in(language), "</p>\n");
}

std::string slider_html(const std::string& section) {
  const auto found = sliders_of_sections().find(section);
  if (found == sliders_of_sections().end()) return "";
  return absl::StrCat("<div class=\"slider\" data-slider=\"", found->second, "\"></div>\n");
}

std::string head_html(const Section& section, bool beside_index, Language language) {
  std::string html = "<div class=\"claims\">\n";
  for (const Claim& claim : section.claims) {
    const std::string link =
        beside_index ? absl::StrCat(file_of_note(claim.place[0]), "#", claim.key) : "";
    html += claim_html(claim, link, language);
  }
  html += "</div>\n";
  if (!section.control.empty()) {
    html += element("p", say("Control: {0}", section.control).in(language), "disagrees");
  }
  return html + expectation_html(section, language);
}

}  // namespace

const std::map<std::string, std::string>& sliders_of_sections() {
  static const std::map<std::string, std::string> kSliders = {
      {"scaling.steepness", "scaling"},
      {"scaling.differences", "softmax"},
      {"positions.source", "sinusoid"},
  };
  return kSliders;
}

const std::map<std::string, std::string>& code_of_sections() {
  static const std::map<std::string, std::string> kRegions = {
      {"heads-split.trained", "heads"},      {"importance.importance", "scores"},
      {"key-value.guiding", "weighted sum"}, {"leak.mask", "mask"},
      {"scaling.differences", "softmax"},    {"scaling.gradient", "gradient of softmax"},
      {"scaling.steepness", "scale"},        {"why-w.maps", "projections"},
  };
  return kRegions;
}

std::string badge_html(ClaimVerdict verdict, Language language) {
  return absl::StrCat("<span class=\"badge ", kind_of(verdict), "\">", sign_of(verdict), " ",
                      escaped(verdict_name(verdict).in(language)), "</span>");
}

std::string totals_html(const std::vector<JudgedSentence>& sentences) {
  std::string html = "<div class=\"totals\">\n";
  const std::map<ClaimVerdict, int> counts = counts_of(sentences);
  for (const Named<ClaimVerdict>& each : kNames<ClaimVerdict>) {
    if (!counts.contains(each.value)) continue;
    const int count = counts.at(each.value);
    absl::StrAppend(&html, "<span class=\"", kind_of(each.value), "\" style=\"flex: ", count, "\">",
                    count, "</span>\n");
  }
  return html + "</div>\n";
}

std::string totals_legend_html(const std::vector<JudgedSentence>& sentences) {
  return in_both([&](Language language) {
    std::string html = "<ul class=\"kinds\">\n";
    const std::map<ClaimVerdict, int> counts = counts_of(sentences);
    for (const Named<ClaimVerdict>& each : kNames<ClaimVerdict>) {
      if (!counts.contains(each.value)) continue;
      absl::StrAppend(&html, "<li>", badge_html(each.value, language), counts.at(each.value),
                      "</li>\n");
    }
    return html + "</ul>\n";
  });
}

std::string claim_html(const Claim& claim, const std::string& link, Language language) {
  const std::string place = link.empty() ? escaped(claim.place) : link_to(link, claim.place);
  std::string html = absl::StrCat("<blockquote><p lang=\"zh-CN\">", escaped(claim.chinese),
                                  " <span class=\"place\">", place, "</span></p>\n");
  if (language == Language::kEnglish) html += element("p", claim.english, "english");
  return html + "</blockquote>\n";
}

std::string verdict_html(const Section& section, Language language) {
  const ClaimVerdict verdict = section.verdict();
  const std::string reason = with_capital(section.reason().in(language));
  std::string said = reason;
  if (verdict == ClaimVerdict::kHoldsIf) {
    const Text condition = section.condition().empty() ? section.verdict_text()
                                                       : say("verdict.if", section.condition());
    said = say("{0}. {1}", with_capital(condition.in(language)), reason).in(language);
  }
  const std::string right = section.set_right().in(language);
  return absl::StrCat("<p>", badge_html(verdict, language), "\n", escaped(said), "</p>\n",
                      right.empty() ? "" : element("p", right, "right"));
}

std::string source_html(const Source& source) {
  return source.url.empty() ? escaped(source.cited) : link_to(source.url, source.cited);
}

namespace {

std::string command_of(const Report& report) {
  std::string command = absl::StrCat("./qkv lab ", report.name);
  if (report.is_control) command += " --control";
  for (const auto& [name, value] : report.options) {
    absl::StrAppend(&command, " --", name, " ", value);
  }
  return command;
}

// All of a section, to be read from above; the table of measurements is folded.
std::string section_html(const Report& report, const Section& section, bool beside_index) {
  const std::string name = absl::StrCat(report.name, ".", section.name);
  std::string html = absl::StrCat("<section id=\"", escaped(section.name), "\">\n",
                                  element("h2", section.places()));
  html += in_both([&](Language language) { return head_html(section, beside_index, language); });
  html += figures_html(section.figures) + slider_html(name);
  html += in_both([&](Language language) {
    return verdict_html(section, language) + sources_html(section, language);
  });
  html += in_both([&](Language language) {
    return findings_html(section, language) + code_html(name, language);
  });
  return html + "</section>\n";
}

}  // namespace

std::string links_to_other_pages(std::span<const char> notes) {
  std::string html = absl::StrCat("<nav class=\"top\"><a href=\"index.html\">",
                                  in_both(say("All labs")), "</a>\n");
  for (const char letter : notes) {
    absl::StrAppend(&html, "<a href=\"", file_of_note(letter), "\">", in_both(name_of_note(letter)),
                    "</a>\n");
  }
  return html + "</nav>\n";
}

std::string report_page(const Report& report, Language language, bool beside_index) {
  std::string body = beside_index ? links_to_other_pages(letters_of({&report, 1})) : "";
  body += element("h1", report.name) + paragraph_html(report.question);
  for (const Section& section : report.sections) {
    body += section_html(report, section, beside_index);
  }
  body += paragraph_html(how_to_read(), "soft") + paragraph_html(legend_of({&report, 1}), "soft");
  if (report.measures_time) body += paragraph_html(times_differ(), "soft");
  body += element("p", command_of(report), "soft");
  return page_in_both(report.name, body, language);
}

}  // namespace qkv
