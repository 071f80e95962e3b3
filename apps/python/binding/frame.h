#pragma once

#include <string>

namespace qkv::python {

// A page as a notebook shows it: in a frame of its own, so that its style and its script are no
// other's. The page is in the text.
std::string framed(const std::string& page, int height);
// As high as the page is.
std::string framed_whole(const std::string& page);

}  // namespace qkv::python
