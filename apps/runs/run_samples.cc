#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/report/page_frame.h"
#include "apps/report/texts/texts.h"
#include "apps/runs/run_sections.h"
#include "framework/core/utf8.h"
#include "framework/io/files.h"

namespace qkv {
namespace {

constexpr size_t kMostEvaluations = 24;  // of which samples are shown

struct SamplesOfStep {
  std::string step;
  std::vector<std::string> lines = {};
};

// A last line without an end is being written.
std::vector<SamplesOfStep> parts_of(const std::string& text) {
  std::vector<SamplesOfStep> parts;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  for (const std::string& line : lines) {
    if (absl::StartsWith(line, "step ")) {
      parts.push_back({line.substr(5)});
    } else if (!parts.empty() && !line.empty()) {
      parts.back().lines.push_back(line);
    }
  }
  return parts;
}

std::string line_html(const std::string& line) {
  for (const auto& [end, kind] :
       {std::pair("  right", "agrees"), std::pair("  wrong", "disagrees")}) {
    if (!line.ends_with(end)) continue;
    const std::string before = line.substr(0, line.size() - std::string_view(end).size());
    return absl::StrCat(escaped(printable(before)), "  <span class=\"", kind, "\">", end + 2,
                        "</span>\n");
  }
  return escaped(printable(line)) + "\n";
}

std::string part_html(const SamplesOfStep& part) {
  std::string html = absl::StrCat("<p>", in_both(say("Step {0}", printable(part.step))),
                                  "</p>\n<pre class=\"samples\">");
  for (const std::string& line : part.lines) html += line_html(line);
  return html + "</pre>\n";
}

}  // namespace

std::string samples_section(const std::string& run) {
  const Text heading = say("Samples");
  const absl::StatusOr<std::string> text =
      read_regular_file((std::filesystem::path(run) / "samples.txt").string());
  const std::vector<SamplesOfStep> parts =
      text.ok() ? parts_of(*text) : std::vector<SamplesOfStep>();
  if (parts.empty()) {
    return run_section(heading,
                       paragraph_html(say("This run has no samples: it was not evaluated yet.")));
  }
  std::string html = part_html(parts.back());
  if (parts.size() == 1) return run_section(heading, html);
  std::string earlier;
  const size_t count = parts.size() - 1, shown = std::min(count, kMostEvaluations);
  for (size_t i = 0; i < shown; ++i) {
    earlier += part_html(parts[shown == 1 ? 0 : i * (count - 1) / (shown - 1)]);
  }
  const Text title = count == 1       ? say("The evaluation before")
                     : shown == count ? say("The {0} evaluations before", count)
                                      : say("{0} of the {1} evaluations before", shown, count);
  return run_section(heading, html + folded_html(title, earlier));
}

}  // namespace qkv
