// A trained decoder answers a prompt: all of it in one file of C99, without a library.
//
//     cc -O2 -std=c99 FILE -o model -lm
//     ./model "PROMPT"       writes what follows the prompt; always the most likely token
//     ./model "PROMPT" N     writes at most N tokens; with 0 it shows the logits instead
//
// The file WEIGHTS, which is searched in the current folder, says all about the model; QKV_WEIGHTS
// in the environment names another file. The program is the same for every model. Read it from the
// end: main, logits, block, and the layers of a block. A comment at the end of a line is a shape.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char* why, const char* what) {
  fprintf(stderr, "error: %s%s\n", why, what);
  exit(1);
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (!memory) fail("out of memory", "");
  return memory;
}

// ---- the file of the model --------------------------------------------------------------------
//
//   header     lines "name value", which end with the byte 0
//   texts      of the tokens, of what ends a question, and an answer; a byte 0 ends each
//   numbers    little-endian float32: all weights; the header says where each of them begins

static const char* header;
static const float* numbers;

static const char* value_of(const char* name) {  // NULL: the header does not have it
  const size_t length = strlen(name);
  for (const char* line = header; line; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, name, length) == 0 && line[length] == ' ') return line + length + 1;
  }
  return NULL;
}

static int is(const char* name, const char* value) {
  const char* found = value_of(name);
  return found && strncmp(found, value, strlen(value)) == 0 && found[strlen(value)] == '\n';
}

static double number(const char* name) {
  const char* found = value_of(name);
  if (!found) fail("the weights do not say ", name);
  return atof(found);
}

static const float* numbers_of(const char* name) {  // NULL: this model has no such weights
  const char* found = value_of(name);
  return found ? numbers + atol(found) : NULL;
}

// The weight and the bias of a linear layer or of a norm; NULL, where this model has none.
struct layer {
  const float *weight, *bias;
};

static struct layer layer_of(const char* place, const char* name) {
  char weight[100], bias[100];
  snprintf(weight, sizeof weight, "%s%s.weight", place, name);
  snprintf(bias, sizeof bias, "%s%s.bias", place, name);
  return (struct layer){numbers_of(weight), numbers_of(bias)};
}

// The sizes of the model, and what it is made of.
static int V;               // tokens in the vocabulary
static int T;               // positions: the tokens that it reads at most
static int L;               // layers
static int C;               // numbers for each position: d_model
static int F;               // numbers between the two layers of a feed-forward layer: d_ff
static int H, K, D;         // heads, heads of keys and values, numbers of a head
static int causal, window;  // a token sees none after it; none that is further away, if not 0
static int full_every;      // of so many blocks the last one has no window; 0: all have it

struct block {  // a weight is [out][in]
  struct layer attention_norm, query, key, value, output;
  struct layer feed_forward_norm, up, down;
  const float* distance_bias;  // [distances][H]
};
static struct block* blocks;                            // [L]
static struct layer token_embedding, final_norm, head;  // [V][C], [C], [V][C]
static const float *position_embedding, *slopes;        // [T][C], [H]
static const char** texts;                              // [V + 2]

// Room for what is computed.
static float *stream, *input, *change;           // [T][C]
static float *queries, *keys, *values, *scores;  // [T][H * D], [T][K * D], [T][K * D], [T]
static float *heads, *hidden;                    // [T][H * D], [T][F]

static float* rows_of(int width) { return allocate(sizeof(float) * (size_t)T * (size_t)width); }

static void read_model(void) {
  const char* path = getenv("QKV_WEIGHTS") ? getenv("QKV_WEIGHTS") : WEIGHTS;
  FILE* file = fopen(path, "rb");
  if (!file) fail("cannot open the weights: ", path);
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  char* bytes = allocate((size_t)size + 1);
  if (fread(bytes, 1, (size_t)size, file) != (size_t)size) fail("cannot read the weights: ", path);
  fclose(file);
  bytes[size] = '\0';
  header = bytes;
  if (!is("qkv-c", "2") || number("bytes") != size) fail("these are no weights of qkv: ", path);
  numbers = (const float*)(bytes + size) - (long)number("numbers");

  V = (int)number("vocabulary"), T = (int)number("positions"), L = (int)number("layers");
  C = (int)number("d_model"), F = (int)number("d_ff");
  H = (int)number("heads"), K = (int)number("key_value_heads"), D = (int)number("head_width");
  causal = (int)number("causal"), window = (int)number("window");
  full_every = (int)number("full_every");
  texts = allocate(sizeof(char*) * (size_t)(V + 2));
  const char* text = bytes + strlen(bytes) + 1;
  for (int i = 0; i < V + 2; ++i, text += strlen(text) + 1) texts[i] = text;

  token_embedding = layer_of("", "token_embedding");
  position_embedding = numbers_of("position_embedding.weight");
  slopes = numbers_of("slopes");
  blocks = allocate(sizeof(struct block) * (size_t)L);
  for (int i = 0; i < L; ++i) {
    char place[80];
    snprintf(place, sizeof place, "blocks.%d.", i);
    blocks[i].attention_norm = layer_of(place, "attention_norm");
    blocks[i].query = layer_of(place, "attention.query");
    blocks[i].key = layer_of(place, "attention.key");
    blocks[i].value = layer_of(place, "attention.value");
    blocks[i].output = layer_of(place, "attention.output");
    blocks[i].feed_forward_norm = layer_of(place, "feed_forward_norm");
    blocks[i].up = layer_of(place, "feed_forward.up");
    blocks[i].down = layer_of(place, "feed_forward.down");
    snprintf(place, sizeof place, "blocks.%d.attention.position.distance_bias", i);
    blocks[i].distance_bias = numbers_of(place);
  }
  final_norm = layer_of("", "final_norm");
  head = layer_of("", "head");
  if (!head.weight) head.weight = token_embedding.weight;  // one table reads tokens and scores them

  stream = rows_of(C), input = rows_of(C), change = rows_of(C);
  queries = rows_of(H * D), keys = rows_of(K * D), values = rows_of(K * D), heads = rows_of(H * D);
  hidden = rows_of(F), scores = rows_of(1);
}

// ---- the layers -------------------------------------------------------------------------------

// y = W x + b for each of n rows; a layer without a weight is y = x.   x [n][in], y [n][out]
static void linear(int n, int in, int out, struct layer layer, const float* x, float* y) {
  if (!layer.weight) memcpy(y, x, sizeof(float) * (size_t)(n * in));
  for (int row = 0; layer.weight && row < n; ++row) {
    for (int o = 0; o < out; ++o) {
      float sum = layer.bias ? layer.bias[o] : 0;
      for (int i = 0; i < in; ++i) sum += layer.weight[o * in + i] * x[row * in + i];
      y[row * out + o] = sum;
    }
  }
}

// (x - mean) / sqrt(variance + epsilon) * weight + bias over each row, or, as "rms",
// x / sqrt(mean(x^2) + epsilon) * weight.   x [n][C], y [n][C]
static void normalize(int n, struct layer norm, const float* x, float* y) {
  const float epsilon = (float)number("norm_epsilon");
  const int centers = is("norm_kind", "layer");
  for (int row = 0; row < n; ++row, x += C, y += C) {
    float mean = 0, variance = 0;
    for (int c = 0; centers && c < C; ++c) mean += x[c] / C;
    for (int c = 0; c < C; ++c) variance += (x[c] - mean) * (x[c] - mean) / C;
    const float scale = 1 / sqrtf(variance + epsilon);
    for (int c = 0; c < C; ++c) {
      y[c] = (x[c] - mean) * scale * norm.weight[c] + (norm.bias ? norm.bias[c] : 0);
    }
  }
}

// The map of x to `count` heads of queries, keys or values.   x [n][C], y [n][count * D]
static void project(int n, int count, struct layer map, const float* x, float* y) {
  if (!is("head_kind", "narrow") || !map.weight) {
    linear(n, C, count * D, map, x, y);
    return;
  }
  for (int i = 0; i < n * count; ++i) {  // a head has a map of its own for its part of x
    const int h = i % count;
    const struct layer own = {map.weight + h * D * D, map.bias ? map.bias + h * D : NULL};
    linear(1, D, D, own, x + i * D, y + i * D);
  }
}

// Rotary positions: turns the pairs (0, 1), (2, 3) … of every head by p / base^(2i / D).
static void turn(int n, int count, float* y) {  // [n][count][D]
  const double base = number("rotary_base");
  for (int p = 0; p < n; ++p) {
    for (int h = 0; h < count; ++h, y += D) {
      for (int i = 0; i < D; i += 2) {
        const double angle = p / pow(base, (double)i / D);
        const float c = (float)cos(angle), s = (float)sin(angle), even = y[i], odd = y[i + 1];
        y[i] = even * c - odd * s;
        y[i + 1] = even * s + odd * c;
      }
    }
  }
}

// What is added to the score of position p for position j in head h: -infinity hides j from p.
static float bias_of_score(const struct block* b, int h, int p, int j) {
  if (causal && j > p) return -INFINITY;  // the future
  const int limits = window > 0 && (full_every == 0 || (b - blocks + 1) % full_every != 0);
  if (limits && abs(p - j) > window) return -INFINITY;
  if (slopes) return -slopes[h] * (float)abs(p - j);  // ALiBi: less for what is far away
  if (!b->distance_bias) return 0;
  const int row = causal ? p - j : p - j + T - 1;  // at most T - 1 away: it is in the table
  return b->distance_bias[row * H + h];
}

// scores[j] = exp(scores[j]) / sum over j of exp(scores[j])
static void softmax(int n) {
  float largest = -INFINITY, sum = 0;
  for (int j = 0; j < n; ++j) largest = fmaxf(largest, scores[j]);
  for (int j = 0; j < n; ++j) sum += scores[j] = expf(scores[j] - largest);
  for (int j = 0; j < n; ++j) scores[j] /= sum;
}

// Attention(Q, K, V) = softmax(Q K^T * scale) V in each of H heads, which are then side by side.
// There are K heads of keys and values, each of which serves H / K heads of queries.
static void attend(int n, const struct block* b, const float* x, float* y) {  // [n][C] -> [n][C]
  const float scale = (float)number("score_scale");  // 1 / sqrt(D), if no key says otherwise
  const size_t bytes = sizeof(float) * (size_t)(n * K * D);
  project(n, K, b->value, x, values);
  if (b->key.weight) project(n, K, b->key, x, keys);
  if (!b->key.weight) memcpy(keys, values, bytes);  // which are one
  if (b->query.weight) project(n, H, b->query, x, queries);
  if (!b->query.weight) memcpy(queries, values, bytes);
  if (is("position", "rotary")) {
    turn(n, H, queries);
    turn(n, K, keys);
  }
  for (int h = 0; h < H; ++h) {
    const int k = h / (H / K);  // the head of keys and values
    for (int p = 0; p < n; ++p) {
      const float* query = queries + (p * H + h) * D;
      float* mean = heads + (p * H + h) * D;
      for (int j = 0; j < n; ++j) {
        float product = 0;
        for (int i = 0; i < D; ++i) product += query[i] * keys[(j * K + k) * D + i];
        scores[j] = product * scale + bias_of_score(b, h, p, j);
      }
      softmax(n);
      for (int i = 0; i < D; ++i) {
        mean[i] = 0;
        for (int j = 0; j < n; ++j) mean[i] += scores[j] * values[(j * K + k) * D + i];
      }
    }
  }
  linear(n, H * D, C, b->output, heads, y);
}

static float relu(float a) { return a > 0 ? a : 0; }
static float relu_squared(float a) { return relu(a) * relu(a); }
static float silu(float a) { return a / (1 + expf(-a)); }
static float gelu(float a) { return 0.5f * a * (1 + erff(a * 0.70710678f)); }
static float gelu_tanh(float a) {
  return 0.5f * a * (1 + tanhf(0.79788456f * (a + 0.044715f * a * a * a)));
}

// Two linear layers with an activation between them, for each position by itself.
static void feed_forward(int n, const struct block* b, const float* x, float* y) {  // [n][C] each
  float (*activate)(float) = is("activation", "relu")           ? relu
                             : is("activation", "relu_squared") ? relu_squared
                             : is("activation", "silu")         ? silu
                             : is("activation", "gelu")         ? gelu
                                                                : gelu_tanh;
  linear(n, C, F, b->up, x, hidden);
  for (int i = 0; i < n * F; ++i) hidden[i] = activate(hidden[i]);
  linear(n, F, C, b->down, hidden, y);
}

// ---- the model --------------------------------------------------------------------------------

// Half of a block: a layer, whose output is added to the residual stream. A norm comes before the
// layer ("pre"), after the sum ("post"), or there is none.
static void add_layer(int n, const struct block* b, struct layer norm,
                      void (*layer)(int, const struct block*, const float*, float*)) {
  if (is("norm", "pre")) {
    normalize(n, norm, stream, input);
  } else {
    memcpy(input, stream, sizeof(float) * (size_t)(n * C));
  }
  layer(n, b, input, change);
  for (int i = 0; i < n * C; ++i) stream[i] += change[i];
  if (is("norm", "post")) normalize(n, norm, stream, stream);
}

static void block(int n, const struct block* b) {
  add_layer(n, b, b->attention_norm, attend);
  add_layer(n, b, b->feed_forward_norm, feed_forward);
}

// What the model says after n tokens.   tokens [n] -> out [V]
static void logits(int n, const int* tokens, float* out) {
  const int has_sinusoids = is("position", "sinusoidal");
  const double scale = has_sinusoids ? number("sinusoidal_scale") : 0;
  for (int p = 0; p < n; ++p) {
    memcpy(stream + p * C, token_embedding.weight + tokens[p] * C, sizeof(float) * (size_t)C);
    for (int i = p * C; position_embedding && i < (p + 1) * C; ++i) {
      stream[i] += position_embedding[i];
    }
    for (int c = 0; has_sinusoids && c < C; ++c) {
      const double angle = p / pow(10000, (double)(c / 2 * 2) / C);
      stream[p * C + c] += (float)((c % 2 == 0 ? sin(angle) : cos(angle)) * scale);
    }
  }
  for (int i = 0; i < L; ++i) block(n, &blocks[i]);
  float* last = stream + (n - 1) * C;
  if (is("norm", "pre")) normalize(1, final_norm, last, last);
  linear(1, C, V, head, last, out);  // a product with the vector of each token
  const float cap = (float)number("logit_cap");
  for (int i = 0; i < V && cap > 0; ++i) out[i] = cap * tanhf(out[i] / cap);
}

// ---- texts ------------------------------------------------------------------------------------

// The tokens of a text: its characters, or words with spaces between them; returns how many.
static int encode(const char* text, int* tokens) {
  const char* const spaces = is("spaced", "1") ? " \t\n\v\f\r" : "";
  for (int n = 0;; ++n) {
    text += strspn(text, spaces);
    if (*text == '\0') return n;
    size_t length = *spaces ? strcspn(text, spaces) : 1;
    while (!*spaces && (text[length] & 0xC0) == 0x80) ++length;  // the bytes of one character
    int token = 0;
    while (token < V && (strlen(texts[token]) != length || memcmp(texts[token], text, length))) {
      ++token;
    }
    if (token == V) token = (int)number("unknown");  // the token of what is new; -1: there is none
    if (token < 0) fail("the vocabulary has no token for: ", text);
    tokens[n] = token;
    text += length;
  }
}

static int largest(const float* of) {  // [V] -> the place of the largest, the first
  int best = 0;
  for (int i = 1; i < V; ++i) {
    if (of[i] > of[best]) best = i;
  }
  return best;
}

// How many tokens follow a prompt of n tokens: the place n of a list.
static int answer_length(int n) {
  const char* list = value_of("answer_lengths");
  for (int i = 0; list && i < n && i < T; ++i) list = strchr(list, ' ') + 1;
  return list ? atoi(list) : 0;
}

static int number_in(const char* text) {
  char* end;
  const long found = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || found < 0 || found > 1000000) {
    fail("N is a number up to 1000000, not ", text);
  }
  return (int)found;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) fail("usage: ", "model PROMPT [N]");
  read_model();
  const char *const after_question = texts[V], *const last_token = texts[V + 1];
  const char* const space = is("spaced", "1") ? " " : "";
  char* prompt = allocate(strlen(argv[1]) + strlen(after_question) + 1);
  strcpy(prompt, argv[1]);
  if (!strstr(prompt, after_question)) strcat(prompt, after_question);

  int* tokens = allocate(sizeof(int) * (strlen(prompt) + 2));  // a token has at least one byte
  // A line begins after the end of another; a text may begin anywhere.
  const int begins = is("begins", "line") ? *prompt != '\n' : is("begins", "empty") && !*prompt;
  const int begin = begins ? encode("\n", tokens) : 0;  // of what is printed
  int n = begin + encode(prompt, tokens + begin);
  if (n == 0) fail("the prompt is empty", "");
  free(prompt);

  float* out = allocate(sizeof(float) * (size_t)V);
  const int count = argc > 2 ? number_in(argv[2]) : answer_length(n);
  tokens = realloc(tokens, sizeof(int) * (size_t)(n + count));
  if (!tokens) fail("out of memory", "");
  for (int i = begin; i < n && count > 0; ++i) {
    printf("%s%s", i > begin ? space : "", texts[tokens[i]]);
  }
  for (int i = 0; i < count || i == 0; ++i, ++n) {
    const int first = n < T ? 0 : n - T;  // the model reads the last tokens
    logits(n - first, tokens + first, out);
    if (count == 0) break;
    tokens[n] = largest(out);
    if (strcmp(texts[tokens[n]], last_token) == 0) break;  // the answer has ended
    printf("%s%s", space, texts[tokens[n]]);
    fflush(stdout);
  }
  for (int i = 0; i < V && count == 0; ++i) printf("%s\t%.9g\n", texts[i], out[i]);
  if (count > 0) printf("\n");
  free(tokens);
  free(out);
  return 0;
}
