// The gradient check notices every mistake that is planted in a backward formula.

#include "apps/check/mutation/mutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "apps/check/mutation/formula_tracer.h"
#include "framework/autograd/backward.h"
#include "framework/graph/middleware.h"
#include "framework/graph/op_faces.h"
#include "framework/graph/recorder.h"
#include "framework/ops/ops.h"
#include "tests/framework/testing.h"

namespace qkv {
namespace {

using testing::Contains;
using testing::HasSubstr;

OpExamples examples_of(const std::string& op) {
  for (OpExamples& examples : op_examples()) {
    if (examples.op == op) return examples;
  }
  return {};
}

MutationReport mutations_of(const OpExamples& examples, const MutationOptions& options = {}) {
  return run_mutations({&examples, 1}, options);
}

std::vector<std::string> texts(const MutationReport& report) {
  std::vector<std::string> result;
  for (const MutationResult& r : report.results) result.push_back(r.mutant.to_text());
  return result;
}

void expect_listed_equivalents_survive(const MutationReport& report) {
  std::set<std::string> survived, functions;
  for (const MutationResult& r : report.results) {
    functions.insert(r.mutant.function);
    if (r.equivalent_because.empty()) continue;
    EXPECT_FALSE(r.killed) << r.mutant.to_text() << " is listed as equivalent: " << r.how;
    survived.insert(r.mutant.to_text());
  }
  for (const EquivalentMutant& equivalent : equivalent_mutants()) {
    const std::string mutant = equivalent.mutant;
    if (!functions.contains(mutant.substr(0, mutant.find(':')))) continue;
    EXPECT_TRUE(survived.contains(mutant)) << mutant << " was not planted";
  }
}

void expect_every_kind_of_mistake(const MutationReport& report) {
  for (size_t kind = 0; kind < kMistakeKinds; ++kind) {
    const auto made = std::ranges::count_if(report.results, [&](const MutationResult& r) {
      return r.killed && r.mutant.kind == static_cast<MistakeKind>(kind);
    });
    EXPECT_GT(made, 0) << name_of(static_cast<MistakeKind>(kind));
  }
}

// Sees whose backward runs.
class BackwardNames final : public Middleware {
 public:
  std::vector<Tensor> backward(const Op& op, const Saved& saved, const Tensor& dy) override {
    names.emplace(op.name());
    return next(op, saved, dy);
  }
  std::set<std::string> names;
};

void expect_mutants_of_every_op_with_a_backward(const MutationReport& report) {
  std::set<std::string> mutated;
  for (const MutationResult& r : report.results) mutated.insert(r.mutant.op);
  BackwardNames ran;
  for (const OpExamples& op : op_examples()) {
    for (const OpExample& example : op.examples) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor y = example.f(make_inputs(example, dtype, RandomStream(1)));
        if (y.requires_grad()) backward(y, {.cotangent = normal_like(y, 1), .create_graph = true});
      }
    }
  }
  EXPECT_TRUE(ran.names.contains("cast"));
  EXPECT_GT(ran.names.size(), 35u);
  for (const std::string& op : ran.names) EXPECT_TRUE(mutated.contains(op)) << op;
}

// "2,480"
std::string in_thousands(int64_t count) {
  return absl::StrFormat("%d,%03d", count / 1000, count % 1000);
}

void expect_that_the_readme_counts(const MutationReport& report) {
  std::ifstream file(QKV_SOURCE_DIR "/README.md");
  std::string readme(std::istreambuf_iterator<char>(file), {});
  std::ranges::replace(readme, '\n', ' ');
  const auto planted = static_cast<int64_t>(report.results.size());
  EXPECT_THAT(readme, HasSubstr("plants " + in_thousands(planted) + " mistakes"));
  EXPECT_THAT(readme, HasSubstr("other " + in_thousands(report.killed()) + " are all caught"));
}

TEST(MutationTest, EveryMutantOfEveryOpIsCaught) {
  const MutationReport report = run_mutations(op_examples());
  EXPECT_GT(report.results.size(), 1000u);
  for (const Mutant& mutant : report.survivors()) ADD_FAILURE() << mutant.to_text() << " survived";
  EXPECT_EQ(report.score(), 100.0);
  for (const MutationResult& r : report.results) {
    if (!r.killed) continue;
    EXPECT_FALSE(r.example.empty());
    EXPECT_THAT(r.how, HasSubstr("order")) << r.mutant.to_text();
  }
  expect_listed_equivalents_survive(report);
  expect_every_kind_of_mistake(report);
  expect_mutants_of_every_op_with_a_backward(report);
  expect_that_the_readme_counts(report);
}

TEST(MutationTest, APlaceIsNamedByWhatIsComputedThere) {
  const std::vector<std::string> mutants = texts(mutations_of(examples_of("softmax")));
  for (const char* mutant : {
           "softmax: saved y was written over since the forward",
           "softmax: dx[0], of a kernel, is negated",
           "softmax: mul(y, dy) is transposed",
           "softmax: sum(mul(y, dy)) is the first slice",
           "softmax: sub(dy, sum(mul(y, dy))) adds",
           "softmax: dx[0] = mul(y, sub(dy, sum(…))) is doubled",
       }) {
    EXPECT_THAT(mutants, Contains(mutant));
  }
}

// An example whose inputs hide a mistake: the second factor is 1.
OpExamples weak_examples() {
  return {.op = "mul",
          .examples = {{"by one", {{Fill::kNormal, {3}}}, [](std::span<const Tensor> x) {
                          return x[0] * ones({3}, x[0].dtype());
                        }}}};
}

TEST(MutationTest, AWeakExampleLetsMutantsSurvive) {
  const MutationReport report = mutations_of(weak_examples());
  EXPECT_LT(report.score(), 100.0);
  std::vector<std::string> survivors;
  for (const Mutant& mutant : report.survivors()) survivors.push_back(mutant.to_text());
  EXPECT_THAT(survivors, Contains("mul: mul(dy, x[1]) is its first operand"));
  EXPECT_THAT(report.to_text(), HasSubstr("SURVIVED: mul: mul(dy, x[1]) is its first operand\n"));
}

TEST(MutationTest, TheFirstOrderAloneDoesNotSeeTheSecond) {
  const MutationReport first = mutations_of(examples_of("dropout"), {.order = 1});
  for (const MutationResult& r : first.results) EXPECT_EQ(r.mutant.op, "dropout");
  const MutationReport second = mutations_of(examples_of("dropout"));
  EXPECT_GT(second.results.size(), first.results.size());
}

// Makes a call again, with the same op: what the op keeps in its fields is then of that call.
void call_again(const RecordedOp& call, bool on_other_numbers) {
  std::vector<Tensor> inputs = call.x;
  for (Tensor& x : inputs) x = on_other_numbers ? stale(x) : x;
  call.op->forward(Inputs(inputs));
}

std::string gradient_bits(const Tensor& y, const std::vector<Tensor>& inputs) {
  const Gradients g = backward(y, {.cotangent = normal_like(y, 1), .keep_graph = true});
  std::string all;
  for (const Tensor& x : inputs) all += g.contains(x) ? bits(g[x]) : "";
  return all;
}

TEST(MutationTest, AnOpWhoseGradientsChangeWhenItIsCalledAgainListsWhatItKeeps) {
  std::set<std::string> found;
  for (const OpExamples& function : op_examples()) {
    for (const OpExample& example : function.examples) {
      const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(1));
      std::vector<RecordedOp> calls;
      const Tensor y = [&] {
        const Recorder recorder(calls);
        return example.f(inputs);
      }();
      if (!y.requires_grad()) continue;
      const std::string gradients = gradient_bits(y, inputs);
      for (const RecordedOp& call : ops_behind(y, calls)) {
        call_again(call, true);
        if (gradient_bits(y, inputs) != gradients) {
          found.emplace(call.op->name());
          EXPECT_FALSE(kept_of(*call.op).empty()) << call.op->name() << ", " << example.name;
        }
        call_again(call, false);
      }
    }
  }
  for (const char* op : {"attention", "cross_entropy", "layer_norm", "max", "rms_norm"}) {
    EXPECT_TRUE(found.contains(op)) << op;
  }
}

TEST(MutationTest, AnExampleThatFailsAsItIsIsAnError) {
  const OpExamples broken = {
      .op = "detached",
      .examples = {{"half of it", {{Fill::kNormal, {3}}}, [](std::span<const Tensor> x) {
                      return x[0] * x[0].detached();
                    }}}};
  EXPECT_THAT(error_of([&] { mutations_of(broken); }),
              HasSubstr("mutation: detached, half of it does not pass as it is: "));
}

TEST(MutationTest, WhatWasPlantedIsGoneAfterwards) {
  for (const char* op : {"softmax", "layer_norm", "maximum", "embedding"}) {
    const OpExamples examples = examples_of(op);
    const OpExample& example = examples.examples[0];
    const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(1));
    const auto gradients = [&] {
      const Tensor y = example.f(inputs);
      const Gradients g = backward(y, {.cotangent = normal_like(y, 1)});
      std::string all = bits(y);
      for (const Tensor& x : inputs) all += g.contains(x) ? bits(g[x]) : "";
      return all;
    };
    const std::string before = gradients();
    mutations_of(examples, {.order = 1});
    EXPECT_EQ(gradients(), before) << op;
  }
}

}  // namespace
}  // namespace qkv
