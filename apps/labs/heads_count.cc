// One head, eight, or as many as there are numbers: all with the same number of parameters.
#include "apps/labs/heads_count.h"

#include "apps/labs/kit.h"

namespace qkv {
namespace {

constexpr int64_t kWidth = 32;    // d
constexpr double kLearned = 0.9;  // share of tokens that are right, of a task that is learned

Table table_of(const HeadsTask& task) {
  return table_by(say("Task {0}", task.name),
                  {say("heads"), say("parameters"), say("loss"), say("right"), say("rank"),
                   say("heads without which it is smaller"), say("two heads differ by")},
                  task.counts, [](const HeadsCount& count) {
                    return std::vector{
                        absl::StrCat(count.heads),          absl::StrCat(count.parameters),
                        format_samples(count.loss),         format_samples(count.right),
                        format_number(count.rank),          format_number(mean_of(count.helps)),
                        format_number(mean_of(count.apart))};
                  });
}

Finding is_learned(const HeadsTask& task, const HeadsCount& count) {
  return premise(at_least(say("{0}: tokens that are right, heads: {1}", task.name, count.heads),
                          kLearned, count.right));
}

Finding larger_loss(const HeadsTask& task, const HeadsCount& a, const HeadsCount& b) {
  return larger(say("{0}: loss, heads: {1}, and: {2}", task.name, a.heads, b.heads), a.loss,
                b.loss);
}

// The first heads of so many, each with a row for each query.
HeatMaps maps_of(const Text& title, const HeadsCount& count) {
  constexpr size_t kMost = 4;
  HeatMaps maps = {.title = title};
  for (size_t h = 0; h < std::min(kMost, count.maps.size()); ++h) {
    maps.maps.push_back(heat_map_of(say("head {0}", h + 1), count.maps[h]));
    maps.maps.back().row_axis = say("query");
    maps.maps.back().column_axis = say("key");
  }
  return maps;
}

Section matters_section(const HeadsTask& reverse) {
  const HeadsCount& one = reverse.counts.front();
  return make_section(
      "heads-count.matters",
      {is_learned(reverse, one),
       larger(say("one head: weight of the letter that is the answer, after training and before"),
              one.answer, one.answer_before)},
      {maps_of(say("reverse, one head: weights after training"), one)});
}

Section better_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  return make_section(
      "heads-count.better",
      {is_learned(sort, sort.with_heads(some)),
       larger_loss(sort, sort.counts.front(), sort.with_heads(some)),
       beyond(named("reverse",
                    larger_loss(reverse, reverse.counts.front(), reverse.with_heads(some))))},
      {line_chart(say("Loss on unseen examples"), log_axis(say("heads")), log_axis(say("loss")),
                  {series_by(sort.name, sort.counts, &HeadsCount::heads, &HeadsCount::loss),
                   series_by(reverse.name, reverse.counts, &HeadsCount::heads, &HeadsCount::loss)}),
       table_of(sort), table_of(reverse)});
}

Section different_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  const auto more = [&](const HeadsTask& task) {
    const HeadsCount& count = task.with_heads(some);
    return larger(
        say("{0}: by how much of their weights two of {1} heads differ, after training and "
            "before",
            task.name, some),
        count.apart, count.apart_before);
  };
  return make_section("heads-count.different",
                      {is_learned(sort, sort.with_heads(some)), more(sort), more(reverse)},
                      {maps_of(say("reverse, the first of {0} heads: weights after training", some),
                               reverse.with_heads(some))});
}

Section eight_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  Section section = make_section("heads-count.eight");
  for (const HeadsTask* const task : {&sort, &reverse}) {
    const HeadsCount& suits = task->with_heads(some);
    section.add(named(absl::StrCat(task->name, "_learned"), is_learned(*task, suits)));
    for (const HeadsCount* const rival : {&task->counts.front(), &task->counts.back()}) {
      Samples shares;
      for (size_t i = 0; i < suits.loss.size(); ++i) {
        shares.push_back(suits.loss[i] / rival->loss[i]);
      }
      const bool is_one = rival == &task->counts.front();
      section.add(named(
          absl::StrCat(task->name, is_one ? "_one" : "_most"),
          at_most(say("{0}: loss, heads: {1}, over that with: {2}", task->name, some, rival->heads),
                  1, shares)));
    }
  }
  return section;
}

Section too_many_section(const HeadsTask& sort, const HeadsTask& reverse, int64_t some) {
  return make_section(
      "heads-count.too-many",
      {is_learned(reverse, reverse.with_heads(some)),
       larger_loss(reverse, reverse.counts.back(), reverse.with_heads(some)),
       beyond(named("sort", larger_loss(sort, sort.counts.back(), sort.with_heads(some))))});
}

Section wrong_section(const HeadsTask& sort, const HeadsTask& reverse) {
  Section section = make_section("heads-count.wrong");
  for (const HeadsTask* const task : {&sort, &reverse}) {
    const HeadsCount& many = task->counts.back();
    section.add(named(task == &sort ? "" : "learned", is_learned(*task, many)));
    section.add(above(
        say("{0}: share of {1} heads without which the loss is smaller", task->name, many.heads),
        0.5, many.helps));
    section.add(
        named(task->name, larger(say("{0}: loss with all of {1} heads, and without one of them",
                                     task->name, many.heads),
                                 many.whole, many.without)));
  }
  return section;
}

Section rank_section(const HeadsTask& sort) {
  Section section = make_section("heads-count.rank");
  const int64_t tokens = 2 * sort.length;  // the question, "=", and all of the answer but the last
  for (const HeadsCount& count : sort.counts) {
    section.add(equal(say("rank of Q Kᵀ, heads: {0}", count.heads),
                      std::min(kWidth / count.heads, tokens), count.rank));
  }
  const auto [fewest, most] = std::ranges::minmax(sort.counts, {}, &HeadsCount::parameters);
  section.add(
      equal(say("parameters, the most and the fewest of all"), fewest.parameters, most.parameters));
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  std::vector<int64_t> heads = lab.integers("heads");
  if (heads.back() < kWidth) heads.push_back(kWidth);
  // The count nearest to 8 that is neither 1 nor the largest.
  const int64_t some = *std::ranges::min_element(heads, {}, [&](int64_t h) {
    return h == 1 || h == kWidth ? 1e9 : std::abs(std::log2(static_cast<double>(h) / 8));
  });
  const HeadsTask sort = measure_heads(lab, heads, {.name = "sort", .length = 5}),
                  reverse = measure_heads(lab, heads, {.name = "reverse", .length = 8});
  return {matters_section(reverse),
          better_section(sort, reverse, some),
          different_section(sort, reverse, some),
          eight_section(sort, reverse, some),
          too_many_section(sort, reverse, some),
          wrong_section(sort, reverse),
          rank_section(sort)};
}

}  // namespace

Lab heads_count_lab() { return make_lab("heads-count", run); }

}  // namespace qkv
