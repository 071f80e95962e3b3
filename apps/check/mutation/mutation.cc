#include "apps/check/mutation/mutation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/check/mutation/example_results.h"
#include "apps/check/mutation/formula_tracer.h"
#include "framework/autograd/backward.h"
#include "framework/core/error.h"
#include "framework/core/memory/storage.h"
#include "framework/gradcheck/gradcheck.h"
#include "framework/gradcheck/probe.h"
#include "framework/graph/saved.h"
#include "framework/kernels/parallel.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

// Two mistakes that are not in the tables of steps and gradients.
constexpr char kIsStale[] = "was written over since the forward";
constexpr char kWalk[] = "the gradients of one tensor from several uses";
constexpr char kTakeEachOthersPlace[] = "take each other's place";

// Plants one mutant while it lives.
class Planter final : public FormulaTracer {
 public:
  explicit Planter(const Mutant& mutant) : mutant_(mutant) {}

  bool overwrites_gradients() override { return mutant_.where == kWalk; }

 protected:
  Tensor step(const FormulaPlace& place, std::shared_ptr<Op> op,
              std::vector<Tensor> inputs) override {
    for (const StepMistake& mistake : step_mistakes()) {
      if (is(place, mistake.change)) return mistake.run(std::move(op), std::move(inputs));
    }
    return qkv::run(std::move(op), std::move(inputs));
  }

  Tensor read(const FormulaPlace& place, const Tensor& saved) override {
    return is(place, kIsStale) ? stale(saved) : saved;
  }

  Array keep(const FormulaPlace& place, const Array& kept) override {
    return is(place, kIsStale) ? stale(Tensor(kept)).array() : kept;
  }

  void returned(const std::vector<FormulaPlace>& places, const Saved&,
                std::vector<Tensor>& dx) override {
    for (size_t i = 0; i < places.size(); ++i) {
      for (const GradientMistake& mistake : gradient_mistakes()) {
        if (dx[i].defined() && is(places[i], mistake.change)) mistake.spoil(dx, i);
      }
    }
  }

 private:
  bool is(const FormulaPlace& place, const char* change) const {
    return mutant_.change == change && mutant_.where == place.text && mutant_.op == place.op;
  }

  const Mutant& mutant_;
};

struct Candidate {
  Mutant mutant;
  std::vector<const OpExample*> examples;
  int order = 1;             // the lowest at which they do
  DType dtype = DType::f64;  // the inputs'
};

// Finds every mutant of the formulas that run while it lives.
class Surveyor final : public FormulaTracer {
 public:
  Surveyor(std::string function, DType dtype, std::vector<Candidate>& candidates)
      : function_(std::move(function)), dtype_(dtype), candidates_(candidates) {}

  void start(const OpExample& example, int order) {
    example_ = &example;
    order_ = order;
  }

  bool overwrites_gradients() override {
    // Where f32 is compared with f64, the walk is the same for both.
    if (dtype_ == DType::f64)
      add({function_, kWalk}, MistakeKind::kOverwritten, kTakeEachOthersPlace);
    return false;
  }

 protected:
  Tensor step(const FormulaPlace& place, std::shared_ptr<Op> op,
              std::vector<Tensor> inputs) override {
    const Tensor y(op->forward(Inputs(inputs)));
    if (y.size() > 0 && inputs[0].size() > 0) {
      for (const StepMistake& mistake : step_mistakes()) {
        if (mistake.fits(*op, inputs, y)) found_.push_back({place, mistake.kind, mistake.change});
      }
    }
    return qkv::run(std::move(op), std::move(inputs));
  }

  Tensor read(const FormulaPlace& place, const Tensor& saved) override {
    if (saved.size() > 0) found_.push_back({place, MistakeKind::kStale, kIsStale});
    return saved;
  }

  Array keep(const FormulaPlace& place, const Array& kept) override {
    if (kept.size() > 0) add(place, MistakeKind::kStale, kIsStale);
    return kept;
  }

  void returned(const std::vector<FormulaPlace>& places, const Saved& saved,
                std::vector<Tensor>& dx) override {
    for (size_t i = 0; i < places.size(); ++i) {
      if (!dx[i].defined() || dx[i].size() == 0 || !saved.needs(i)) continue;
      for (const GradientMistake& mistake : gradient_mistakes()) {
        if (!mistake.fits(dx, i)) continue;
        found_.push_back({places[i], mistake.kind, mistake.change});
      }
    }
    for (const Found& found : found_) add(found.place, found.kind, found.change);
    found_.clear();
  }

 private:
  struct Found {
    FormulaPlace place;
    MistakeKind kind;
    const char* change;
  };

  void add(const FormulaPlace& place, MistakeKind kind, const char* change) {
    const Mutant mutant = {function_, place.op, kind, place.text, change};
    const auto [known, is_new] = index_.emplace(mutant.to_text(), candidates_.size());
    if (is_new) candidates_.push_back({mutant, {}, order_, dtype_});
    Candidate& candidate = candidates_[known->second];
    if (!std::ranges::count(candidate.examples, example_)) candidate.examples.push_back(example_);
    candidate.order = std::min(candidate.order, order_);
  }

  std::string function_;
  DType dtype_;
  std::vector<Candidate>& candidates_;
  std::map<std::string, size_t> index_;  // of candidates_, by text
  std::vector<Found> found_;             // in the formula that runs
  const OpExample* example_ = nullptr;
  int order_ = 1;
};

// Runs the formulas that a check of the example runs: the backward, the backward that can be
// differentiated again, and the backward of that.
void survey(const OpExample& example, DType dtype, const MutationOptions& options,
            Surveyor& surveyor) {
  const RandomStream stream(options.seed);
  const std::vector<Tensor> inputs = make_inputs(example, dtype, stream);
  surveyor.start(example, 1);
  const Tensor y = example.f(inputs);
  if (!y.requires_grad()) return;
  const Tensor dy = parameter(random_like(y, stream.derive("cotangent")).array());
  backward(y, {.cotangent = dy.detached(), .keep_graph = true});
  if (options.order < 2) return;
  surveyor.start(example, 2);
  const Gradients g = backward(y, {.cotangent = dy, .create_graph = true});
  std::vector<Tensor> pieces;
  for (const Tensor& x : inputs) {
    if (g.contains(x)) pieces.push_back(reshape(g[x], {x.size()}));
  }
  const Tensor all = concat(pieces, 0);
  if (all.requires_grad()) backward(all, {.cotangent = random_like(all, stream.derive("second"))});
}

// A step whose result is returned as a gradient has the mistakes of that gradient.
void drop_mistakes_made_twice(std::vector<Candidate>& candidates) {
  std::set<std::string> gradient_mutants;
  for (const Candidate& c : candidates) {
    const std::vector<std::string> sides = absl::StrSplit(c.mutant.where, "] = ");
    if (sides.size() == 2) gradient_mutants.insert(c.mutant.op + sides[1] + c.mutant.change);
  }
  std::erase_if(candidates, [&](const Candidate& c) {
    return gradient_mutants.contains(c.mutant.op + c.mutant.where + c.mutant.change);
  });
}

std::vector<Candidate> surveyed(const OpExamples& function, DType dtype,
                                const MutationOptions& options) {
  std::vector<Candidate> candidates;
  {
    Surveyor surveyor(function.op, dtype, candidates);
    for (const OpExample& example : function.examples) survey(example, dtype, options, surveyor);
  }
  drop_mistakes_made_twice(candidates);
  return candidates;
}

// Those in the backward of the function itself, where it is an op whose backward runs.
std::vector<Candidate> own(const std::string& function, std::vector<Candidate> candidates) {
  const auto is_own = [&](const Candidate& candidate) {
    const std::string& op = candidate.mutant.op;
    return op == function || op == absl::StrCat(function, "_backward");
  };
  const bool is_op = std::ranges::any_of(candidates, [&](const Candidate& candidate) {
    return is_own(candidate) && candidate.mutant.where != kWalk;
  });
  if (!is_op) return {};
  std::erase_if(candidates, [&](const Candidate& c) { return !is_own(c); });
  return candidates;
}

std::vector<Candidate> candidates_of(const OpExamples& function, const MutationOptions& options) {
  std::vector<Candidate> all = surveyed(function, DType::f64, options);
  std::vector<Candidate> candidates = own(function.op, all);
  if (!candidates.empty()) return candidates;
  try {  // An op whose backward runs in f32 alone: cast.
    candidates =
        own(function.op, surveyed(function, DType::f32, {.seed = options.seed, .order = 1}));
  } catch (const Error&) {
    return all;  // its examples hold something in f64
  }
  return candidates.empty() ? all : candidates;
}

// "order 1, input 0: FAIL at [0, 2]: analytic …", "order 1: does not agree over 12 x 12
// derivatives: …": the first line with an error.
std::string first_failure(const GradcheckReport& report) {
  for (const InputReport& input : report.inputs) {
    if (input.passed()) continue;
    const std::string text = input.to_text();
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (size_t i = 1; i < lines.size(); ++i) {  // after the head
      for (const char* verdict : {"FAIL", "UNDECIDED"}) {
        const size_t at = lines[i].find(verdict);
        if (at == std::string::npos) continue;
        return absl::StrCat("order ", input.order, ", ", input.name, ": ", lines[i].substr(at));
      }
    }
    return lines[0];
  }
  for (const FormulaReport& formula : report.formulas) {
    if (formula.verdict == Verdict::kPass) continue;
    return absl::StrCat("order ", formula.order, ": ", formula.to_text());
  }
  return "FAIL symmetry of the Hessian";
}

// The error; none when the check passes. In f32 no difference can tell, so the gradients are
// compared with those in f64.
std::optional<std::string> complaint(const OpExample& example, int order, uint64_t seed,
                                     DType dtype = DType::f64) {
  if (dtype == DType::f32) {
    const std::optional<std::string> wrong = wrong_in_f32(example, seed);
    if (!wrong) return std::nullopt;
    return absl::StrCat("order 1, f32 against f64: ", *wrong);
  }
  const std::vector<Tensor> inputs = make_inputs(example, DType::f64, RandomStream(seed));
  const GradcheckReport report =
      gradcheck(example.f, inputs, {.order = order, .seed = seed, .only_verdict = true});
  if (report.passed()) return std::nullopt;
  if (!report.backward_error.empty()) fail(report.backward_error);
  return first_failure(report);
}

void check_unchanged(const OpExamples& function, const MutationOptions& options) {
  for (const OpExample& example : function.examples) {
    if (const auto wrong = complaint(example, options.order, options.seed)) {
      fail(absl::StrCat("mutation: ", function.op, ", ", example.name,
                        " does not pass as it is: ", *wrong));
    }
  }
}

std::string reason_of(const Mutant& mutant) {
  Mutant alone = mutant;
  alone.function = mutant.op;  // whoever calls the op
  for (const EquivalentMutant& equivalent : equivalent_mutants()) {
    if (equivalent.mutant == mutant.to_text() || equivalent.mutant == alone.to_text()) {
      return equivalent.because;
    }
  }
  return "";
}

// None when the mutant runs on no example.
std::optional<MutationResult> try_to_kill(const Candidate& candidate,
                                          const MutationOptions& options) {
  MutationResult result;
  result.mutant = candidate.mutant;
  result.equivalent_because = reason_of(candidate.mutant);
  bool ran = false;
  const Planter planter(result.mutant);
  for (int order = candidate.order; order <= options.order; ++order) {
    for (const OpExample* example : candidate.examples) {
      try {
        const auto wrong = complaint(*example, order, options.seed, candidate.dtype);
        ran = true;
        if (!wrong) continue;
        result.killed = true;
        result.example = example->name;
        result.how = *wrong;
        return result;
      } catch (const Error&) {
        continue;  // shapes clash
      }
    }
  }
  if (!ran) return std::nullopt;
  return result;
}

}  // namespace

MutationReport run_mutations(std::span<const OpExamples> functions,
                             const MutationOptions& options) {
  MutationReport report;
  for (size_t done = 0; const OpExamples& function : functions) {
    const std::string place =
        absl::StrCat(function.op, ", ", ++done, " of ", functions.size(), " functions");
    options.tell(place);
    check_unchanged(function, options);
    const std::vector<Candidate> candidates = candidates_of(function, options);
    options.tell(absl::StrCat(place, ": ", candidates.size(), " mistakes"));
    std::vector<std::optional<MutationResult>> results(candidates.size());
    kernels::parallel_for(std::ssize(candidates), 1, [&](int64_t begin, int64_t end) {
      const ThreadMemory memory;
      for (int64_t i = begin; i < end; ++i) results[i] = try_to_kill(candidates[i], options);
    });
    for (std::optional<MutationResult>& result : results) {
      if (result) {
        report.results.push_back(*std::move(result));
      } else {
        ++report.not_runnable;
      }
    }
  }
  return report;
}

}  // namespace qkv
