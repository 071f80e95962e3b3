#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/error.h"

// Enumerations whose values have names, which configs and people call them by. Each has one table,
// beside it:
//
//   enum class Schedule { kConstant, kLinear };
//   template <>
//   inline constexpr Named<Schedule> kNames<Schedule>[] = {{"constant", Schedule::kConstant},
//                                                          {"linear", Schedule::kLinear}};
//
// Parsing, printing, help, error messages and a test of the docs all use this table. Where a value
// decides which of the other options are read, its entry ends with the options that it reads.

namespace qkv {

template <class E>
struct Named {
  const char* name;
  E value;
  std::initializer_list<const char*> reads = {};
};

template <class E>
inline constexpr std::nullptr_t kNames = nullptr;

template <class E>
std::string name_of(E value) {
  for (const Named<E>& entry : kNames<E>) {
    if (entry.value == value) return entry.name;
  }
  fail("name_of: the value is not in its enumeration");
}

template <class E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const Named<E>& entry : kNames<E>) names.emplace_back(entry.name);
  return names;
}

// Empty when no value has that name.
template <class E>
std::optional<E> value_of(std::string_view name) {
  for (const Named<E>& entry : kNames<E>) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

}  // namespace qkv
