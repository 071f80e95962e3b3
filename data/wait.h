#pragma once

#include <functional>
#include <stop_token>
#include <string>

namespace qkv {

// The reading of a large text tells how far it is, a share of 0 … 1, and ends with a Cancelled
// error where a stop is requested.
struct Wait {
  std::function<void(const std::string& what, double share)> tell = nullptr;
  std::stop_token stop = {};
};

}  // namespace qkv
