#include "framework/gradcheck/block_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "framework/core/storage.h"
#include "framework/gradcheck/differences.h"
#include "framework/gradcheck/epsilon.h"
#include "framework/kernels/parallel.h"

namespace qkv {
namespace {

constexpr double kMissed = 1e-6;
constexpr size_t kMaxHalved = 4;    // blocks that are not right
constexpr size_t kMaxSuspects = 8;  // elements
// Elements whose derivative is so many times smaller than what their blocks see are looked at
// again.
constexpr double kUnseen = 1e6;
// That is worth while where a first block of them sees so much more.
constexpr double kWorthWhile = 0.5;
// Where blocks see no error below this share of the middle effect, other steps may do better.
constexpr double kBlind = 1e-5;
// A block tells an error of any of its elements, however small its derivative is: its tolerance is
// of the differences alone. The first is where further evaluations would be in vain.
constexpr Tolerance kGoal = {.relative = 1e-12, .absolute = 1e-8};
constexpr Tolerance kTight = {.relative = 1e-12, .absolute = 1e-10};

struct Block {
  std::vector<int64_t> elements;
  std::vector<double> steps;  // of each: its scale, up or down
};

using Blocks = std::vector<Block>;

class BlockCheck {
 public:
  BlockCheck(const BackwardRows& backward, size_t input)
      : backward_(backward),
        probe_(backward.probe()),
        input_(input),
        gradient_(backward.inputs()[input]),
        weights_(backward.cotangent().to_vector()) {
    const ProbeLine line(probe_, input);
    for (int64_t e = 0; e < size(); ++e) scales_.push_back(line.scale_of(e));
  }

  // With `elements` divided at random in each round.
  Blocks random_blocks(const BlockPlan& plan, std::span<const int64_t> elements,
                       const RandomStream& stream) const {
    Blocks blocks;
    std::vector<int64_t> all(elements.begin(), elements.end());
    const auto count = static_cast<int64_t>(all.size());
    for (int64_t round = 0; round < plan.rounds; ++round) {
      RandomStream random = stream.derive(static_cast<uint64_t>(round));
      shuffle(all, random);
      for (int64_t b = 0; b < plan.blocks; ++b) {
        Block block;
        block.elements.assign(all.begin() + count * b / plan.blocks,
                              all.begin() + count * (b + 1) / plan.blocks);
        for (const int64_t e : block.elements) {
          block.steps.push_back(random.below(2) == 0 ? scales_[e] : -scales_[e]);
        }
        blocks.push_back(std::move(block));
      }
    }
    return blocks;
  }

  // What moving the element by its scale does, as its derivative says.
  double effect_of(int64_t element) const {
    return std::abs(gradient_.of(element)[0]) * scales_[element];
  }

  // Tolerances are of the largest effect of these, and rounding is that of the outputs which they
  // move: others are left out of the dot product.
  void look_at(std::span<const int64_t> elements) {
    largest_ = 0.0;
    std::vector<double> direction(static_cast<size_t>(size()), 0.0);
    for (const int64_t e : elements) {
      if (std::isfinite(effect_of(e))) largest_ = std::max(largest_, effect_of(e));
      direction[e] = scales_[e];
    }
    weights_ = backward_.cotangent().to_vector();
    if (std::ssize(elements) < size()) leave_out_what_stays(direction);
    const Shape& shape = backward_.cotangent().shape();
    backward_.recorded().gradients(Tensor(Array::of(shape, DType::f64, weights_)), rounding_);
  }

  std::vector<Agreement> judge(const Blocks& blocks, bool concurrent) {
    const auto count = static_cast<int64_t>(blocks.size());
    std::vector<Agreement> agreements(blocks.size());
    std::vector<int64_t> evaluations(concurrent ? kernels::num_pieces(count, 1) : 1);
    const auto judge_piece = [&](int64_t piece, int64_t begin, int64_t end) {
      const ThreadMemory memory;
      ProbeLine line(probe_, input_);
      Differences differences(Rows(false, weights_), probe_.value(), {&rounding_, 1}, kGoal);
      differences.take_best_of_few();
      for (int64_t b = begin; b < end; ++b) agreements[b] = judge(blocks[b], line, differences);
      evaluations[piece] = differences.evaluations();
    };
    if (concurrent) {
      kernels::parallel_pieces(count, 1, judge_piece);
    } else {
      judge_piece(0, 0, count);
    }
    evaluations_ += std::accumulate(evaluations.begin(), evaluations.end(), int64_t{0});
    return agreements;
  }

  // The elements of a block that is not right that are not right by themselves: half of its error,
  // or more, is in one of its halves.
  void halve(const Block& block, const Agreement& its_agreement, std::vector<int64_t>& suspects) {
    if (suspects.size() >= kMaxSuspects) return;
    if (block.elements.size() == 1) {
      suspects.push_back(block.elements[0]);
      return;
    }
    const auto middle = static_cast<std::ptrdiff_t>(block.elements.size() / 2);
    const Blocks halves = {
        {{block.elements.begin(), block.elements.begin() + middle},
         {block.steps.begin(), block.steps.begin() + middle}},
        {{block.elements.begin() + middle, block.elements.end()},
         {block.steps.begin() + middle, block.steps.end()}},
    };
    const std::vector<Agreement> agreements = judge(halves, false);
    for (size_t i = 0; i < halves.size(); ++i) {
      const bool has_error = its_agreement.verdict != Verdict::kUndecided &&
                             agreements[i].error >= 0.5 * its_agreement.error;
      if (has_error || agreements[i].verdict != Verdict::kPass) {
        halve(halves[i], agreements[i], suspects);
      }
    }
  }

  int64_t evaluations() const { return evaluations_; }

  // The median effect of these elements.
  double middle_effect(std::span<const int64_t> elements) const {
    std::vector<double> effects;
    for (const int64_t e : elements) effects.push_back(effect_of(e));
    const auto middle = effects.begin() + static_cast<std::ptrdiff_t>(effects.size() / 2);
    std::ranges::nth_element(effects, middle);
    return *middle;
  }

  // Gives the scales that were.
  std::vector<double> scale_by_size() {
    std::vector<double> previous_scales = scales_;
    const double* x = probe_.input(input_).array().data<double>();
    for (int64_t e = 0; e < size(); ++e) {
      const double power = std::exp2(std::ceil(std::log2(std::abs(x[e]))));
      if (std::isnormal(power)) scales_[e] = power;
    }
    return previous_scales;
  }
  void scale_by(std::vector<double> scales) { scales_ = std::move(scales); }

 private:
  int64_t size() const { return probe_.input(input_).size(); }

  void leave_out_what_stays(const std::vector<double>& direction) {
    std::vector<char> moves(weights_.size());
    const double* y0 = probe_.value().data<double>();
    ProbeLine line(probe_, input_);
    for (const double step : {1.0, -1.0, kDefaultStep, -kDefaultStep}) {
      const Array moved = line.along(direction, step);
      ++evaluations_;
      for (size_t k = 0; k < moves.size(); ++k) moves[k] |= moved.data<double>()[k] != y0[k];
    }
    for (size_t k = 0; k < moves.size(); ++k) {
      if (!moves[k]) weights_[k] = 0.0;
    }
  }

  Agreement judge(const Block& block, ProbeLine& line, Differences& differences) const {
    std::vector<double> direction(static_cast<size_t>(size()), 0.0);
    const double* x = probe_.input(input_).array().data<double>();
    double analytic = 0.0, moved = 0.0;
    for (size_t i = 0; i < block.elements.size(); ++i) {
      const int64_t e = block.elements[i];
      const double g = gradient_.of(e)[0];
      direction[e] = block.steps[i];
      analytic += g * block.steps[i];
      if (std::isfinite(g)) moved += g * g * x[e] * x[e];
    }
    differences.add_noise(kEpsilon * std::sqrt(moved));
    Slope slope;
    differences.slopes([&](double& t) { return line.along(direction, t); }, {},
                       {.derivatives = {&analytic, 1}, .beside = {&largest_, 1}}, {&slope, 1});
    return compare(analytic, slope, kTight, largest_);
  }

  const BackwardRows& backward_;
  const Probe& probe_;
  size_t input_;
  const InputGradient& gradient_;
  std::vector<double> weights_;  // the cotangent's, of the outputs that are looked at
  GraphRounding rounding_;
  std::vector<double> scales_;  // of each element
  double largest_ = 0.0;
  int64_t evaluations_ = 0;
};

double badness(const Agreement& a) {
  const double badness = a.error / a.tolerance;
  return std::isfinite(badness) ? badness : std::numeric_limits<double>::infinity();
}

// Wrong for the tolerance of a single derivative, too.
bool is_far(const Agreement& block, const Tolerance& tolerance) {
  const double allowed =
      tolerance.relative * std::max(std::abs(block.analytic), std::abs(block.numeric));
  return !(block.error <= block.tolerance + allowed);
}

// The round of the block that is most wrong: those of other rounds hold the same elements.
size_t worst_round(const std::vector<Agreement>& blocks, const BlockPlan& plan) {
  size_t worst = 0;
  double highest_badness = -1.0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].verdict != Verdict::kFail || badness(blocks[b]) <= highest_badness) continue;
    worst = b, highest_badness = badness(blocks[b]);
  }
  return worst / static_cast<size_t>(plan.blocks);
}

// Judges the blocks of some elements, halves those that are not right, and says above what an error
// of an element is seen.
double check_stage(BlockCheck& check, const BlockPlan& plan, const Blocks& blocks,
                   const GradcheckOptions& options, BlockReport& report,
                   std::vector<int64_t>& suspects) {
  const std::vector<Agreement> agreements = check.judge(blocks, options.concurrent);
  const size_t round = worst_round(agreements, plan);
  size_t halved = 0;
  double seen = 0.0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    Agreement a = agreements[b];
    if (a.verdict != Verdict::kPass) {
      // Elements nearer to the point may settle, and a wrong one is found among them.
      const bool undecided = a.verdict == Verdict::kUndecided;
      const bool looked =
          (undecided || b / static_cast<size_t>(plan.blocks) == round) && halved++ < kMaxHalved;
      if (looked) check.halve(blocks[b], a, suspects);
      if (undecided ? looked : !is_far(a, options.tolerance)) a.verdict = Verdict::kPass;
    }
    if (a.verdict == Verdict::kPass) {
      seen = std::max({seen, a.tolerance, a.error});
      continue;
    }
    ++report.wrong;
    if (worse(report.worst.verdict, a.verdict) == report.worst.verdict) continue;
    static_cast<Agreement&>(report.worst) = a;
  }
  report.worst.element = suspects.empty() ? -1 : suspects.front();
  return seen;
}

// Takes steps of the size of each element, also where that is below 1, as for the root of a small
// one, if a first block of them tells errors more closely, for the effects that they have.
bool try_steps_by_size(BlockCheck& check, const BlockPlan& plan, std::span<const int64_t> elements,
                       const RandomStream& stream, double seen) {
  const double seen_share = seen / check.middle_effect(elements);
  const std::vector<double> previous_scales = check.scale_by_size();
  check.look_at(elements);
  const Block first = check.random_blocks(plan, elements, stream.derive("by size")).front();
  const double tolerance = check.judge({first}, false)[0].tolerance;
  if (tolerance <= kWorthWhile * seen_share * check.middle_effect(elements)) return true;
  check.scale_by(previous_scales);
  check.look_at(elements);
  return false;
}

}  // namespace

BlockPlan plan_blocks(int64_t elements) {
  constexpr int64_t kBlock = 2048, kMaxBlocks = 64;
  BlockPlan plan = {.blocks = std::clamp((elements + kBlock - 1) / kBlock, int64_t{1}, kMaxBlocks),
                    .missed = 1.0};
  for (; plan.missed > kMissed; ++plan.rounds)
    plan.missed /= 2.0 * static_cast<double>(plan.blocks);
  return plan.blocks * plan.rounds >= elements ? BlockPlan{} : plan;
}

BlockResult check_blocks(const BackwardRows& backward, size_t input, const RandomStream& stream,
                         const GradcheckOptions& options, InputReport& report) {
  BlockCheck check(backward, input);
  BlockResult result;
  std::vector<int64_t> elements(static_cast<size_t>(backward.probe().input(input).size()));
  std::iota(elements.begin(), elements.end(), 0);
  double seen = std::numeric_limits<double>::infinity();
  for (uint64_t stage = 0;; ++stage) {
    const BlockPlan plan = plan_blocks(static_cast<int64_t>(elements.size()));
    if (plan.blocks == 0) {
      result.by_themselves.insert(result.by_themselves.end(), elements.begin(), elements.end());
      break;
    }
    check.look_at(elements);
    const Blocks blocks = check.random_blocks(plan, elements, stream.derive(stage));
    if (stage > 0 && check.judge({blocks.front()}, false)[0].tolerance > kWorthWhile * seen) break;
    seen = check_stage(check, plan, blocks, options, report.blocks, result.by_themselves);
    if (stage == 0 && report.blocks.wrong == 0 && seen > kBlind * check.middle_effect(elements) &&
        try_steps_by_size(check, plan, elements, stream, seen)) {
      const Blocks by_size = check.random_blocks(plan, elements, stream.derive("by size"));
      report.blocks = {.by_size = true};
      seen = check_stage(check, plan, by_size, options, report.blocks, result.by_themselves);
    }
    if (stage == 0) {
      report.blocks.count = plan.blocks;
      report.blocks.rounds = plan.rounds;
      report.blocks.missed = plan.missed;
      report.blocks.seen = seen;
    }
    const size_t before = elements.size();
    std::erase_if(elements, [&](int64_t e) { return !(check.effect_of(e) < kUnseen * seen); });
    if (elements.empty() || elements.size() == before) break;
  }
  report.verdict = worse(report.verdict, report.blocks.worst.verdict);
  std::ranges::sort(result.by_themselves);
  const auto end = std::unique(result.by_themselves.begin(), result.by_themselves.end());
  result.by_themselves.erase(end, result.by_themselves.end());
  result.evaluations = check.evaluations();
  return result;
}

}  // namespace qkv
