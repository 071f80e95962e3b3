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
svg { height: auto; display: block; max-width: none; }
svg.lines, svg.bars, svg.plane { width: 100%; min-width: 34rem; }
svg text { font-size: 11px; fill: var(--ink); }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); fill: none; }
svg .series circle, svg .series .head { fill: var(--colour); }
svg .series polyline, svg .series path { stroke: var(--colour); fill: none; stroke-width: 1.6; }
svg .series .head { stroke: none; fill: var(--colour); }
svg .level { stroke: var(--soft); stroke-dasharray: 5 4; }
svg text.level { stroke: var(--paper); stroke-width: 4; stroke-dasharray: none; paint-order: stroke;
  stroke-linejoin: round; fill: var(--soft); }
svg text.name { fill: var(--soft); }
svg text.of-path { fill: var(--colour); stroke: var(--paper); stroke-width: 3; paint-order: stroke; }
svg .positive { fill: color-mix(in oklab, var(--positive) var(--share), var(--paper)); }
svg .negative { fill: color-mix(in oklab, var(--negative) var(--share), var(--paper)); }
svg .none { fill: var(--line); }
svg .part { fill: color-mix(in oklab, var(--colour) 55%, var(--paper)); stroke: var(--paper); }
svg .arc { stroke: var(--colour); fill: none; stroke-linecap: butt; }
svg .pixel { fill: color-mix(in oklab, white var(--share), black); }
svg.map path, svg.bar path, svg .pixel { shape-rendering: crispEdges; }
svg .patch { stroke: var(--positive);
  fill: color-mix(in oklab, var(--positive) calc(var(--share) * 0.45), transparent); }
svg text.on-picture { stroke: var(--paper); stroke-width: 3; paint-order: stroke; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.1rem 1.2rem; margin: 0.2rem 0;
  padding: 0; font-size: 0.87em; }
.legend li::before { content: ""; display: inline-block; vertical-align: middle; margin-right: 0.4rem;
  background: var(--colour); }
.of-lines li::before { width: 1.2rem; height: 2px; } .of-parts li::before { width: 0.8rem; height: 0.8rem; }
.of-parts li::before { background: color-mix(in oklab, var(--colour) 55%, var(--paper)); }
.beside { display: flex; flex-wrap: wrap; gap: 0.2rem 1.5rem; } .beside .one { max-width: 100%; }
.beside p { margin: 0.2rem 0; }
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
