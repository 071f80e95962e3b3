#pragma once

#include <utility>

namespace qkv {

// While one lives, a variable of its thread has another value.
template <class T>
class ThreadSetting {
 public:
  ThreadSetting(T& variable, T value)
      : variable_(variable), outer_(std::exchange(variable, std::move(value))) {}
  ~ThreadSetting() { variable_ = std::move(outer_); }
  ThreadSetting(const ThreadSetting&) = delete;
  ThreadSetting& operator=(const ThreadSetting&) = delete;

 private:
  T& variable_;
  T outer_;
};

}  // namespace qkv
