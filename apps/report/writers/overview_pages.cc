// The pages beside those of the labs: the index, and one for each lecture note.
#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "apps/report/report.h"
#include "apps/report/writers/notes.h"
#include "apps/report/writers/page_frame.h"
#include "apps/report/writers/section_html.h"

namespace qkv {
namespace {

std::string address_of(const Report& report, const Section& section) {
  return absl::StrCat(report.name, ".html#", section.name);
}

std::vector<JudgedSentence> of_note(const std::vector<JudgedSentence>& sentences, char letter) {
  std::vector<JudgedSentence> found;
  std::ranges::copy_if(sentences, std::back_inserter(found), [letter](const JudgedSentence& each) {
    return each.claim.place[0] == letter;
  });
  return found;
}

// A page of the sentences of a note. A picture is there once, under the first that it decides.
class NotePage {
 public:
  explicit NotePage(std::vector<JudgedSentence> sentences) : sentences_(std::move(sentences)) {}

  std::string body() {
    std::string html = totals_html(sentences_) + totals_legend_html(sentences_);
    for (const JudgedSentence& each : sentences_) html += article(each);
    return html;
  }

 private:
  std::string article(const JudgedSentence& sentence) {
    const Section& section = sentence.decided_in();
    const std::string key = escaped(sentence.claim.key);
    std::string html = absl::StrCat("<article id=\"", key, "\">\n");
    html += in_both([&](Language language) {
      return claim_html(sentence.claim, "#" + sentence.claim.key, language);
    });
    html += picture(sentence, section);
    html += in_both([&](Language language) {
      return verdict_html(section, language) + where_to_read_on(sentence, section, language);
    });
    return html + "</article>\n";
  }

  // The first of the section that decides; where it has none, of another.
  std::string picture(const JudgedSentence& sentence, const Section& decides) {
    const Section* pictured = &decides;
    for (const auto& [report, section] : sentence.judged_in) {
      if (drawing_of(*pictured) == nullptr) pictured = section;
    }
    const Figure* const drawing = drawing_of(*pictured);
    if (drawing == nullptr) return "";
    const auto [at, is_new] = shown_.emplace(pictured, sentence.claim);
    if (is_new) {
      return in_both([&](Language language) { return figure_html(*drawing, language); });
    }
    const std::string link = link_to("#" + at->second.key, at->second.place);
    return in_both([&](Language language) {
      return absl::StrCat("<p class=\"soft\">", say("Picture: see {0}", link).in(language),
                          "</p>\n");
    });
  }

  static const Figure* drawing_of(const Section& section) {
    const auto found = std::ranges::find_if(section.figures, [](const Figure& figure) {
      return !std::holds_alternative<Table>(figure);
    });
    return found == section.figures.end() ? nullptr : &*found;
  }

  static std::string where_to_read_on(const JudgedSentence& sentence, const Section& section,
                                      Language language) {
    Text labs;
    for (const auto& [report, judge] : sentence.judged_in) {
      const std::string link = link_to(address_of(*report, *judge), report->name);
      labs = labs.empty() ? say("Lab {0}", link) : say("{0}, {1}", labs, link);
    }
    const Text said = section.sources.empty()
                          ? labs
                          : say("{0}. Source: {1}", labs, source_html(section.sources.front()));
    return absl::StrCat("<p class=\"soft\">", said.in(language), "</p>\n");
  }

  std::vector<JudgedSentence> sentences_;
  std::map<const Section*, Claim> shown_ = {};
};

std::string sections_of(const Report& report, Language language, const std::string& only = "") {
  std::string html = "<ul class=\"judged\">\n";
  for (const Section& section : report.sections) {
    if (!only.empty() && section.name != only) continue;
    absl::StrAppend(&html, "<li>", link_to(address_of(report, section), section.places()), " ",
                    badge_html(section.verdict(), language));
    if (section.verdict() == ClaimVerdict::kHoldsIf) {
      const Text condition = say("verdict.if", section.condition());
      absl::StrAppend(&html, "<span class=\"soft\">", escaped(condition.in(language)), "</span>");
    }
    html += "</li>\n";
  }
  return html + "</ul>\n";
}

std::string definitions_html(const std::vector<Definition>& definitions) {
  const Text what =
      say("Identities and conventions: there is nothing to measure. The code computes them.");
  const auto table_in = [&](Language language) {
    std::vector<std::vector<std::string>> rows;
    for (const Definition& each : definitions) {
      std::string formula = element("div", each.formula, "formula");
      if (!each.remark.empty()) formula += element("p", each.remark.in(language), "soft");
      const std::string file = each.file.substr(each.file.rfind('/') + 1);
      rows.push_back({escaped(each.places), std::move(formula),
                      escaped(each.name) + element("p", file, "soft")});
    }
    return table_of(
        {say("sentences").in(language), say("formula").in(language), say("code").in(language)},
        rows);
  };
  return absl::StrCat("<section id=\"definitions\">\n<h2>", in_both(say("Definitions")), "</h2>\n",
                      paragraph_html(what), in_both(table_in), "</section>\n");
}

}  // namespace

std::string note_page(const std::vector<Report>& reports, char note, Language language) {
  const auto* const found = std::ranges::find(kLectureNotes, note, &Note::letter);
  const Text name = name_of_note(note);
  std::string body = links_to_other_pages(letters_of(reports));
  absl::StrAppend(&body, "<h1>", in_both(name), "</h1>\n<p lang=\"zh-CN\">", escaped(found->title),
                  "</p>\n", NotePage(of_note(sentences_of(reports), note)).body(),
                  paragraph_html(how_to_read(), "soft"));
  return page_in_both(name, body, language);
}

std::string own_note_page(const std::string& name, const std::vector<NotePart>& parts,
                          const std::vector<Report>& reports, Language language) {
  std::string body = element("h1", name) + "<div class=\"own\">\n<p>";
  std::string beside;  // the verdicts of a line
  for (const NotePart& part : parts) {
    body += escaped(part.plain);
    if (part.lab.empty()) {
      absl::StrAppend(&body, "</p>\n<div>", beside, "</div>\n<p>");
      beside.clear();
      continue;
    }
    absl::StrAppend(&body, "<mark>", escaped(part.sentence), "</mark>");
    const auto report = std::ranges::find(reports, part.lab, &Report::name);
    beside += in_both([&](Language each) { return sections_of(*report, each, part.section); });
  }
  absl::StrAppend(&body, "</p>\n</div>\n", paragraph_html(how_to_read(), "soft"));
  return page_in_both(name, body, language);
}

std::string index_page(const std::vector<Report>& reports,
                       const std::vector<Definition>& definitions, Language language) {
  const std::vector<JudgedSentence> sentences = sentences_of(reports);
  const Text title = say("Labs: what four lecture notes say, measured");
  std::string body = absl::StrCat("<h1>", in_both(title), "</h1>\n", totals_html(sentences),
                                  totals_legend_html(sentences));
  for (const Note& note : kLectureNotes) {
    const std::vector<JudgedSentence> own = of_note(sentences, note.letter);
    if (own.empty()) continue;
    absl::StrAppend(&body, "<h2><a href=\"", file_of_note(note.letter), "\">",
                    in_both(name_of_note(note.letter)), "</a></h2>\n",
                    "<p class=\"soft\" lang=\"zh-CN\">", escaped(note.title), "</p>\n",
                    totals_html(own));
  }
  absl::StrAppend(&body, "<section>\n<h2>", in_both(say("Lab by lab")), "</h2>\n");
  for (const Report& report : reports) {
    absl::StrAppend(&body, "<h3>", link_to(report.name + ".html", report.name), "</h3>\n",
                    paragraph_html(report.question),
                    in_both([&](Language each) { return sections_of(report, each); }));
  }
  absl::StrAppend(&body, "</section>\n", definitions_html(definitions),
                  paragraph_html(how_to_read(), "soft"),
                  paragraph_html(legend_of(reports), "soft"));
  return page_in_both(title, body, language);
}

}  // namespace qkv
