#include "lessons/report/page_frame.h"

#include "absl/strings/str_cat.h"
#include "lessons/report/svg.h"

namespace qkv {
namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
)";

constexpr const char* kStyle = R"(<style>
:root {
  color-scheme: light dark;
  --paper: #fbfaf8; --ink: #1d2126; --soft: #59616b; --line: #d9d6cf;
  --positive: #c2560a; --negative: #1f5fb4; --good: #186a3b; --wrong: #b3261e;
  --series-0: #1f5fb4; --series-1: #c2560a; --series-2: #186a3b; --series-3: #8a3fa8;
  --series-4: #8a6d1f; --series-5: #0d7c8a; --series-6: #b0416b; --series-7: #4b4f56;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --ink: #e8e6e1; --soft: #a9b0b8; --line: #363b41;
    --positive: #f08a3c; --negative: #6aa5f0; --good: #6fcf97; --wrong: #ff8a80;
    --series-0: #6aa5f0; --series-1: #f08a3c; --series-2: #6fcf97; --series-3: #cf9bff;
    --series-4: #cbb26a; --series-5: #5fd0e2; --series-6: #ea85aa; --series-7: #a9b0b8;
  }
}
body {
  margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 "Inter", "Segoe UI", "Noto Sans", "Noto Sans CJK SC",
  "PingFang SC", "Microsoft YaHei", system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
a { color: var(--series-0); }
section { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: 0.5rem; }
blockquote { margin: 0.8rem 0; padding-left: 1rem; border-left: 3px solid var(--line); }
blockquote p { margin: 0.1rem 0; }
.place, .soft { color: var(--soft); font-size: 0.9em; }
.formula { margin: 0.8rem 1rem; font-family: "STIX Two Math", "Cambria Math", serif;
  font-size: 1.1em; white-space: pre-wrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0; }
th, td { text-align: left; padding: 0.15rem 1rem 0.15rem 0; vertical-align: top; }
th { font-weight: 500; color: var(--soft); }
tbody tr { border-top: 1px solid var(--line); }
.agrees { color: var(--good); } .disagrees { color: var(--wrong); } .undecided { color: var(--soft); }
.verdict { font-weight: 600; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); }
svg { height: auto; display: block; }
svg.lines { width: 100%; min-width: 600px; }
svg text { font-size: 11px; fill: var(--soft); }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); fill: none; }
svg .series text { fill: var(--colour); } svg .series circle { fill: var(--colour); }
svg .series polyline, svg .series path { stroke: var(--colour); fill: none; stroke-width: 1.6; }
svg.map text { fill: var(--ink); }
</style>
)";

}  // namespace

std::string element(const std::string& tag, const std::string& text, const std::string& kind) {
  const std::string open = kind.empty() ? tag : absl::StrCat(tag, " class=\"", kind, "\"");
  return absl::StrCat("<", open, ">", escaped(text), "</", tag, ">\n");
}

std::string page_of(const std::string& title, const std::string& body, const std::string& style) {
  return absl::StrCat(kHead, element("title", title), kStyle,
                      style.empty() ? "" : absl::StrCat("<style>\n", style, "</style>\n"),
                      "</head>\n<body>\n", body, "</body>\n</html>\n");
}

}  // namespace qkv
