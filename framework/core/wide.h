#pragma once

#include <string>

#include "framework/core/dtype.h"
#include "framework/core/engine_state.h"

// Functions that are written in f64, computed in f128: without any rounding that differences would
// see.
namespace qkv {

// While one lives, what its thread would make in f64 it makes in f128: new arrays, constants, casts
// to f64, and the result of any op that an f64 array meets an f128 one in.
class WideRun {
 public:
  WideRun();
  ~WideRun();
  WideRun(const WideRun&) = delete;
  WideRun& operator=(const WideRun&) = delete;

  static bool is_on();  // on this thread

  // Where a number of f128 was first read as a double since the outermost began: "item", or an op
  // whose forward reads doubles; "" if none was. From there on the run is not wide.
  static std::string narrowed_by();
  // Says so. An op that is running is named, else `reader`.
  static void note_narrowing(std::string_view reader);

  // Names the op that is running. Costs nothing outside of a wide run.
  class Running : ThreadSetting<std::string_view> {
   public:
    explicit Running(std::string_view op);
  };
};

// An island of f64 in a wide run.
class NarrowRun : ThreadSetting<int> {
 public:
  NarrowRun();
};

// f128 for f64, in a wide run.
inline DType wide_dtype(DType dtype) {
  return dtype == DType::f64 && WideRun::is_on() ? DType::f128 : dtype;
}

}  // namespace qkv
