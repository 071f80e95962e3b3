// QKV, QVV, VVV: which sets attention is between, and by how many paths the gradient comes back.
#include "lessons/labs/kit.h"

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

struct Sets {
  Set samples, labels, bottles;  // queries, keys and values of reagents
  Tensor pushed;                 // dO
};

Sets make_sets(const LabContext& lab) {
  const RandomStream random(lab.integer("seed"));
  const auto make = [&](const char* name) {
    return random_normal(random, name, {1, lab.integer("n"), 1, lab.integer("d")});
  };
  return {.samples = make("samples"),
          .labels = make("labels"),
          .bottles = make("bottles"),
          .pushed = make("dO")};
}

Section mixing_section(const LabContext& lab, const Sets& sets) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const auto rows = [&](const Tensor& x) { return reshape(x, {n, d}); };
  const Tensor similarity = products_of_rows(rows(sets.samples), rows(sets.bottles));
  const Tensor shares = softmax(similarity * factor_of(lab));
  const Tensor mixed = attend(lab, {sets.samples, sets.bottles, sets.bottles});
  return make_section("modes.mixing",
                      {above("smallest share", 0, smallest_of(shares)),
                       same("sums of the shares and 1", largest_of(sum(shares, -1) - 1.0)),
                       same("what attention gives, and the mixture",
                            largest_difference(rows(mixed), matmul(shares, rows(sets.bottles)))),
                       equal("share of pairs in which the more similar gives more", 1,
                             share_in_order(shares, similarity))},
                      {heat_map_of("Shares: samples × bottles", shares)});
}

Tensor reversed(const Set& set) {
  std::vector<Tensor> vectors;
  for (int64_t i = set.dim(1) - 1; i >= 0; --i) vectors.push_back(slice(set, 1, i, 1));
  return concat(vectors, 1);
}

Section function_section(const LabContext& lab, const Sets& sets) {
  const int64_t n = lab.integer("n");
  const Set query = slice(sets.samples, 1, 0, 1);
  Section section = make_section("modes.function");
  for (const int64_t m : {int64_t{1}, n}) {
    const Set y = attend(lab, {query, slice(sets.labels, 1, 0, m), slice(sets.bottles, 1, 0, m)});
    section.add(equal(absl::StrCat("values of one query and ", m, m == 1 ? " pair" : " pairs"), 1,
                      y.dim(1)));
  }
  const Set y = attend(lab, {query, sets.labels, sets.bottles});
  const Set in_reverse = attend(lab, {query, reversed(sets.labels), reversed(sets.bottles)});
  const auto outside = [&](const Set& queries) {
    return count_outside(sets.bottles, attend(lab, {queries, sets.bottles, sets.bottles}));
  };
  section.add(
      same("the value, and that of the pairs in reverse", largest_difference(y, in_reverse)));
  section.add(equal("numbers of a set by another outside of those of its values", 0,
                    outside(sets.samples)));
  section.add(equal("numbers of a set by itself outside of its own", 0, outside(sets.bottles)));
  return section;
}

// A mode: which of the three roles the set of values plays.
struct Mode {
  const char* name;
  bool is_query, is_key;

  Roles roles(const Sets& sets, const Set& values) const {
    return {is_query ? values : sets.samples, is_key ? values : sets.labels, values};
  }
};
constexpr Mode kModes[] = {{"QKV", false, false}, {"QVV", false, true}, {"VVV", true, true}};

// dL/dV by each path on which the set of values is read: the others are held constant.
std::vector<Tensor> paths_of(const LabContext& lab, const Sets& sets, const Mode& mode) {
  const Set values = as_parameter(sets.bottles);
  std::vector<Set Roles::*> read_as = {&Roles::value};
  if (mode.is_key) read_as.push_back(&Roles::key);
  if (mode.is_query) read_as.push_back(&Roles::query);
  return each_of(read_as, [&](Set Roles::*role) {
    Roles roles = mode.roles(sets, sets.bottles);
    roles.*role = values;
    return backward(attend(lab, roles), {.cotangent = sets.pushed})[values];
  });
}

Section paths_section(const LabContext& lab, const Sets& sets) {
  Section section = make_section("modes.paths");
  Table table = {.title = "|dL/dV| by path",
                 .header = {"mode", "as value", "as key", "as query", "all"}};
  double expected = 0;
  for (const Mode& mode : kModes) {
    const Set values = as_parameter(sets.bottles);
    const Tensor whole =
        backward(attend(lab, mode.roles(sets, values)), {.cotangent = sets.pushed})[values];
    Tensor added = zeros(whole.shape(), DType::f64);
    double count = 0;
    std::vector<Text> row = {mode.name};
    for (const Tensor& path : paths_of(lab, sets, mode)) {
      added = added + path;
      if (size_of(path) > 0) ++count;
      row.push_back(format_number(size_of(path)));
    }
    row.resize(table.header.size() - 1);
    row.push_back(format_number(size_of(whole)));
    table.rows.push_back(row);
    section.add(equal(absl::StrCat(mode.name, ": paths with a gradient"), ++expected, count));
    section.add(same(absl::StrCat(mode.name, ": the gradient and their sum"),
                     largest_difference(whole, added)));
  }
  section.show(table);
  return section;
}

// How much y changes when another set than V does.
double change_with_others(const LabContext& lab, const Sets& sets, const Mode& mode) {
  Sets other = sets;
  std::swap(other.samples, other.labels);
  return largest_difference(attend(lab, mode.roles(sets, sets.bottles)),
                            attend(lab, mode.roles(other, sets.bottles)));
}

Section self_section(const LabContext& lab, const Sets& sets) {
  Section section = make_section("modes.self");
  for (const Mode& mode : kModes) {
    const double change = change_with_others(lab, sets, mode);
    const std::string what = absl::StrCat(mode.name, ": change with the other sets");
    section.add(mode.is_query && mode.is_key ? equal(what, 0, change) : above(what, 0, change));
  }
  const int64_t d = lab.integer("d");
  const RandomStream random(lab.integer("seed"));
  const auto map = [&](const char* name) { return random_normal(random, name, {d, d}); };
  const Tensor w_q = map("W_q"), w_k = map("W_k"), w_v = map("W_v");
  const Set x = as_parameter(sets.bottles);
  const Roles mapped = {matmul(x, w_q), matmul(x, w_k), matmul(x, w_v)};
  const Gradients gradients =
      backward(attend(lab, mapped),
               {.cotangent = sets.pushed, .keep = {mapped.query, mapped.key, mapped.value}});
  const auto back = [&](const Tensor& role, const Tensor& weight) {
    return products_of_rows(gradients[role], weight);
  };
  section.add(
      same("with maps: dX and dQ W_qᵀ + dK W_kᵀ + dV W_vᵀ",
           largest_difference(gradients[x], back(mapped.query, w_q) + back(mapped.key, w_k) +
                                                back(mapped.value, w_v))));
  return section;
}

std::vector<Section> run(const LabContext& lab) {
  const Sets sets = make_sets(lab);
  return {function_section(lab, sets), mixing_section(lab, sets), paths_section(lab, sets),
          self_section(lab, sets)};
}

}  // namespace

Lab modes_lab() { return make_lab("modes", run); }

}  // namespace qkv
