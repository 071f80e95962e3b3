#pragma once

#include <string>

namespace qkv {

// A formula as the texts write it, "p_i = e^z_i / Σ_c e^z_c", in HTML: as MathML, each part that
// stands apart (after three spaces) in a <math> of its own. One that is not understood, as a
// parenthesis that is not closed, or Chinese, is there as it is written.
//
// What hangs on _ and ^ is what follows without a space: W_q,0 and x_t+1 have all of it below. A
// / between spaces is a fraction where what is below it is one factor or a sum.
std::string formula_html(const std::string& formula);

}  // namespace qkv
