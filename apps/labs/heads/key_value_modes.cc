// QKV, QVV, VVV: which sets attention is between, and by how many paths the gradient comes back.
// The note tells it of reagents: bottles are values, their labels keys, a list of names queries.
#include "apps/labs/kit/lab_kit.h"

namespace qkv {
namespace {

// A set of n vectors, as one head of one sequence: [1, n, 1, d].
using Set = Tensor;

struct Roles {
  Set query, key, value;
};

// With scores that are all 0 in the control: every value gets the same share.
double factor_of(const LabContext& lab) { return lab.is_control() ? 0 : 1; }

Tensor attend(const LabContext& lab, const Roles& sets) {
  return attention(sets.query, sets.key, sets.value, {.scale = factor_of(lab)});
}

// [1, n, 1, d] -> [n, d]
Tensor rows_of(const Set& x) { return reshape(x, {x.dim(1), x.dim(3)}); }

struct Sets {
  Set list, labels;  // names: those asked for, those on the bottles
  Set samples;       // of other reagents
  Set bottles;
};

Set draw(const LabContext& lab, const char* name) {
  return random_normal(RandomStream(lab.integer("seed")), name,
                       {1, lab.integer("n"), 1, lab.integer("d")});
}

Sets make_sets(const LabContext& lab) {
  return {.list = draw(lab, "list"),
          .labels = draw(lab, "labels"),
          .samples = draw(lab, "samples"),
          .bottles = draw(lab, "bottles")};
}

// A mode: which of the three roles the set of values plays.
struct Mode {
  const char* name;
  bool is_query, is_key;

  Roles roles(const Sets& sets, const Set& values) const {
    if (is_query) return {values, values, values};
    return is_key ? Roles{sets.samples, values, values} : Roles{sets.list, sets.labels, values};
  }
};
constexpr Mode kModes[] = {{"QKV", false, false}, {"QVV", false, true}, {"VVV", true, true}};

std::vector<Text> numbered(const Text& name, int64_t n) {
  std::vector<Text> names;
  for (int64_t i = 1; i <= n; ++i) names.push_back(name + Text(absl::StrCat(" ", i)));
  return names;
}

Bars glasses_of(const Text& title, const Text& query, const Tensor& shares) {
  Bars bars = {.title = title,
               .bars = numbered(query, shares.dim(0)),
               .parts = numbered(say("bottle"), shares.dim(1))};
  for (int64_t i = 0; i < shares.dim(0); ++i) bars.shares.push_back(row_of(shares, i).to_vector());
  return bars;
}

Section mixing_section(const LabContext& lab, const Sets& sets) {
  const Text titles[] = {say("QKV: the list against the labels"),
                         say("QVV: samples against the bottles"),
                         say("VVV: the bottles against themselves")};
  const Text queries[] = {say("name"), say("sample"), say("bottle")};
  Section section = make_section("modes.mixing");
  double least = 1, off_sum = 0, off_mixture = 0;
  for (size_t i = 0; i < std::size(kModes); ++i) {
    const Roles roles = kModes[i].roles(sets, sets.bottles);
    const Tensor likeness = products_of_rows(rows_of(roles.query), rows_of(roles.key));
    const Tensor shares = softmax(likeness * factor_of(lab));
    const Tensor mixture = matmul(shares, rows_of(roles.value));
    least = std::min(least, smallest_of(shares));
    off_sum = std::max(off_sum, largest_of(sum(shares, -1) - 1.0));
    off_mixture = std::max(off_mixture, largest_difference(rows_of(attend(lab, roles)), mixture));
    section.add(
        equal(say("{0}: share of pairs in which the more similar gives more", kModes[i].name), 1,
              share_in_order(shares, likeness)));
    section.show(glasses_of(titles[i], queries[i], shares));
  }
  section.add(above(say("smallest share of all"), 0, least));
  section.add(same(say("sums of the shares and 1"), off_sum));
  section.add(same(say("what attention gives, and the mixtures"), off_mixture));
  return section;
}

Tensor reversed(const Set& set) {
  std::vector<Tensor> vectors;
  for (int64_t i = set.dim(1) - 1; i >= 0; --i) vectors.push_back(slice(set, 1, i, 1));
  return concat(vectors, 1);
}

Section function_section(const LabContext& lab, const Sets& sets) {
  const int64_t n = lab.integer("n");
  // The control mixes another set than the one claimed to make the results.
  const Set& mixed = lab.breaks("values") ? sets.list : sets.bottles;
  const auto first = [](const Set& set, int64_t count) { return slice(set, 1, 0, count); };
  Section section = make_section("modes.function");
  const auto count = [&](int64_t queries, int64_t pairs) {
    const Set y =
        attend(lab, {first(sets.samples, queries), first(sets.labels, pairs), first(mixed, pairs)});
    section.add(equal(say("results of queries: {0}, pairs: {1}", static_cast<double>(queries),
                          static_cast<double>(pairs)),
                      queries, y.dim(1)));
  };
  count(1, 1);
  count(1, n);
  count(n, 1);
  const Set y = attend(lab, {sets.samples, sets.labels, mixed});
  const Set in_reverse = attend(lab, {sets.samples, reversed(sets.labels), reversed(mixed)});
  const auto outside = [&](const Set& queries) {
    return count_outside(sets.bottles, attend(lab, {queries, sets.bottles, mixed}));
  };
  section.add(
      same(say("results, and those of the pairs in reverse"), largest_difference(y, in_reverse)));
  section.add(equal(say("numbers outside of those of the values, another set asks"), 0,
                    outside(sets.samples)));
  section.add(equal(say("numbers outside of those of the values, they ask themselves"), 0,
                    outside(sets.bottles)));
  return section;
}

// |dL/dV| by each path on which the set of values is read: the others are held constant.
std::vector<Tensor> paths_of(const LabContext& lab, const Sets& sets, const Mode& mode) {
  const Set values = as_parameter(sets.bottles);
  std::vector<Set Roles::*> read_as = {&Roles::value};
  if (mode.is_key) read_as.push_back(&Roles::key);
  if (mode.is_query) read_as.push_back(&Roles::query);
  return each_of(read_as, [&](Set Roles::*role) {
    Roles roles = mode.roles(sets, sets.bottles);
    roles.*role = values;
    return backward(attend(lab, roles), {.cotangent = draw(lab, "dO")})[values];
  });
}

Section paths_section(const LabContext& lab, const Sets& sets) {
  Section section = make_section("modes.paths");
  Bars bars = {.title = say("|dL/dV| by path"),
               .parts = {say("as values"), say("as keys"), say("as queries")}};
  double expected = 0, off_sum = 0;
  for (const Mode& mode : kModes) {
    const Set values = as_parameter(sets.bottles);
    const Tensor whole =
        backward(attend(lab, mode.roles(sets, values)), {.cotangent = draw(lab, "dO")})[values];
    Tensor added = zeros(whole.shape(), DType::f64);
    Samples sizes;
    for (const Tensor& path : paths_of(lab, sets, mode)) {
      added = added + path;
      sizes.push_back(size_of(path));
    }
    off_sum = std::max(off_sum, largest_difference(whole, added));
    section.add(equal(say("{0}: paths with a gradient", mode.name), ++expected,
                      std::ssize(sizes) - std::ranges::count(sizes, 0.0)));
    sizes.resize(bars.parts.size());
    bars.bars.emplace_back(mode.name);
    bars.shares.push_back(sizes);
  }
  section.add(same(say("gradients, and the sums of their paths"), off_sum));
  section.show(bars);
  return section;
}

Section self_section(const LabContext& lab, const Sets& sets) {
  Section section = make_section("modes.self");
  const Sets other = {draw(lab, "list 2"), draw(lab, "labels 2"), draw(lab, "samples 2"), {}};
  for (const Mode& mode : kModes) {
    const double change = largest_difference(attend(lab, mode.roles(sets, sets.bottles)),
                                             attend(lab, mode.roles(other, sets.bottles)));
    const Text what = say("{0}: change with all other sets", mode.name);
    section.add(mode.is_query ? equal(what, 0, change) : above(what, 0, change));
  }
  const int64_t d = lab.integer("d");
  const auto map = [&](const char* name) {
    return random_normal(RandomStream(lab.integer("seed")), name, {d, d});
  };
  section.add(named("maps", differ(say("with maps, largest |Q - K|"),
                                   largest_difference(matmul(sets.bottles, map("W_q")),
                                                      matmul(sets.bottles, map("W_k"))))));
  return section;
}

// Whether a set that is mixed by itself is itself. Scores are divided by √d.
Section again_section(const LabContext& lab, const Sets& sets) {
  const Tensor bottles = rows_of(sets.bottles);
  const Tensor alike = bottles / reshape(lengths_of_rows(bottles), {bottles.dim(0), 1});
  const double usual = 1 / std::sqrt(static_cast<double>(bottles.dim(1)));
  constexpr double kSharp = 1e5;  // two vectors of length 1 have products below 1
  const auto weights_of = [&](const Tensor& set, double factor) {
    return softmax(products_of_rows(set, set) * factor);
  };
  const auto change = [](const Tensor& set, const Tensor& weights) {
    return size_of(matmul(weights, set) - set) / size_of(set);
  };
  const bool is_apart = lab.breaks("apart");
  const Tensor set = is_apart ? alike : bottles;
  const Tensor weights = weights_of(set, is_apart ? kSharp : usual);
  const auto map_of = [](const Text& title, const Tensor& x, const Text& columns) {
    HeatMap map = heat_map_of(title, x);
    map.row_axis = say("bottles");
    map.column_axis = columns;
    return map;
  };
  return make_section(
      "modes.again",
      {named("far", same(say("V and att(V, V, V), |V| = 1"), change(set, weights))),
       beyond(named("apart", same(say("the same, of equal lengths, scores × 100,000"),
                                  change(alike, weights_of(alike, kSharp)))))},
      {HeatMaps{
          .title = say("The bottles, and what they give of themselves"),
          .maps = {map_of("V", set, say("numbers of a vector")),
                   map_of("att(V, V, V)", matmul(weights, set), say("numbers of a vector"))}}});
}

std::vector<Section> run(const LabContext& lab) {
  const Sets sets = make_sets(lab);
  return {function_section(lab, sets), mixing_section(lab, sets), paths_section(lab, sets),
          self_section(lab, sets), again_section(lab, sets)};
}

}  // namespace

Lab modes_lab() { return make_lab("modes", run); }

}  // namespace qkv
