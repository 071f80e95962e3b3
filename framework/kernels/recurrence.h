#pragma once

#include "framework/core/array.h"

// States that follow one from the other, for every sequence by itself. f32 or f64.
namespace qkv::kernels {

struct ScanArguments {
  bool reverse = false;            // from the last position to the first
  const Array* padding = nullptr;  // boolean [B, T], true where the state stays what it was
};

// With h the state that a position starts from, `first` at the beginning:
//   states[b, t] = tanh(x[b, t] + W h)
//   x, states [B, T, H], weight W [H, H], first [B, H]
void rnn(const Array& x, const Array& weight, const Array& first, const ScanArguments& arguments,
         Array& states);
// Walks back with the gradient of the states; that of x is also that of W h.
//   dx = (1 - states²) (dstates + Wᵀ dx of the position after);  dfirst = Wᵀ dx of the first
void rnn_backward(const Array& weight, const Array& states, const Array& dstates,
                  const ScanArguments& arguments, Array& dx, Array& dfirst);

// With [h, c] the state that a position starts from:
//   gates [i, f, g, o] = sigmoid, sigmoid, tanh, sigmoid of x[b, t] + W h
//   states[b, t] = [o tanh(c'), c'],  c' = f c + i g
//   x, gates [B, T, 4 H], weight W [4 H, H], first [B, 2 H], states [B, T, 2 H]
// Gates are 0 where there is padding.
void lstm(const Array& x, const Array& weight, const Array& first, const ScanArguments& arguments,
          Array& states, Array& gates);
void lstm_backward(const Array& weight, const Array& first, const Array& states, const Array& gates,
                   const Array& dstates, const ScanArguments& arguments, Array& dx, Array& dfirst);

}  // namespace qkv::kernels
