#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "framework/core/float128.h"

namespace qkv::kernels {

// How many threads kernels use, with the one that calls them; at most 64. 0: one for each core this
// process may run on.
//
// The threads are started by the first kernel that shares its work, with every signal blocked: a
// handler would ruin the numbers of a product that is being made, because oneDNN moves the stack
// pointer into a matrix meanwhile. A program that handles signals keeps them from the threads that
// call kernels, too: block them there (pthread_sigmask) and read them on another thread (sigwait,
// signalfd), or give each such thread a stack for handlers (sigaltstack, SA_ONSTACK).
void set_num_threads(int threads);
int num_threads();

// Starts the threads now. Where the system does not give as many, kernels make do with fewer, which
// changes no bit of what they compute; set_num_threads has it asked again. To be called where no
// kernel runs.
struct StartedThreads {
  int count = 1;
  std::string why_fewer;  // than num_threads(); "" where there are as many
};
StartedThreads start_threads();

// Elements worth a piece, where a kernel does little with each.
inline constexpr int64_t kGrain = 16384;

// The same for one type: software computes with a Float128, which takes 100 times as long.
template <class T>
inline constexpr int64_t kGrainOf = std::is_same_v<T, Float128> ? kGrain / 128 : kGrain;

// How many rows of `elements_each` elements are worth a piece.
constexpr int64_t piece_rows(int64_t elements_each, int64_t elements = kGrain) {
  const int64_t rows = elements_each > 0 ? elements / elements_each : elements;
  return rows > 0 ? rows : 1;
}

// Calls f(begin, end), on several threads, for pieces (chunks) that together cover 0 … count - 1.
// They depend on `count` and `grain` (the least worth a piece) alone and never on the number of
// threads, so that sums taken piece by piece have the same bits for any number of threads. A call
// from within a piece runs on that thread alone. An exception from f reaches the caller, after the
// other pieces.
void parallel_for(int64_t count, int64_t grain,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> f);

// Enough to share evenly among the cores of a desktop, few enough to cost nothing. More threads
// would find nothing to do.
inline constexpr int64_t kMostPieces = 64;

// The same, telling each piece its number in 0 … num_pieces(count, grain) - 1.
int64_t num_pieces(int64_t count, int64_t grain);
void parallel_pieces(int64_t count, int64_t grain,
                     absl::FunctionRef<void(int64_t piece, int64_t begin, int64_t end)> f);

// The sum of f(begin, end) over such pieces, added in order.
template <class T>
T parallel_sum(int64_t count, int64_t grain, absl::FunctionRef<T(int64_t begin, int64_t end)> f) {
  std::array<T, kMostPieces> partial{};
  parallel_pieces(count, grain, [&](int64_t piece, int64_t begin, int64_t end) {
    partial[static_cast<size_t>(piece)] = f(begin, end);
  });
  T sum = 0;
  for (const T p : partial) sum += p;
  return sum;
}

}  // namespace qkv::kernels
