#include "apps/report/formula.h"

#include <gtest/gtest.h>

#include <regex>

#include "apps/labs/texts.h"
#include "tests/html_check.h"

namespace qkv {
namespace {

// <mi>, <mn> and <mo> as their texts: "<msub>x<mrow>i</mrow></msub>".
std::string shape_of(const std::string& formula) {
  static const std::regex kFrame("<div class=\"formula\">\n|</div>\n|<math[^>]*>|</math>\n");
  static const std::regex kLeaf("</?(mi|mn|mo)( [^>]*)?>|<mspace[^>]*>");
  return std::regex_replace(std::regex_replace(formula_html(formula), kFrame, ""), kLeaf, "");
}

std::string row(const std::string& inside) { return "<mrow>" + inside + "</mrow>"; }
std::string sub(const std::string& base, const std::string& below) {
  return "<msub>" + base + row(below) + "</msub>";
}

TEST(FormulaTest, WhatHangsOnASignIsBelowOrAbove) {
  EXPECT_EQ(shape_of("x_i"), row(sub("x", "i")));
  EXPECT_EQ(shape_of("W_q,0 x"), row(sub("W", "q,0") + "x"));
  EXPECT_EQ(shape_of("x_t+1"), row(sub("x", "t+1")));
  EXPECT_EQ(shape_of("x_(t - 4)"), row(sub("x", row("t−4"))));
  EXPECT_EQ(shape_of("e_{t+k}"), row(sub("e", row("t+k"))));
  EXPECT_EQ(shape_of("W_qᵀ"), row("<msubsup>W" + row("q") + "⊤</msubsup>"));
  EXPECT_EQ(shape_of("h→_i"),
            row("<msub><mover accent=\"true\">h→</mover>" + row("i") + "</msub>"));
  EXPECT_EQ(shape_of("η²"), row("<msup>η2</msup>"));
  EXPECT_EQ(shape_of("e^z_i"), row("<msup>e" + row(sub("z", "i")) + "</msup>"));
}

TEST(FormulaTest, IndicesLeanAndNamesStand) {
  const std::string html = formula_html("P_ij = softmax(S)");
  EXPECT_NE(html.find("<mi>i</mi><mi>j</mi>"), std::string::npos) << html;
  EXPECT_NE(html.find("<mi>softmax</mi>"), std::string::npos) << html;
  EXPECT_NE(formula_html("dS").find("<mi mathvariant=\"normal\">d</mi><mi>S</mi>"),
            std::string::npos);
}

TEST(FormulaTest, AFractionIsOneOnlyWhereItIsSafe) {
  EXPECT_EQ(shape_of("S = Q Kᵀ / √d_k"),
            row("S=<mfrac>" + row("Q<msup>K⊤</msup>") +
                row("<msqrt>" + sub("d", "k") + "</msqrt>") + "</mfrac>"));
  EXPECT_EQ(shape_of("(a + b) / 2"), row("<mfrac>" + row(row("a+b")) + row("2") + "</mfrac>"));
  for (const char* const unsafe : {"a / b c", "|a / b|", "1/n", "d / h numbers"}) {
    EXPECT_EQ(formula_html(unsafe).find("mfrac"), std::string::npos) << unsafe;
  }
  EXPECT_EQ(shape_of("a + b / c"), row("a+<mfrac>" + row("b") + row("c") + "</mfrac>"));
}

TEST(FormulaTest, ASumHasItsIndexBelowIt) {
  EXPECT_EQ(shape_of("Σ_c e^z_c"),
            row("<munder>Σ" + row("c") + "</munder><msup>e" + row(sub("z", "c")) + "</msup>"));
}

TEST(FormulaTest, PartsThatStandApartAreFormulasOfTheirOwn) {
  const std::string html = formula_html("a = b,   c = d");
  EXPECT_NE(html.find("</math>\n<math"), std::string::npos);
}

TEST(FormulaTest, WhatIsNotUnderstoodIsThereAsItIsWritten) {
  for (const char* const text : {"我喜欢踢足球", "f(x", "f)x", "x_", "^2", "a_ b"}) {
    EXPECT_EQ(formula_html(text).find("<math"), std::string::npos) << text;
    EXPECT_NE(formula_html(text).find(std::string(">") + text + "<"), std::string::npos) << text;
  }
  EXPECT_NE(formula_html("(a < b").find("a &lt; b"), std::string::npos);
}

TEST(FormulaTest, EveryFormulaOfTheLabsIsUnderstood) {
  int formulas = 0;
  for (const std::string& name : names_of_sections()) {
    const Section section = make_section(name);
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      const std::string& formula = section.formula.in(language);
      if (formula.empty()) continue;
      const std::string html = formula_html(formula);
      EXPECT_EQ(first_wrong_tag(html), "") << formula;
      const bool is_chinese = static_cast<unsigned char>(formula[0]) >= 0xE4;
      EXPECT_EQ(html.find("class=\"plain\"") != std::string::npos, is_chinese) << formula;
      ++formulas;
    }
  }
  EXPECT_GT(formulas, 100);
}

}  // namespace
}  // namespace qkv
