#pragma once

#include <functional>
#include <string>

#include "framework/core/array.h"

namespace qkv::kernels {

// c = op(a) op(b) + bias, where op transposes the last two axes when its flag is set.
//   a [N, M, K] (or [N, K, M] with transpose_a), b [N, K, L] (or [N, L, K] with transpose_b),
//   c [N, M, L]; a or b may have N = 1 and is then used for every product; bias [L] or nullptr.
// f32 and bf16 on oneDNN; f64, and products that oneDNN gets wrong (dnnl.h), on plain loops.
// Products of bf16 operands are summed in f32; c is f32, or bf16 to round them, the bias f32.
// Otherwise all have one type. An empty K gives zeros (plus the bias).
void matmul(const Array& a, const Array& b, bool transpose_a, bool transpose_b, const Array* bias,
            Array& c);

// Calls of it make such a product as fast as the library of products can: whole, on threads of its
// own, with a b that several rows share in the layout that it likes best. For measuring only: the
// bits depend on the number of threads. The arrays outlive it.
std::function<void()> library_product(const Array& a, const Array& b, bool transpose_a,
                                      bool transpose_b, const Array* bias, Array& c);

// Sums the elements of the product c that are not finite again, without the terms with a factor 0,
// whatever the other factor is. f32, f64 or f128.
void leave_out_zeros(const Array& a, const Array& b, bool transpose_a, bool transpose_b, Array& c);

// Whether this processor multiplies bf16 matrices (AVX-512 bf16, AMX), and oneDNN may
// (ONEDNN_MAX_CPU_ISA). One that does not multiplies the same numbers as f32: no faster than f32,
// and right all the same.
bool bf16_products_are_fast();

// How many oneDNN primitives were created so far; steady work creates none.
int64_t primitives_created();

// The library that multiplies matrices, as it was loaded: "oneDNN 2.6.3".
std::string product_library();
// The instructions of this processor that it uses, as its own number: "instructions 0xfff".
std::string product_instructions();
// The widest vector instructions that the kernels are compiled for: "AVX-512".
const char* instructions();

}  // namespace qkv::kernels
