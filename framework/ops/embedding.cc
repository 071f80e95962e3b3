// Rows of a table; the two are each other's backward.
//   embedding:       y[i, :] = table[index[i], :]          table: [V, C], index: [N], y: [N, C]
//                    dtable = scatter of the rows dy
//   scatter of rows: table[v, :] = sum of y[i, :] over the i with index[i] = v
//                    dy = embedding of dtable

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

Tensor rows_of(const Tensor& table, const Array& index);
Tensor scatter_of_rows(const Tensor& y, const Array& index, int64_t rows);

class Embedding final : public Superposition, public HasAttributes, public HasKept {
 public:
  explicit Embedding(const Array& index) : index_(index) {}
  std::string_view name() const override { return "embedding"; }
  std::vector<Attribute> attributes() const override { return {{"index", index_}}; }

  Array forward(const Inputs& x) override {
    Array y({index_.size(), x[0].shape()[1]}, x[0].dtype());
    kernels::gather_rows(x[0], index_, y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {scatter_of_rows(dy, index_, saved.shape(0)[0])};
  }

  std::vector<Kept> kept() override { return {{"index", &index_}}; }

 private:
  Array index_;
};

class ScatterOfRows final : public Superposition, public HasAttributes, public HasKept {
 public:
  ScatterOfRows(const Array& index, int64_t rows) : index_(index), rows_(rows) {}
  std::string_view name() const override { return "embedding_backward"; }
  std::vector<Attribute> attributes() const override { return {{"index", index_}}; }

  Array forward(const Inputs& x) override {
    Array table({rows_, x[0].shape()[1]}, x[0].dtype());
    kernels::scatter_add_rows(x[0], index_, table);
    return table;
  }

  std::vector<Tensor> backward(const Saved&, const Tensor& dtable) const override {
    return {rows_of(dtable, index_)};
  }

  std::vector<Kept> kept() override { return {{"index", &index_}}; }

 private:
  Array index_;
  int64_t rows_;
};

Tensor rows_of(const Tensor& table, const Array& index) { return apply<Embedding>({table}, index); }

Tensor scatter_of_rows(const Tensor& y, const Array& index, int64_t rows) {
  return apply<ScatterOfRows>({y}, index, rows);
}

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& index) {
  check_floating("embedding", {"table", table});
  if (table.rank() != 2) {
    fail(absl::StrCat("embedding: table must be [V, C]: ",
                      describe({{"table", table}, {"index", index}})));
  }
  check_index("embedding", {"index", index}, table.dim(0));
  const Shape shape = index.shape().inserted(-1, table.dim(1), "embedding");
  return reshape(rows_of(table, index.array().reshaped({index.size()})), shape.dims());
}

OpExamples embedding_examples() {
  const auto f = [](std::span<const Tensor> x) { return embedding(x[0], x[1]); };
  return {
      .op = "embedding",
      .examples = {{"a batch", {{Fill::kNormal, {5, 3}}, {Fill::kIndices, {2, 4}, 5}}, f},
                   {"one row, again and again",
                    {{Fill::kNormal, {1, 3}}, {Fill::kIndices, {4}, 1}},
                    f},
                   {"a scalar index", {{Fill::kNormal, {4, 2}}, {Fill::kIndices, {}, 4}}, f}},
      .errors = {{"an index beyond the table",
                  [] {
                    embedding(zeros({5, 3}), full({2, 2}, 5, DType::i64));
                  },
                  "embedding: index i64[2, 2] holds 5 at element 0; it must be from 0 to 4"},
                 {"an index of numbers",
                  [] {
                    embedding(zeros({5, 3}), zeros({2}));
                  },
                  "embedding: needs i64: index f32[2]"},
                 {"a table that is not a matrix",
                  [] { embedding(zeros({5}), zeros({2}, DType::i64)); },
                  "embedding: table must be [V, C]: table f32[5], index i64[2]"}},
  };
}

}  // namespace qkv
