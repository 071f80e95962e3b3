#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "apps/lesson/lesson_of_run.h"
#include "apps/report/statistics.h"
#include "apps/report/writers/page_frame.h"
#include "apps/runs/run_sections.h"
#include "framework/core/text/utf8.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/nn/trace.h"
#include "train/evaluate/evaluate.h"

namespace qkv {
namespace {

constexpr int64_t kMostCells = 20000;  // of all maps: each takes about 110 bytes of the page
constexpr int64_t kMostNamed = 40;     // rows of a map that have names

struct LayerWeights {
  std::string path;  // "decoder.blocks.0.cross_attention"
  int64_t heads = 0, queries = 0, keys = 0;
  std::vector<double> numbers;  // [heads, queries, keys]
};

// Keeps the weights of attention, and nothing else of the pass.
class WeightsTrace final : public Trace {
 public:
  void add(const std::string& path, const Tensor& weights) override {
    constexpr std::string_view kWeights = "attention.weights", kSuffix = ".weights";
    if (!path.ends_with(kWeights) || weights.rank() != 4) return;
    layers.push_back({path.substr(0, path.size() - kSuffix.size()), weights.dim(1), weights.dim(2),
                      weights.dim(3), weights.to_vector()});
  }

  std::vector<LayerWeights> layers;
};

struct Observed {
  double loss = 0;
  std::vector<LayerWeights> layers;
};

Observed observe(const Model& model, const Batch& example) {
  const NoGrad no_grad;
  WeightsTrace trace;
  ForwardContext context;
  const Tracing tracing(trace);
  const double loss = batch_loss(model, example, {}, context).loss.item();
  return {loss, std::move(trace.layers)};
}

// Tokens as they stand at the rows of a map.
std::vector<Text> names_of_tokens(const Array& tokens, const Vocabulary& vocabulary) {
  std::vector<Text> names;
  for (int64_t i = 0; i < tokens.size(); ++i) {
    const std::string name = escape(vocabulary.decode({tokens.data<int64_t>() + i, 1}));
    names.emplace_back(absl::StrReplaceAll(name, {{" ", "␣"}}));
  }
  return names;
}

// The names of as many positions as there are; none where there are too many, or it is unclear
// which they are.
std::vector<Text> fitting(std::vector<Text> names, int64_t count) {
  if (std::ssize(names) + 1 == count) names.insert(names.begin(), Text("[class]"));
  if (std::ssize(names) != count || count > kMostNamed) return {};
  return names;
}

HeatMaps maps_of(const LayerWeights& layer, const std::vector<Text>& queries,
                 const std::vector<Text>& keys, int64_t heads) {
  HeatMaps maps = {.title = layer.path};
  const int64_t cells = layer.queries * layer.keys;
  for (int64_t head = 0; head < heads; ++head) {
    const auto first = layer.numbers.begin() + head * cells;
    maps.maps.push_back({.title = absl::StrCat("h = ", head),
                         .rows = layer.queries,
                         .columns = layer.keys,
                         .numbers = std::vector<double>(first, first + cells),
                         .row_names = fitting(queries, layer.queries),
                         .column_names = fitting(keys, layer.keys)});
  }
  return maps;
}

// Which of `count` layers are shown where there is room for `room`: the first, the last, and others
// evenly between them.
std::vector<size_t> spread(size_t count, size_t room) {
  std::vector<size_t> chosen;
  const size_t shown = std::min(count, std::max<size_t>(1, room));
  for (size_t i = 0; i < shown; ++i) {
    chosen.push_back(shown == 1 ? count - 1 : i * (count - 1) / (shown - 1));
  }
  return chosen;
}

// `how` maps are read, and the layers and heads left out.
Text with_what_is_left_out(const Text& how, size_t shown, size_t layers, int64_t heads,
                           int64_t all_heads) {
  Text text = how;
  if (shown < layers) {
    text = say("{0} {1}", text, say("{0} of {1} layers are shown.", shown, layers));
  }
  if (heads < all_heads) {
    text = say("{0} {1}", text, say("{0} of {1} heads are shown.", heads, all_heads));
  }
  return text == how ? how : say("{0} {1}", text, say("./qkv explain shows all."));
}

std::string maps_html(const Observed& observed, const Batch& example,
                      const Vocabulary& vocabulary) {
  const LayerWeights& first = observed.layers.front();
  const int64_t cells = std::max<int64_t>(1, first.queries * first.keys);
  const int64_t heads = std::clamp<int64_t>(kMostCells / cells, 1, first.heads);
  const auto room = static_cast<size_t>(kMostCells / (cells * heads));
  const std::vector<size_t> chosen = spread(observed.layers.size(), room);
  const bool has_target = example.inputs.size() > 1 && example.inputs[1].dtype() == DType::i64;
  const std::vector<Text> read = names_of_tokens(example.inputs[0], vocabulary);
  const std::vector<Text> written =
      has_target ? names_of_tokens(example.inputs[1], vocabulary) : read;
  std::vector<Figure> figures;
  for (const size_t i : chosen) {
    const LayerWeights& layer = observed.layers[i];
    const bool in_encoder = layer.path.starts_with("encoder");
    const bool is_cross = layer.path.ends_with("cross_attention");
    figures.emplace_back(maps_of(layer, in_encoder ? read : written,
                                 in_encoder || is_cross ? read : written,
                                 std::min(heads, layer.heads)));
  }
  const Text how =
      say("A row for each query, a column for each key; a row adds up to 1. h is the number of the "
          "head.");
  return paragraph_html(with_what_is_left_out(how, chosen.size(), observed.layers.size(), heads,
                                              first.heads)) +
         figures_html(figures);
}

// The share of each patch of an image in the attention of all heads: from the class token, or from
// all patches alike.
Picture picture_of(const LayerWeights& layer, const Array& pixels, int64_t patch) {
  const Shape& shape = pixels.shape();  // [1, channels, height, width]
  const int64_t height = shape[2], width = shape[3], size = height * width;
  const std::vector<double> all = pixels.to_vector();
  Picture picture = {.title = layer.path, .rows = height, .columns = width, .patch = patch};
  picture.pixels.assign(static_cast<size_t>(size), 0);
  for (size_t i = 0; i < all.size(); ++i) {  // of colours the mean
    picture.pixels[i % static_cast<size_t>(size)] += all[i] / static_cast<double>(shape[1]);
  }
  const int64_t patches = height / patch * (width / patch), before = layer.keys - patches;
  const int64_t queries = before > 0 ? 1 : layer.queries;
  picture.weights.assign(static_cast<size_t>(patches), 0);
  for (int64_t head = 0; head < layer.heads; ++head) {
    for (int64_t query = 0; query < queries; ++query) {
      const int64_t row = (head * layer.queries + query) * layer.keys + before;
      for (int64_t i = 0; i < patches; ++i) {
        picture.weights[i] += layer.numbers[row + i] / static_cast<double>(layer.heads * queries);
      }
    }
  }
  return picture;
}

std::string pictures_html(const Observed& observed, const Batch& example, int64_t patch) {
  const Array& pixels = example.inputs[0];
  const auto room = static_cast<size_t>(kMostCells / std::max<int64_t>(1, pixels.size()));
  const std::vector<size_t> chosen = spread(observed.layers.size(), room);
  std::vector<Figure> figures;
  for (const size_t i : chosen) figures.emplace_back(picture_of(observed.layers[i], pixels, patch));
  const LayerWeights& first = observed.layers.front();
  const bool has_class_token = first.keys > pixels.shape()[2] / patch * (pixels.shape()[3] / patch);
  const Text how =
      say(has_class_token
              ? "How much attention the class token pays to each patch, the mean over the heads."
              : "How much attention each patch gets, the mean over the heads and queries.");
  return paragraph_html(with_what_is_left_out(how, chosen.size(), observed.layers.size(), 1, 1)) +
         figures_html(figures);
}

Text example_text(const Batch& example, const RunWithData& run, double loss) {
  const Vocabulary& vocabulary = run.dataset->vocabulary();
  const auto decoded = [&](const Array& tokens) {
    return escape(vocabulary.decode({tokens.data<int64_t>(), static_cast<size_t>(tokens.size())}));
  };
  const bool is_image = run.run.checkpoint.data.is_image();
  const bool has_target = example.inputs.size() > 1 && example.inputs[1].dtype() == DType::i64;
  std::string text = decoded(is_image ? example.targets : example.inputs[0]);
  if (has_target) absl::StrAppend(&text, " → ", decoded(example.inputs[1]));
  return say(is_image ? "attention.image" : "attention.example", run.run.checkpoint.state.step,
             text, format_number(loss));
}

}  // namespace

std::string attention_section(const absl::StatusOr<RunWithData>& loaded, const TellNote& tell) {
  const Text heading = say("Attention");
  const auto none = [&](const absl::Status& why) {
    const std::string message = printable(std::string(why.message()));
    return titled_html(heading, paragraph_html(say("There is no attention to show: {0}", message)));
  };
  if (!loaded.ok()) return none(loaded.status());
  const absl::StatusOr<Batch> example = example_of_run(*loaded, {}, tell);
  if (!example.ok()) return none(example.status());
  const Observed observed = observe(loaded->model, *example);
  if (observed.layers.empty()) {
    const std::string mixer = loaded->run.checkpoint.config.model.mixer;
    return titled_html(
        heading, paragraph_html(say("This model has no attention: its mixer is {0}.", mixer)));
  }
  std::string html = paragraph_html(example_text(*example, *loaded, observed.loss));
  const Checkpoint& checkpoint = loaded->run.checkpoint;
  html += checkpoint.data.is_image()
              ? pictures_html(observed, *example, checkpoint.config.model.patch_size)
              : maps_html(observed, *example, loaded->dataset->vocabulary());
  return titled_html(heading, html);
}

}  // namespace qkv
