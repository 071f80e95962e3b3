#include "framework/core/error.h"

#include "absl/strings/str_cat.h"
#include "framework/core/engine_state.h"

namespace qkv {
std::string with_place(std::string_view message) {
  const std::string& scope = Scope::current();
  if (scope.empty()) return std::string(message);
  return absl::StrCat(std::string(message), " (in ", scope, ")");
}

void fail(std::string_view message) { throw Error(with_place(message)); }

Scope::Scope(std::string_view name) : outer_length_(current().size()) {
  std::string& scope = engine_state().scope;
  if (!scope.empty()) scope += '.';
  scope += name;
}

Scope::~Scope() { engine_state().scope.resize(outer_length_); }

ScopeAt::ScopeAt(std::string_view scope)
    : ThreadSetting(engine_state().scope, std::string(scope)) {}

const std::string& Scope::current() { return engine_state().scope; }

}  // namespace qkv
