// Narrow heads, each of a part of x; wide ones, each as wide as x; and what is cut between them.
#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "framework/autograd/backward.h"
#include "framework/kernels/product_log.h"
#include "lessons/labs/labs.h"
#include "lessons/labs/numbers.h"
#include "lessons/labs/trained.h"
#include "lessons/report/statistics.h"
#include "models/mixer.h"

namespace qkv {
namespace {

constexpr const char* kConfig = R"(
name = "narrow-wide"
[data]
task = "reverse"
length = 8
validation_examples = 200
[model]
num_layers = 1
d_model = 32
d_ff = 64
[optimizer]
learning_rate = 3e-3
[train]
batch_size = 32
)";

struct Form {
  const char* name;
  Heads heads;
  double parameters = 0;  // of one layer, weights alone
  double flops = 0;       // of its products, forward
  double held = 0;        // numbers in queries, keys, values and heads
  double ms = 0;          // forward and backward
  std::vector<double> loss = {}, right = {};
};

struct Sizes {
  int64_t heads = 0, width = 0, tokens = 0;
};

// One layer by itself.
void measure_layer(const Sizes& sizes, Form& form) {
  const RandomStream random(1);
  Initializer init(random.derive("layer"), DType::f32);
  const ModelOptions options = {.d_model = sizes.width,
                                .num_heads = sizes.heads,
                                .bias = false,
                                .attention = {.heads = form.heads}};
  const Mixer layer = make_mixer(init, options, sizes.tokens, /*causal=*/true,
                                 /*residual_deviation=*/0.02);
  form.parameters = static_cast<double>(parameter_count(parameters(layer)));
  const Tensor x = parameter(
      cast(random_normal(random.derive("x"), {1, sizes.tokens, sizes.width}), DType::f32).array());
  {
    const kernels::ProductLog log;
    ForwardContext context;
    layer(x, {.causal = true}, context);
    form.flops = log.flops();
  }
  Trace trace;
  ForwardContext traced{.trace = &trace};
  layer(x, {.causal = true}, traced);
  for (const char* const name : {"q", "k", "v", "concatenated"}) {
    form.held += static_cast<double>(trace[absl::StrCat("attention.", name)].size());
  }
  std::vector<double> times;
  for (int repeat = 0; repeat < 15; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    ForwardContext context;
    backward(sum(layer(x, {.causal = true}, context)));
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::ranges::sort(times);
  form.ms = times[times.size() / 2];
}

std::vector<Form> measure(const LabContext& lab) {
  std::vector<Form> forms = {{.name = "narrow", .heads = Heads::kNarrow},
                             {.name = "split", .heads = Heads::kSplit},
                             {.name = "wide", .heads = Heads::kWide}};
  const Sizes sizes = {
      .heads = lab.integer("heads"), .width = lab.integer("d"), .tokens = lab.integer("n")};
  for (Form& form : forms) {
    if (lab.is_control()) form.heads = Heads::kSplit;
    measure_layer(sizes, form);
    for (const uint64_t seed : lab.seeds()) {
      Config config = lab_config(
          kConfig, {absl::StrCat("seed=", seed), absl::StrCat("train.steps=", lab.integer("steps")),
                    absl::StrCat("model.num_heads=", sizes.heads)});
      config.model.attention.heads = form.heads;
      const Trained trained = train_or_reuse(lab, config);
      form.loss.push_back(trained.validation.loss);
      form.right.push_back(trained.validation.sequence_accuracy);
    }
  }
  return forms;
}

std::string count_text(double count) { return absl::StrCat(static_cast<int64_t>(count)); }

Table table_of(const std::vector<Form>& forms, const Sizes& sizes) {
  Table table = {
      .title = absl::StrCat("A layer of ", sizes.heads, " heads, d = ", sizes.width, ", ",
                            sizes.tokens, " tokens; and what training with d = 32 came to"),
      .header = {"heads", "parameters", "MFLOP", "q k v o", "ms", "loss", "right"},
      .rows = {}};
  for (const Form& form : forms) {
    table.rows.push_back({form.name, count_text(form.parameters), format_number(form.flops / 1e6),
                          count_text(form.held), format_number(form.ms),
                          format_number(mean_of(form.loss)), format_number(mean_of(form.right))});
  }
  return table;
}

Section narrow_section(const std::vector<Form>& forms, const Sizes& s) {
  const Form &narrow = forms[0], &split = forms[1];
  const auto h = static_cast<double>(s.heads), d = static_cast<double>(s.width),
             n = static_cast<double>(s.tokens);
  return {
      .claims = {{"C155",
                  "**Narrow Self-Attention**：把输入词向量切割成$h$块，每一块使用一次自注意力"
                  "运算；这种方法速度快，节省内存，但是效果不好；",
                  "Narrow self-attention: the vectors are cut into h parts, and each has a "
                  "self-attention of its own. It is fast and saves memory, but does worse."}},
      .formula = "3 d²/h + d² parameters,   2 n (3 d²/h + d²) + 4 n² d operations",
      .prediction =
          "Maps of d/h to d/h numbers are h times as small. Fewer parameters and operations "
          "than of heads that are cut after the map, and a larger loss.",
      .findings =
          {exact("parameters, narrow", 3 * d * d / h + d * d, narrow.parameters, 0),
           exact("operations, narrow", 2 * n * (3 * d * d / h + d * d) + 4 * n * n * d,
                 narrow.flops, 0),
           exact("parameters, split", 4 * d * d, split.parameters, 0),
           exact("operations, split", 8 * n * d * d + 4 * n * n * d, split.flops, 0),
           found("parameters, narrow and split", "the first are fewer",
                 absl::StrCat(count_text(narrow.parameters), " and ", count_text(split.parameters)),
                 narrow.parameters < split.parameters),
           found("operations, narrow and split", "the first are fewer",
                 absl::StrCat(count_text(narrow.flops), " and ", count_text(split.flops)),
                 narrow.flops < split.flops),
           larger("loss, narrow and split", narrow.loss, split.loss),
           beyond(found("queries, keys, values and heads held, narrow and split",
                        "the first are fewer",
                        absl::StrCat(count_text(narrow.held), " and ", count_text(split.held)),
                        narrow.held < split.held))},
      .figures = {table_of(forms, s)},
      .condition = "by memory that of the parameters is meant",
      .correction =
          "Narrow heads are not the usual ones: those are cut from q, k and v after a map of "
          "all of x (A50), which C155 and B146 take for the same."};
}

Section wide_section(const std::vector<Form>& forms, const Sizes& s) {
  const Form &split = forms[1], &wide = forms[2];
  const auto h = static_cast<double>(s.heads), d = static_cast<double>(s.width),
             n = static_cast<double>(s.tokens);
  return {
      .claims = {{"C156",
                  "**Wide Self-Attention**：对输入词向量独立地使用$h$次自注意力运算；这种方法"
                  "效果更好，但花费更多时间和内存",
                  "Wide self-attention: h self-attentions, each of whole vectors. It does "
                  "better, but takes more time and memory."}},
      .formula = "4 h d² parameters,   h (8 n d² + 4 n² d) operations",
      .prediction =
          "Everything is there h times: parameters, operations, what is held. The loss is "
          "smaller.",
      .findings = {
          exact("parameters, wide", 4 * h * d * d, wide.parameters, 0),
          exact("operations, wide", h * (8 * n * d * d + 4 * n * n * d), wide.flops, 0),
          exact("queries, keys, values and heads, wide beside split", h, wide.held / split.held, 0),
          larger("loss, split and wide", split.loss, wide.loss)}};
}

std::vector<Section> run(const LabContext& lab) {
  const Sizes sizes = {
      .heads = lab.integer("heads"), .width = lab.integer("d"), .tokens = lab.integer("n")};
  const std::vector<Form> forms = measure(lab);
  return {narrow_section(forms, sizes), wide_section(forms, sizes)};
}

}  // namespace

Lab narrow_wide_lab() {
  return {.name = "narrow-wide",
          .question = "Narrow heads or wide ones: what do they cost, and what are they worth?",
          .control = "narrow and wide heads are both made as the usual ones",
          .duration = "5 s",
          .measures_time = true,
          .options = {{"heads", "4", "heads", 1, 32, Numbers::kDivisors},
                      {"d", "256", "width of the layer whose cost is counted", 32, 512,
                       Numbers::kMultiples},
                      {"n", "64", "tokens that it reads", 1, 512},
                      steps_option("150", "of training, with d = 32"),
                      seeds_option("5", "trainings of each")},
          .run = run};
}

}  // namespace qkv
