// ---- texts ------------------------------------------------------------------------------------

static void fail(const char *why, const char *what) {
  fprintf(stderr, "error: %s%s\n", why, what);
  exit(1);
}

static void read_weights(void) {
  const char *path = getenv("QKV_WEIGHTS") ? getenv("QKV_WEIGHTS") : @WEIGHTS_PATH@;
  char beginning[sizeof BEGINNING - 1];  // which only the weights of this program have
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot open the weights: ", path);
  if (fread(beginning, sizeof beginning, 1, file) != 1 ||
      memcmp(beginning, BEGINNING, sizeof beginning) != 0 ||
      fread(&model, sizeof model, 1, file) != 1 || fgetc(file) != EOF) {
    fail("these are not the weights of this model: ", path);
  }
  fclose(file);
}

// The tokens of a text that are in the vocabulary, which must be all of it; returns how many.
static int encode(const char *text, int *tokens) {
  int n = 0;
  for (;;) {
//? spaced
    text += strspn(text, " \t\n\v\f\r");  // tokens are written with spaces between them
    const size_t length = strcspn(text, " \t\n\v\f\r");
//.
    if (*text == '\0') return n;
    int token = 0;
//? spaced
    while (token < V && (strlen(vocabulary[token]) != length ||
                         memcmp(vocabulary[token], text, length) != 0)) {
      ++token;
    }
//.
//? !spaced
    while (token < V && strncmp(vocabulary[token], text, strlen(vocabulary[token])) != 0) ++token;
//.
//? unknown
    if (token == V) {
      tokens[n++] = UNKNOWN;
//? spaced
      text += length;
//.
//? !spaced
      do ++text;
      while ((*text & 0xC0) == 0x80);  // the bytes of one character
//.
      continue;
    }
//.
//? !unknown
    if (token == V) fail("the vocabulary has no token for: ", text);
//.
    text += strlen(vocabulary[token]);
    tokens[n++] = token;
  }
}

static int largest(const float *numbers) {  // [OUTPUTS] -> the place of the largest, the first
  int best = 0;
  for (int i = 1; i < OUTPUTS; ++i) {
    if (numbers[i] > numbers[best]) best = i;
  }
  return best;
}

//? kind=decoder
static int number_in(const char *text) {
  char *end;
  const long number = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || number < 0 || number > 1000000) {
    fail("N is a number up to 1000000, not ", text);
  }
  return (int)number;
}

//.
int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) fail("usage: ", "model PROMPT [N]");
  read_weights();
//? after_question
  char *prompt = malloc(strlen(argv[1]) + sizeof AFTER_QUESTION);
  if (!prompt) fail("out of memory", "");
  strcpy(prompt, argv[1]);
  if (!strstr(prompt, AFTER_QUESTION)) strcat(prompt, AFTER_QUESTION);
//.
//? !after_question
  const char *prompt = argv[1];
//.
  int *tokens = malloc(sizeof(int) * (strlen(prompt) + 2));  // a token has at least one byte
  if (!tokens) fail("out of memory", "");
  int n = 0;
//? begins_empty
  if (*prompt == '\0') n = encode("\n", tokens);  // a line begins after the end of another
//.
//? begins_line
  if (*prompt != '\n') n = encode("\n", tokens);  // a line begins after the end of another
//.
//? !class_names
  const int begin = n;  // of what is printed
//.
  n += encode(prompt, tokens + n);
  if (n == 0) fail("the prompt is empty", "");
//? kind=classifier
  if (n > LONGEST) fail("the prompt is longer than what the model reads: ", prompt);
//.
//? after_question
  free(prompt);
//.
  float numbers[OUTPUTS];
  const char *const wanted = argc > 2 ? argv[2] : "-";
  if (strcmp(wanted, "0") == 0) {
    logits(n < LONGEST ? n : LONGEST, tokens + (n < LONGEST ? 0 : n - LONGEST), numbers);
    for (int i = 0; i < OUTPUTS; ++i) printf("%s\t%.9g\n", @OUTPUT_NAMES@[i], numbers[i]);
    free(tokens);
    return 0;
  }
//? kind=classifier
  logits(n, tokens, numbers);
//? class_names
  printf("%s\n", class_names[largest(numbers)]);
//.
//? !class_names
  for (int i = begin; i < n; ++i) printf("%s%s", vocabulary[tokens[i]], @SPACE@);
  printf("%s\n", vocabulary[largest(numbers)]);
//.
//.
//? kind=decoder
//= answer_length
  if (argc > 2) count = number_in(wanted);
  tokens = count > 0 ? realloc(tokens, sizeof(int) * (size_t)(n + count)) : tokens;
  if (!tokens) fail("out of memory", "");
  for (int i = begin; i < n; ++i) printf("%s%s", i > begin ? @SPACE@ : "", vocabulary[tokens[i]]);
  for (int i = 0; i < count; ++i, ++n) {
    const int first = n < LONGEST ? 0 : n - LONGEST;  // the model reads the last tokens
    logits(n - first, tokens + first, numbers);
    tokens[n] = largest(numbers);
//? last_token
    if (strcmp(vocabulary[tokens[n]], LAST_TOKEN) == 0) break;  // the answer has ended
//.
    printf("%s%s", @SPACE@, vocabulary[tokens[n]]);
    fflush(stdout);
  }
  printf("\n");
//.
  free(tokens);
  return 0;
}
