static float activate(float x) {
//? activation=relu
  return x > 0 ? x : 0;
//.
//? activation=silu
  return x / (1 + expf(-x));
//.
//? activation=gelu
  return 0.5f * x * (1 + erff(x * 0.70710678f));
//.
//? activation=gelu_tanh
  return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
//.
}

// Two linear layers with an activation between them, for each position by itself.
static void feed_forward(int n, const struct block *b, float *x, float *y) {  // [n][C] -> [n][C]
  static float hidden[T * F];
  linear(n, C, F, b->feed_forward.up.weight[0], BIAS(b->feed_forward.up.bias), x, hidden);
  for (int i = 0; i < n * F; ++i) hidden[i] = activate(hidden[i]);
  linear(n, F, C, b->feed_forward.down.weight[0], BIAS(b->feed_forward.down.bias), hidden, y);
}

// ---- the model --------------------------------------------------------------------------------

// A layer and what passes by it, the residual stream.
static void block(int n, const struct block *b, float *x) {  // [n][C], changed in place
  static float y[T * C];
//? norm=pre
  static float input[T * C];
  normalize(n, b->@MIXER@_norm.weight, NORM_BIAS(b->@MIXER@_norm.bias), x, input);
  mix(n, b, input, y);
  for (int i = 0; i < n * C; ++i) x[i] += y[i];
  normalize(n, b->feed_forward_norm.weight, NORM_BIAS(b->feed_forward_norm.bias), x, input);
  feed_forward(n, b, input, y);
  for (int i = 0; i < n * C; ++i) x[i] += y[i];
//.
//? !norm=pre
  mix(n, b, x, y);
  for (int i = 0; i < n * C; ++i) x[i] += y[i];
//? norm=post
  normalize(n, b->@MIXER@_norm.weight, NORM_BIAS(b->@MIXER@_norm.bias), x, x);
//.
  feed_forward(n, b, x, y);
  for (int i = 0; i < n * C; ++i) x[i] += y[i];
//? norm=post
  normalize(n, b->feed_forward_norm.weight, NORM_BIAS(b->feed_forward_norm.bias), x, x);
//.
//.
}

// What the model says after n tokens.   tokens [n] -> out [OUTPUTS]
static void logits(int n, const int *tokens, float *out) {
  static float x[T][C];
//? class_token
  memcpy(x[0], model.class_token, sizeof x[0]);  // it comes first, and will hold the class
  for (int p = 0; p < n; ++p) {
    memcpy(x[p + 1], model.token_embedding.weight[tokens[p]], sizeof x[p]);
  }
  n += 1;
//.
//? !class_token
  for (int p = 0; p < n; ++p) {
    memcpy(x[p], model.token_embedding.weight[tokens[p]], sizeof x[p]);
  }
//.
//? position=learned
  for (int p = 0; p < n; ++p) {
    for (int c = 0; c < C; ++c) x[p][c] += model.position_embedding.weight[p][c];
  }
//.
//? position=sinusoidal
  for (int p = 0; p < n; ++p) {
    for (int c = 0; c < C; ++c) {
      const double angle = p / pow(10000, (double)(c / 2 * 2) / C);
      x[p][c] += (float)((c % 2 == 0 ? sin(angle) : cos(angle)) * @SINUSOIDAL_SCALE@);
    }
  }
//.
  for (int i = 0; i < L; ++i) block(n, &model.blocks[i], x[0]);
//? norm=pre
  normalize(n, model.final_norm.weight, NORM_BIAS(model.final_norm.bias), x[0], x[0]);
//.
//? kind=decoder
  // Of the last position, a product with the vector of each token.
  linear(1, C, OUTPUTS, model.@HEAD@.weight[0], NULL, x[n - 1], out);
//.
//? pool=mean
  for (int p = 1; p < n; ++p) {
    for (int c = 0; c < C; ++c) x[0][c] += x[p][c];
  }
  for (int c = 0; c < C; ++c) x[0][c] /= (float)n;
//.
//? kind=classifier
  linear(1, C, OUTPUTS, model.head.weight[0], BIAS(model.head.bias), x[0], out);
//.
}

