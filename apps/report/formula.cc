#include "apps/report/formula.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/report/svg.h"
#include "framework/core/columns.h"

namespace qkv {
namespace {

enum class Kind { kName, kNumber, kRaised, kSign };

struct Token {
  Kind kind;
  std::string text;
  bool has_space_before = false;
};

const std::set<std::string> kSums = {"Σ", "Π"};
const std::set<std::string> kOpening = {"(", "[", "{"};
const std::set<std::string> kClosing = {")", "]", "}"};
// Between terms: no fraction goes beyond.
const std::set<std::string> kBetweenTerms = {"=", "≤", "≥", "≠", "<", ">", "≈", "→",
                                             "~", ",", ";", ":", "+", "-", "±", "…"};

// The bytes of the character that begins there.
size_t length_at(const std::string& text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

bool is_letter(const std::string& c) {
  if (c.size() == 1) return absl::ascii_isalpha(static_cast<unsigned char>(c[0])) != 0;
  const bool is_greek = (c[0] == '\xCE' || c[0] == '\xCF') && !kSums.contains(c);
  return is_greek || c[0] == '\xC3' || text_width(c) == 2;  // η, Â, 更
}

bool is_digit(const std::string& c) {
  return c.size() == 1 && absl::ascii_isdigit(static_cast<unsigned char>(c[0])) != 0;
}

std::string raised(const std::string& c) {
  return c == "²" ? "2" : c == "³" ? "3" : c == "ᵀ" ? "⊤" : c == "'" ? "′" : "";
}

std::vector<Token> tokens_in(const std::string& text) {
  std::vector<Token> tokens;
  bool has_space = false;
  for (size_t at = 0; at < text.size();) {
    const std::string c = text.substr(at, length_at(text, at));
    at += c.size();
    if (c == " " || c == "\n") {
      has_space = true;
      continue;
    }
    const Kind kind = is_letter(c)         ? Kind::kName
                      : is_digit(c)        ? Kind::kNumber
                      : !raised(c).empty() ? Kind::kRaised
                                           : Kind::kSign;
    const bool goes_on = !has_space && !tokens.empty() && tokens.back().kind == kind &&
                         c.size() == 1 && tokens.back().text.back() >= 0;
    const bool is_point =
        c == "." && !has_space && !tokens.empty() && tokens.back().kind == Kind::kNumber;
    if (is_point || (goes_on && (kind == Kind::kName || kind == Kind::kNumber))) {
      tokens.back().text += c;
    } else {
      tokens.push_back({kind, c, has_space});
    }
    has_space = false;
  }
  return tokens;
}

std::string tag(const char* name, const std::string& inside, const char* attributes = "") {
  return absl::StrCat("<", name, attributes, ">", inside, "</", name, ">");
}

// dX is d and X; a name of several letters stands upright, the indices ij do not.
std::string name_html(const std::string& name, bool is_below) {
  const bool is_gradient =
      name.size() > 1 && name[0] == 'd' && (name.size() == 2 || name == "dlogits");
  if (is_gradient && !is_below) {
    return tag("mrow",
               tag("mi", "d", " mathvariant=\"normal\"") + name_html(name.substr(1), false));
  }
  if (is_below && name.size() == 2 && absl::ascii_islower(static_cast<unsigned char>(name[0]))) {
    return tag("mrow", tag("mi", name.substr(0, 1)) + tag("mi", name.substr(1)));
  }
  return tag("mi", escaped(name));
}

// A part of a formula, and what of it stands between parentheses.
struct Node {
  std::string html;
  std::optional<std::string> inside = {};
  bool is_factor = true;
  bool is_sum = false, is_bar = false, is_word = false;
  bool is_long = false;  // a name of several letters
};

class Reader {
 public:
  explicit Reader(const std::string& text) : tokens_(tokens_in(text)) {}

  // Nothing where it is not understood.
  std::optional<std::string> all() {
    const std::string html = sequence("");
    return is_wrong_ || at_ < tokens_.size() ? std::nullopt : std::optional(html);
  }

 private:
  bool is_at_end() const { return at_ >= tokens_.size(); }
  const std::string& next() const {
    static const std::string kNone;
    return is_at_end() ? kNone : tokens_[at_].text;
  }
  bool has_space_before(size_t at) const {
    return at >= tokens_.size() || tokens_[at].has_space_before;
  }

  // Up to the sign `end`, which it leaves.
  std::string sequence(const std::string& end) {
    std::string html;
    std::vector<Node> term, above;
    bool has_slash = false;
    const auto finish = [&] {
      html += has_slash ? divided(above, term) : joined(term);
      term.clear();
      above.clear();
      has_slash = false;
    };
    while (!is_at_end() && next() != end && !is_wrong_) {
      const bool is_spaced = has_space_before(at_) && has_space_before(at_ + 1);
      if (next() == "/" && is_spaced && !has_slash && !term.empty()) {
        std::swap(above, term);
        has_slash = true;
        ++at_;
      } else if (tokens_[at_].kind == Kind::kSign && kBetweenTerms.contains(next())) {
        const bool is_prefix = term.empty() && (next() == "-" || next() == "+" || next() == "±");
        const bool is_first = html.empty() || ends_with_relation_;
        finish();
        ends_with_relation_ = next() == "=" || next() == "," || next() == ":" || next() == "≤";
        html += sign_html(next(), is_prefix && is_first);
        ++at_;
        continue;
      } else {
        if (kClosing.contains(next())) is_wrong_ = true;
        const bool has_space = has_space_before(at_);
        Node node = scripted();
        if (has_space && !term.empty()) node.html = space_between(term.back(), node) + node.html;
        term.push_back(std::move(node));
      }
      ends_with_relation_ = false;
    }
    finish();
    return html;
  }

  static std::string space_between(const Node& before, const Node& after) {
    if (!before.is_factor || !after.is_factor) return "";
    return before.is_word || after.is_word ? "<mspace width=\"0.35em\"/>"
                                           : "<mspace width=\"0.17em\"/>";
  }

  static std::string joined(const std::vector<Node>& nodes) {
    std::string html;
    for (const Node& node : nodes) html += node.html;
    return html;
  }

  static std::string without_parentheses(const std::vector<Node>& nodes) {
    return nodes.size() == 1 && nodes[0].inside ? *nodes[0].inside : joined(nodes);
  }

  static std::string divided(const std::vector<Node>& above, const std::vector<Node>& below) {
    const auto is_plain = [](const Node& node) { return !node.is_bar && !node.is_word; };
    const bool is_fraction = !below.empty() && (below.size() == 1 || below[0].is_sum) &&
                             std::ranges::all_of(above, is_plain) &&
                             std::ranges::all_of(below, is_plain);
    if (!is_fraction) return absl::StrCat(joined(above), tag("mo", "/"), joined(below));
    return tag("mfrac",
               tag("mrow", without_parentheses(above)) + tag("mrow", without_parentheses(below)));
  }

  static std::string sign_html(const std::string& sign, bool is_prefix) {
    const std::string text = sign == "-" ? "−" : sign;
    return tag("mo", escaped(text), is_prefix ? " form=\"prefix\"" : "");
  }

  // An atom with what hangs on it: W_qᵀ.
  Node scripted() {
    Node base = atom();
    std::string below, above;
    while (!is_at_end() && !tokens_[at_].has_space_before && !is_wrong_) {
      if (next() == "_" && below.empty()) {
        ++at_;
        below = tag("mrow", subscript());
      } else if (next() == "^" && above.empty()) {
        ++at_;
        const Node exponent = scripted();
        above = tag("mrow", exponent.inside.value_or(exponent.html));
      } else if (tokens_[at_].kind == Kind::kRaised && above.empty()) {
        if (next() == "'" && base.is_long) break;  // Adam's
        above = tag("mo", raised(next()));
        ++at_;
      } else if (is_arrow_over()) {
        base.html = tag("mover", base.html + tag("mo", next()), " accent=\"true\"");
        ++at_;
      } else {
        break;
      }
    }
    if (below.empty() && above.empty()) return base;
    const std::string inner = base.html;
    if (below.empty()) {
      base.html = tag("msup", inner + above);
    } else if (above.empty()) {
      base.html = tag(base.is_sum ? "munder" : "msub", inner + below);
    } else {
      base.html = tag("msubsup", inner + below + above);
    }
    base.inside.reset();
    base.is_word = false;
    return base;
  }

  // h→_i: the state of the way there.
  bool is_arrow_over() const {
    return (next() == "→" || next() == "←") && at_ + 1 < tokens_.size() &&
           tokens_[at_ + 1].text == "_" && !tokens_[at_ + 1].has_space_before;
  }

  // q,0 and t+1, or what stands in parentheses.
  std::string subscript() {
    if (next() == "(" || next() == "{") return *group().inside;
    std::string html;
    for (bool is_first = true; !is_at_end(); is_first = false) {
      const Token& token = tokens_[at_];
      if (token.has_space_before) break;
      const bool is_part = token.kind == Kind::kName || token.kind == Kind::kNumber;
      const bool joins = !is_first &&
                         (token.text == "," || token.text == "+" || token.text == "-") &&
                         at_ + 1 < tokens_.size() && !tokens_[at_ + 1].has_space_before &&
                         tokens_[at_ + 1].kind != Kind::kSign;
      if (!is_part && !joins) break;
      html += token.kind == Kind::kName     ? name_html(token.text, /*is_below=*/true)
              : token.kind == Kind::kNumber ? tag("mn", token.text)
                                            : sign_html(token.text, false);
      ++at_;
    }
    if (html.empty()) is_wrong_ = true;
    return html;
  }

  // (…), [… ] or {…}.
  Node group() {
    const std::string open = next(), close = open == "(" ? ")" : open == "[" ? "]" : "}";
    ++at_;
    const bool before = std::exchange(ends_with_relation_, false);
    const std::string inside = sequence(close);
    ends_with_relation_ = before;
    if (next() != close) is_wrong_ = true;
    ++at_;
    // Around what has one line they stay as they are.
    const char* const look = absl::StrContains(inside, "<mfrac>") ? "" : " stretchy=\"false\"";
    return {.html = tag("mrow", tag("mo", open, look) + inside + tag("mo", close, look)),
            .inside = open == "[" ? std::nullopt : std::optional(tag("mrow", inside))};
  }

  Node atom() {
    if (is_at_end()) {
      is_wrong_ = true;
      return {};
    }
    if (kOpening.contains(next())) return group();
    const Token token = tokens_[at_++];
    if (token.text == "√") {
      const Node of = scripted();
      return {.html = tag("msqrt", of.inside.value_or(of.html))};
    }
    if (kSums.contains(token.text)) return {.html = tag("mo", token.text), .is_sum = true};
    if (token.kind == Kind::kNumber) return {.html = tag("mn", token.text)};
    if (token.kind == Kind::kName) {
      const bool is_called = !is_at_end() && !tokens_[at_].has_space_before;
      const bool is_gradient = token.text.size() == 2 && token.text[0] == 'd';
      const bool is_word = absl::ascii_isalpha(static_cast<unsigned char>(token.text[0])) != 0 &&
                           token.text.size() > 1 && !is_called && !is_gradient;
      return {.html = name_html(token.text, false),
              .is_word = is_word,
              .is_long = token.text.size() > 1};
    }
    if (token.text == "_" || token.text == "^") is_wrong_ = true;
    if (token.text == "|") {
      return {.html = tag("mo", "|", " stretchy=\"false\" lspace=\"0\" rspace=\"0\""),
              .is_factor = false,
              .is_bar = true};
    }
    return {.html = tag("mo", escaped(token.text)), .is_factor = false};
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool is_wrong_ = false;
  bool ends_with_relation_ = false;
};

std::string one(const std::string& formula) {
  const std::string text(absl::StripAsciiWhitespace(formula));
  if (text.empty()) return "";
  const bool is_chinese = text_width(text.substr(0, length_at(text, 0))) == 2;
  const std::optional<std::string> html = is_chinese ? std::nullopt : Reader(text).all();
  if (!html) return absl::StrCat("<span class=\"plain\">", escaped(text), "</span>\n");
  return absl::StrCat("<math displaystyle=\"true\" aria-label=\"", escaped(text), "\"><mrow>",
                      *html, "</mrow></math>\n");
}

}  // namespace

std::string formula_html(const std::string& formula) {
  std::string html;
  for (const auto line : absl::StrSplit(formula, '\n')) {
    for (const auto part : absl::StrSplit(line, "   ")) html += one(std::string(part));
  }
  return absl::StrCat("<div class=\"formula\">\n", html, "</div>\n");
}

}  // namespace qkv
