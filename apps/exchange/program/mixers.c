//? looks

// Whether the token at position p sees the one at j.
static int sees(int p, int j) {
//? causal
  if (j > p) return 0;  // the future
//.
//? window
  if (abs(p - j) > WINDOW) return 0;
//.
//? sees_all
  (void)p, (void)j;
//.
  return 1;
}

// The mean of the rows that position p sees, weighted by softmax(scores).
//   scores [n], rows [n] of `width` numbers, `stride` apart -> mean [width]
static void weighted_mean(int p, int n, float *scores, const float *rows, int width, int stride,
                          float *mean) {
  float largest = -INFINITY, sum = 0;
  for (int j = 0; j < n; ++j) {
    if (sees(p, j) && scores[j] > largest) largest = scores[j];
  }
  for (int j = 0; j < n; ++j) {
    scores[j] = sees(p, j) ? expf(scores[j] - largest) : 0;
    sum += scores[j];
  }
  for (int i = 0; i < width; ++i) {
    mean[i] = 0;
    for (int j = 0; j < n; ++j) mean[i] += scores[j] / sum * rows[j * stride + i];
  }
}
//.
//? mixer=attention
//? position=rotary

// Turns the pairs (0, 1), (2, 3) ... of every head by p / 10000^(2i / D), p the position.
static void turn(int n, int heads, float *x) {  // [n][heads][D]
  for (int p = 0; p < n; ++p) {
    for (int h = 0; h < heads; ++h, x += D) {
      for (int i = 0; i < D; i += 2) {
        const double angle = p / pow(10000, (double)i / D);
        const float c = (float)cos(angle), s = (float)sin(angle), even = x[i], odd = x[i + 1];
        x[i] = even * c - odd * s;
        x[i + 1] = even * s + odd * c;
      }
    }
  }
}
//.

// Attention(Q, K, V) = softmax(Q K^T * SCALE) V in each of H heads, which are then side by side.
// There are K heads of keys and values, each of which serves H / K heads of queries.
static void mix(int n, const struct block *b, float *x, float *y) {  // [n][C] -> [n][C]
  static float queries[T][H * D], keys[T][K * D], values[T][K * D], heads[T][H * D];
//? projections=separate projections=shared_key_value
  project(n, H, (const float *)b->attention.query.weight, BIAS(b->attention.query.bias), x, queries[0]);
//.
//? projections=separate
  project(n, K, (const float *)b->attention.key.weight, BIAS(b->attention.key.bias), x, keys[0]);
//.
//? !projections=none
  project(n, K, (const float *)b->attention.value.weight, BIAS(b->attention.value.bias), x, values[0]);
//.
//? projections=none
//? !position=relative
  (void)b;  // which has no weights for it
//.
  memcpy(values, x, sizeof(float) * (size_t)(n * C));  // softmax(X X^T) X has no maps
//.
//? !projections=separate
  memcpy(keys, values, sizeof keys);  // which are one
//.
//? projections=shared projections=none
  memcpy(queries, values, sizeof queries);
//.
//? position=rotary
  turn(n, H, queries[0]);
  turn(n, K, keys[0]);
//.
//? position=alibi
  static const float slope[H] = {@SLOPES@};
//.
  for (int h = 0; h < H; ++h) {
    const int q = h * D, k = h / (H / K) * D;  // where the head begins in its row
    for (int p = 0; p < n; ++p) {
      float scores[T];  // of position p with every j
      for (int j = 0; j < n; ++j) {
        float product = 0;
        for (int i = 0; i < D; ++i) product += queries[p][q + i] * keys[j][k + i];
        scores[j] = product * SCALE;
//? position=alibi
        scores[j] -= slope[h] * (float)abs(p - j);  // less for what is far away
//.
//? position=relative
        int row = p - j + ZERO;  // of the table of distances; the last serves those beyond
        if (row < 0) row = 0;
        if (row > DISTANCES - 1) row = DISTANCES - 1;
        scores[j] += b->attention.position.distance_bias[row][h];
//.
      }
      weighted_mean(p, n, scores, &values[0][k], D, K * D, &heads[p][q]);
    }
  }
//? projections=none
  memcpy(y, heads, sizeof(float) * (size_t)(n * C));
//.
//? !projections=none
  linear(n, H * D, C, b->attention.output.weight[0], BIAS(b->attention.output.bias), heads[0], y);
//.
}
//.
//? mixer=learned

// Weights that are learned for each pair of positions, whatever the tokens are.
static void mix(int n, const struct block *b, float *x, float *y) {  // [n][C] -> [n][C]
  for (int p = 0; p < n; ++p) {
    float scores[T];
    memcpy(scores, b->learned.scores[p], sizeof(float) * (size_t)n);
    weighted_mean(p, n, scores, x, C, C, y + p * C);
  }
}
//.
//? mixer=uniform

// The mean of what a position sees.
static void mix(int n, const struct block *b, float *x, float *y) {  // [n][C] -> [n][C]
  (void)b;  // which has no weights for it
  for (int p = 0; p < n; ++p) {
    float scores[T] = {0};
    weighted_mean(p, n, scores, x, C, C, y + p * C);
  }
}
//.
//? mixer=convolution

// A sum of KERNEL neighbours, of which BEFORE stand before the position.
static void mix(int n, const struct block *b, float *x, float *y) {  // [n][C] -> [n][C]
  for (int p = 0; p < n; ++p) {
    for (int o = 0; o < C; ++o) {
      float sum = @BIAS_OF_CONVOLUTION@;
      for (int t = 0; t < KERNEL; ++t) {
        const int j = p + t - BEFORE;
        if (j < 0 || j >= n) continue;
//? depthwise
        sum += b->convolution.weight[o][0][t] * x[j * C + o];  // of each feature by itself
//.
//? !depthwise
        for (int i = 0; i < C; ++i) sum += b->convolution.weight[o][i][t] * x[j * C + i];
//.
      }
      y[p * C + o] = sum;
    }
  }
}
//.
//? mixer=recurrence
//? cell=lstm

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }
//.

// Passes a state h of S numbers from position to position, in one direction.
//   x [n][C] -> states [n][DIRECTIONS * S], of which this direction has S
static void scan(int n, int backward, const float *input, const float *bias, const float *state,
                 const float *x, float *states) {
  static float sums[T * R];
  float h[S] = {0}, a[R];
//? cell=lstm
  float c[S] = {0};  // the memory of the cell
//.
  linear(n, C, R, input, bias, x, sums);  // for all positions at once
  for (int t = 0; t < n; ++t) {
    const int p = backward ? n - 1 - t : t;
    linear(1, S, R, state, sums + p * R, h, a);  // a = sums + W h
    for (int i = 0; i < S; ++i) {
//? cell=lstm
      c[i] = sigmoid(a[S + i]) * c[i] + sigmoid(a[i]) * tanhf(a[2 * S + i]);
      h[i] = sigmoid(a[3 * S + i]) * tanhf(c[i]);
//.
//? !cell=lstm
      h[i] = tanhf(a[i]);
//.
    }
    memcpy(states + p * DIRECTIONS * S, h, sizeof h);
  }
}

static void mix(int n, const struct block *b, float *x, float *y) {  // [n][C] -> [n][C]
  static float states[T * DIRECTIONS * S];
  scan(n, 0, b->recurrence.forward.input.weight[0], BIAS(b->recurrence.forward.input.bias),
       b->recurrence.forward.state.weight[0], x, states);
//? !causal
  scan(n, 1, b->recurrence.backward.input.weight[0], BIAS(b->recurrence.backward.input.bias),
       b->recurrence.backward.state.weight[0], x, states + S);
//.
  linear(n, DIRECTIONS * S, C, b->recurrence.output.weight[0], BIAS(b->recurrence.output.bias),
         states, y);
}
//.

