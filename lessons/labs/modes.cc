// QKV, QVV, VVV: which sets attention is between, and by how many paths the gradient comes back.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/ops/ops.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/report/statistics.h"

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
    return random_normal(random.derive(name), {1, lab.integer("n"), 1, lab.integer("d")});
  };
  return {.samples = make("samples"),
          .labels = make("labels"),
          .bottles = make("bottles"),
          .pushed = make("dO")};
}

Section mixing_section(const LabContext& lab, const Sets& sets) {
  const int64_t n = lab.integer("n"), d = lab.integer("d");
  const auto rows = [&](const Tensor& x) { return reshape(x, {n, d}); };
  const Tensor similarity = matmul(rows(sets.samples), rows(sets.bottles), {.transpose_b = true});
  const Tensor shares = softmax(similarity * factor_of(lab));
  const Tensor mixed = attend(lab, {sets.samples, sets.bottles, sets.bottles});
  const std::vector<double> share = shares.to_vector(), similar = similarity.to_vector();
  int64_t pairs = 0, agreeing = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t k = 0; k < n; ++k) {
        const auto a = static_cast<size_t>(i * n + j), b = static_cast<size_t>(i * n + k);
        if (similar[a] <= similar[b]) continue;
        ++pairs;
        agreeing += share[a] > share[b] ? 1 : 0;
      }
    }
  }
  const double smallest = *std::ranges::min_element(share);
  return {
      .claims = {{"D6",
                  "混合试剂要用到所有单纯试剂，而且要求某单纯试剂在最终混合试剂中所占的比例由其"
                  "标签品名与清单品名之间的相似度决定——相似度越高，占的比例也越高。",
                  "A mixture takes of all the pure reagents, and of each a share that its "
                  "label's similarity to the list decides: the more similar, the larger."}},
      .formula = "y = Σ_j p_j v_j,   p = softmax(q · k_j)",
      .prediction =
          "All bottles are used; of two the more similar gives more; the shares fill one glass.",
      .findings = {found("smallest share", "above 0", format_number(smallest), smallest > 0),
                   same("sums of the shares and 1", largest_of(sum(shares, -1) - 1.0)),
                   same("what attention gives, and the mixture",
                        largest_difference(rows(mixed), matmul(shares, rows(sets.bottles)))),
                   exact("share of pairs in which the more similar gives more", 1,
                         static_cast<double>(agreeing) / static_cast<double>(pairs), 0)},
      .figures = {heat_map_of("Shares: samples × bottles", shares)}};
}

Tensor reversed(const Set& set) {
  std::vector<Tensor> vectors;
  for (int64_t i = set.dim(1) - 1; i >= 0; --i) vectors.push_back(slice(set, 1, i, 1));
  return concat(vectors, 1);
}

// Numbers of y that lie outside of those of the values, place by place.
double count_outside(const Set& values, const Tensor& y) {
  const Tensor highest = max(values, 1, true), lowest = neg(max(neg(values), 1, true));
  return count_not_zero(relu(y - highest - 1e-12) + relu(lowest - y - 1e-12));
}

Section function_section(const LabContext& lab, const Sets& sets) {
  const int64_t n = lab.integer("n");
  const Set query = slice(sets.samples, 1, 0, 1);
  Section section = {
      .claims =
          {{"D6",
            "该函数将一个查询(query,简写为 )和一个具有 个元素的键-值(key-value,分别简写为 和 "
            ")集合(这个键-值集合也称之为“source”,即“源”)映射为一个值(value)。",
            "The function maps a query, and a set of pairs of a key and a value (the "
            "\"source\"), to a value."},
           {"D6",
            "模式代表着如何用一个特征集合表示另一个集合,而 模式代表了如何用一个特征集合表示自己"
            "。",
            "The one mode (QVV) is how one set of features expresses another, the other (VVV) "
            "how a set expresses itself."}},
      .formula = "att(q, {(k_1, v_1) … (k_m, v_m)}) = Σ_j p_j v_j",
      .prediction =
          "One query gives one value, of however many pairs. They are a set: in another order they "
          "give the same. And what is given is made of the values alone, whatever the query.",
      .findings = {},
      .figures = {}};
  for (const int64_t m : {int64_t{1}, n}) {
    const Tensor y =
        attend(lab, {query, slice(sets.labels, 1, 0, m), slice(sets.bottles, 1, 0, m)});
    section.findings.push_back(
        exact(absl::StrCat("values of one query and ", m, m == 1 ? " pair" : " pairs"), 1,
              static_cast<double>(y.dim(1)), 0));
  }
  const Tensor y = attend(lab, {query, sets.labels, sets.bottles});
  section.findings.push_back(same(
      "the value, and that of the pairs in reverse",
      largest_difference(y, attend(lab, {query, reversed(sets.labels), reversed(sets.bottles)}))));
  section.findings.push_back(exact(
      "numbers of a set by another outside of those of its values", 0,
      count_outside(sets.bottles, attend(lab, {sets.samples, sets.bottles, sets.bottles})), 0));
  section.findings.push_back(exact(
      "numbers of a set by itself outside of its own", 0,
      count_outside(sets.bottles, attend(lab, {sets.bottles, sets.bottles, sets.bottles})), 0));
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
  std::vector<Roles> alone = {mode.roles(sets, sets.bottles)};
  alone[0].value = values;
  if (mode.is_key) {
    alone.push_back(mode.roles(sets, sets.bottles));
    alone.back().key = values;
  }
  if (mode.is_query) {
    alone.push_back(mode.roles(sets, sets.bottles));
    alone.back().query = values;
  }
  std::vector<Tensor> paths;
  for (const Roles& roles : alone) {
    paths.push_back(backward(attend(lab, roles), {.cotangent = sets.pushed})[values]);
  }
  return paths;
}

Section paths_section(const LabContext& lab, const Sets& sets) {
  Section section = {
      .claims =
          {{"D6", "三种模式",
            "Three modes: three sets (QKV), keys that are the values (QVV), one "
            "set for all (VVV)."},
           {"C12",
            "自注意力(Self-Attention)机制也称为内部注意力(Intra-Attention)，是一种特殊的注意力机制",
            "Self-attention, also called intra-attention, is a special attention."},
           {"B64", "Self-Attention 的关键点再于， K≈≈V≈≈Q 来源于同一个矩阵X，这三者是同源的",
            "The point of self-attention is that K, V and Q come from one matrix X."}},
      .formula = "dL/dV = Pᵀ dO  (+ dSᵀ Q, where K = V)  (+ dS K, where Q = V)",
      .prediction =
          "The gradient comes back to the set of values by one path, by two, by three, and is "
          "their sum.",
      .findings = {},
      .figures = {}};
  Table table = {.title = "|dL/dV| by path",
                 .header = {"mode", "as value", "as key", "as query", "all"},
                 .rows = {}};
  double expected = 0;
  for (const Mode& mode : kModes) {
    const Set values = as_parameter(sets.bottles);
    const Tensor whole =
        backward(attend(lab, mode.roles(sets, values)), {.cotangent = sets.pushed})[values];
    Tensor added = zeros(whole.shape(), DType::f64);
    double count = 0;
    std::vector<std::string> row = {mode.name};
    for (const Tensor& path : paths_of(lab, sets, mode)) {
      added = added + path;
      if (size_of(path) > 0) ++count;
      row.push_back(format_number(size_of(path)));
    }
    row.resize(table.header.size() - 1);
    row.push_back(format_number(size_of(whole)));
    table.rows.push_back(row);
    section.findings.push_back(
        exact(absl::StrCat(mode.name, ": paths with a gradient"), ++expected, count, 0));
    section.findings.push_back(same(absl::StrCat(mode.name, ": the gradient and their sum"),
                                    largest_difference(whole, added)));
  }
  section.figures.push_back(table);
  return section;
}

// Whether y changes when another set than V does.
double reads_others(const LabContext& lab, const Sets& sets, const Mode& mode) {
  Sets other = sets;
  other.samples = sets.labels;
  other.labels = sets.samples;
  return largest_difference(attend(lab, mode.roles(sets, sets.bottles)),
                            attend(lab, mode.roles(other, sets.bottles)));
}

Section self_section(const LabContext& lab, const Sets& sets) {
  Section section = {
      .claims = {{"D6", "“自嗨”模式才算self-attention!",
                  "Only the mode in which a set amuses itself is self-attention."},
                 {"B68",
                  "当然这里并不是 K=V=Q=X，而是用一些参数矩阵和X做运算得到Q、K、V，但是只是做了一些"
                  "线性变换而已",
                  "It is not that K = V = Q = X: matrices of parameters make Q, K and V from X, "
                  "but these are linear maps and no more."}},
      .formula = "V = att(V, {(V, V)})",
      .prediction = "Only in the mode VVV does the result depend on one set alone.",
      .findings = {},
      .figures = {},
      .correction =
          "VVV says that the sources are one set, not that the three are equal: a transformer "
          "still maps it three times. The paths stay three."};
  for (const Mode& mode : kModes) {
    const double change = reads_others(lab, sets, mode);
    const bool is_self = mode.is_query && mode.is_key;
    section.findings.push_back(
        is_self ? exact(absl::StrCat(mode.name, ": change with the other sets"), 0, change, 0)
                : found(absl::StrCat(mode.name, ": change with the other sets"), "above 0",
                        format_number(change), change > 0));
  }
  const int64_t d = lab.integer("d");
  const RandomStream random(lab.integer("seed"));
  const auto map = [&](const char* name) { return random_normal(random.derive(name), {d, d}); };
  const Tensor w_q = map("W_q"), w_k = map("W_k"), w_v = map("W_v");
  const Set x = as_parameter(sets.bottles);
  const Roles mapped = {matmul(x, w_q), matmul(x, w_k), matmul(x, w_v)};
  const Gradients gradients =
      backward(attend(lab, mapped),
               {.cotangent = sets.pushed, .keep = {mapped.query, mapped.key, mapped.value}});
  const auto back = [&](const Tensor& role, const Tensor& weight) {
    return matmul(gradients[role], weight, {.transpose_b = true});
  };
  section.findings.push_back(
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

Lab modes_lab() {
  return {.name = "modes",
          .question = "QKV, QVV, VVV: by how many paths does the gradient come back?",
          .control = "all scores are 0: every value gets the same share",
          .duration = "1 s",
          .options = {{"n", "5", "vectors of a set", 2, 64},
                      {"d", "4", "numbers of a vector", 1, 64},
                      seed_option("of the sets")},
          .run = run};
}

}  // namespace qkv
