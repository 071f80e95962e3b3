#include "framework/core/error.h"

#include "absl/strings/str_cat.h"

namespace qkv {
namespace {

std::string& path() {
  thread_local std::string value;
  return value;
}

}  // namespace

std::string with_place(std::string_view message) {
  if (path().empty()) return std::string(message);
  return absl::StrCat(std::string(message), " (in ", path(), ")");
}

void fail(std::string_view message) { throw Error(with_place(message)); }

Scope::Scope(std::string_view name) : outer_length_(path().size()) {
  if (!path().empty()) path() += '.';
  path() += name;
}

Scope::~Scope() { path().resize(outer_length_); }

ScopeAt::ScopeAt(std::string_view scope) : ThreadSetting(path(), std::string(scope)) {}

const std::string& Scope::current() { return path(); }

}  // namespace qkv
