#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace qkv::kernels {

// How many threads kernels use. 0: one for each core this process may run on.
void set_num_threads(int threads);
int num_threads();

// Calls f(begin, end), on several threads, for pieces that together cover 0 … count - 1. The
// pieces depend on `count` and `grain` (the least worth a piece) alone and never on the number of
// threads, so that sums taken piece by piece have the same bits for any number of threads. A call
// from within a piece runs on that thread alone. An exception from f reaches the caller, after the
// other pieces.
void parallel_for(int64_t count, int64_t grain,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> f);

// The same, telling each piece its number in 0 … num_pieces(count, grain) - 1.
int64_t num_pieces(int64_t count, int64_t grain);
void parallel_pieces(int64_t count, int64_t grain,
                     absl::FunctionRef<void(int64_t piece, int64_t begin, int64_t end)> f);

// The sum of f(begin, end) over such pieces, added in order.
double parallel_sum(int64_t count, int64_t grain,
                    absl::FunctionRef<double(int64_t begin, int64_t end)> f);

}  // namespace qkv::kernels
