#pragma once

// A comma in a value belongs to it: --set optimizer.betas=[0.9,0.95]
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cstdint>
#include <cxxopts.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

// Values of options whose mistakes name the option, what it wants and what it got; those of cxxopts
// name the text alone.

namespace qkv {

// One number and nothing else, as in decimal.
template <class T>
class NumberValue final : public cxxopts::values::standard_value<T> {
 public:
  explicit NumberValue(std::string option) : option_(std::move(option)) {}

  void parse(const std::string& text) const override {
    T& number = *this->m_store;
    bool is_number = false;
    if constexpr (std::is_same_v<T, double>) {
      is_number = absl::SimpleAtod(text, &number);
    } else {
      is_number = absl::SimpleAtoi(text, &number);
    }
    if (is_number) return;
    const char* const expected = std::is_same_v<T, double>    ? "a number"
                                 : std::is_same_v<T, int64_t> ? "an integer"
                                                              : "an integer of 0 or more";
    throw cxxopts::exceptions::parsing(
        absl::StrCat("--", option_, ": expected ", expected, ", found \"", text, "\""));
  }

  std::shared_ptr<cxxopts::Value> clone() const override {
    return std::make_shared<NumberValue>(*this);
  }

 private:
  std::string option_;
};

// There or not there.
class SwitchValue final : public cxxopts::values::standard_value<bool> {
 public:
  explicit SwitchValue(std::string option) : option_(std::move(option)) {}

  void parse(const std::string& text) const override {
    if (text != get_implicit_value()) {
      throw cxxopts::exceptions::parsing(
          absl::StrCat("--", option_, " takes no value, found \"", text, "\""));
    }
    *m_store = true;
  }

  std::shared_ptr<cxxopts::Value> clone() const override {
    return std::make_shared<SwitchValue>(*this);
  }

 private:
  std::string option_;
};

template <class T>
std::shared_ptr<cxxopts::Value> number_value(std::string option) {
  return std::make_shared<NumberValue<T>>(std::move(option));
}

inline std::shared_ptr<cxxopts::Value> switch_value(std::string option) {
  return std::make_shared<SwitchValue>(std::move(option));
}

}  // namespace qkv
