#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "framework/core/engine_state.h"

namespace qkv {

// Misuse of the library: a mistake of a caller in C++. A mistake in a file, a config or by a user
// is an absl::Status instead.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error with `message`, and with the place in the model where it happened:
// "matmul: inner sizes differ: … (in blocks.2.attention.scores)".
[[noreturn]] void fail(std::string_view message);
std::string with_place(std::string_view message);  // "… (in blocks.2.attention.scores)"

// Names the part of a model that runs while this object lives, for error messages. Scopes nest:
// "blocks.2" holding "attention" reads "blocks.2.attention". One chain per thread.
class Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  static const std::string& current();  // "" outside of any scope

 private:
  size_t outer_length_;
};

// Stands in for the whole chain while this object lives: the backward walk is where the forward
// was.
class ScopeAt : ThreadSetting<std::string> {
 public:
  explicit ScopeAt(std::string_view path);
};

}  // namespace qkv
