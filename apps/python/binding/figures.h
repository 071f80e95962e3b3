#pragma once

#include <string>

#include "apps/report/figure.h"

namespace qkv::python {

// A figure as a page with nothing else on it, which a notebook shows in a frame.
struct ShownFigure {
  std::string title, page;
};
ShownFigure shown(const Figure& figure, Language language);

}  // namespace qkv::python
