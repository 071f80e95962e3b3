#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// Indices are i64. Every function but the first needs them in range: the ops check and report.

// The position of the first element of `index` outside 0 … bound - 1; -1 when all are inside.
int64_t out_of_range(const Array& index, int64_t bound);

// y[i, :] = table[index[i], :]        table [V, C], index [N], y [N, C]
void gather_rows(const Array& table, const Array& index, Array& y);
// dtable[index[i], :] += dy[i, :], in the order of i; dtable is set to zero first.
void scatter_add_rows(const Array& dy, const Array& index, Array& dtable);

// y[o, i, j] = x[o, index[o, i, j], j]    x [outer, n, inner], index and y [outer, m, inner]
void gather(const Array& x, const Array& index, int64_t outer, int64_t n, int64_t m, int64_t inner,
            Array& y);
// dx[o, index[o, i, j], j] += dy[o, i, j]; dx is set to zero first.
void scatter_add(const Array& dy, const Array& index, int64_t outer, int64_t n, int64_t m,
                 int64_t inner, Array& dx);

// y[i, c] = 1 where c = index[i], else 0       index [N], y [N, classes]
void one_hot(const Array& index, int64_t classes, Array& y);

}  // namespace qkv::kernels
