#pragma once

#include <cctype>
#include <ostream>
#include <string>
#include <vector>

#include "framework/ops/support/op_examples.h"

namespace qkv {

inline std::string test_name(const std::string& op, const std::string& example) {
  std::string name = op + "_";
  for (const char c : example) {
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    if (c == ' ' || c == '_') name += '_';
  }
  return name;
}

// Each process registers every test, and each test copies its case: they point to the examples.
inline const std::vector<OpExamples>& examples() {
  static const auto& examples = *new std::vector<OpExamples>(op_examples());
  return examples;
}

struct ExampleCase {
  std::string op;
  const OpExample* example;
};
inline void PrintTo(const ExampleCase& test, std::ostream* out) {
  *out << test.op << ": " << test.example->name;
}

inline std::vector<ExampleCase> all_examples() {
  std::vector<ExampleCase> cases;
  for (const OpExamples& op : examples()) {
    for (const OpExample& example : op.examples) cases.push_back({op.op, &example});
  }
  return cases;
}

}  // namespace qkv
