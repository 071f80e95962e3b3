// Written by qkv export --c: a trained transformer, which answers a prompt, in one file of C99.
//
//     cc -O2 -std=c99 @FILE@ -o model -lm
//     ./model "PROMPT"       writes what follows the prompt; always the most likely token
//     ./model "PROMPT" N     writes at most N tokens; with 0 it shows the logits instead
//
// The weights are in @WEIGHTS@, which is searched in the current folder; QKV_WEIGHTS in the
// environment names another place. Read the program from the end: main, logits, block, and the
// layers of a block. A comment at the end of a line is a shape.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//= sizes

//= vocabulary

// The weights, in the order of their file, under the names that they have in a checkpoint.
// A weight of a linear layer is [out][in].
//= weights

// ---- the layers -------------------------------------------------------------------------------

// y = W x + b for each of n rows; without a bias it is NULL.   x [n][in], y [n][out]
static void linear(int n, int in, int out, const float *weight, const float *bias, const float *x,
                   float *y) {
  for (int row = 0; row < n; ++row) {
    for (int o = 0; o < out; ++o) {
      float sum = bias ? bias[o] : 0;
      for (int i = 0; i < in; ++i) sum += weight[o * in + i] * x[row * in + i];
      y[row * out + o] = sum;
    }
  }
}
//? mixer=attention
//? !projections=none

// The map of x to `heads` heads of queries, keys or values.   x [n][C], y [n][heads * D]
static void project(int n, int heads, const float *weight, const float *bias, const float *x,
                    float *y) {
//? heads=narrow
  for (int i = 0; i < n * heads; ++i) {  // a head has a map of its own for its part of x
    const int h = i % heads;
    linear(1, D, D, weight + h * D * D, bias ? bias + h * D : NULL, x + i * D, y + i * D);
  }
//.
//? !heads=narrow
  linear(n, C, heads * D, weight, bias, x, y);
//.
}
//.
//.
//? !norm=none
//? norm_kind=layer

// (x - mean) / sqrt(variance + @EPSILON@) * weight + bias, over each row.   x [n][C], y [n][C]
static void normalize(int n, const float *weight, const float *bias, const float *x, float *y) {
  for (int row = 0; row < n; ++row, x += C, y += C) {
    float mean = 0, variance = 0;
    for (int c = 0; c < C; ++c) mean += x[c] / C;
    for (int c = 0; c < C; ++c) variance += (x[c] - mean) * (x[c] - mean) / C;
    const float scale = 1 / sqrtf(variance + @EPSILON@);
    for (int c = 0; c < C; ++c) {
      y[c] = (x[c] - mean) * scale * weight[c] + (bias ? bias[c] : 0);
    }
  }
}
//.
//? norm_kind=rms

// x / sqrt(mean(x^2) + @EPSILON@) * weight, over each row.   x [n][C], y [n][C]
static void normalize(int n, const float *weight, const float *bias, const float *x, float *y) {
  (void)bias;  // there is none
  for (int row = 0; row < n; ++row, x += C, y += C) {
    float squares = 0;
    for (int c = 0; c < C; ++c) squares += x[c] * x[c] / C;
    const float scale = 1 / sqrtf(squares + @EPSILON@);
    for (int c = 0; c < C; ++c) y[c] = x[c] * scale * weight[c];
  }
}
//.
//.
