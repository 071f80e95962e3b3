#include "train/generate/samples.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "framework/core/text/utf8.h"
#include "framework/graph/modes.h"
#include "framework/graph/op.h"
#include "framework/io/files.h"
#include "framework/kernels/kernels.h"
#include "train/generate/generate.h"

namespace qkv {
namespace {

constexpr int64_t kSampleLength = 120;
constexpr int64_t kTextPrompt = 16;

using Tokens = std::vector<int64_t>;
using EachToken = std::function<bool(int64_t)>;

std::string describe_right_or_wrong(const Dataset& dataset, const Tokens& expected,
                                    const Tokens& answered) {
  return absl::StrCat("expected ", escape(dataset.answer_text(expected)), "  answered ",
                      escape(dataset.answer_text(answered)),
                      answered == expected ? "  right" : "  wrong");
}

absl::StatusOr<std::string> describe_answer(const Model& model, const Dataset& dataset,
                                            const Example& example, const EachToken& each) {
  ASSIGN_OR_RETURN(const auto answer, generate(model, example.prompt, std::ssize(example.answer),
                                               {.temperature = 0}, each));
  return absl::StrCat("  ", escape(dataset.vocabulary().decode(example.prompt)), "  ",
                      describe_right_or_wrong(dataset, example.answer, answer));
}

// The classes of images; the model sees all of them at once.
std::string describe_classes(const Model& model, const Dataset& dataset, const Batch& images) {
  const NoGrad no_grad;
  ForwardContext context;
  const std::vector<Tensor> inputs(images.inputs.begin(), images.inputs.end());
  const Tensor logits = model(inputs, context);  // [B, classes]
  Array largest({images.rows()}, logits.dtype()), answers({images.rows()}, DType::i64);
  kernels::max(logits.array(), images.rows(), logits.dim(-1), 1, largest, answers);
  std::string text;
  for (int64_t row = 0; row < images.rows(); ++row) {
    absl::StrAppend(&text, row > 0 ? "\n" : "", "  ",
                    describe_right_or_wrong(dataset, {images.targets.data<int64_t>()[row]},
                                            {answers.data<int64_t>()[row]}));
  }
  return text;
}

absl::StatusOr<std::string> describe_text(const Model& model, const Dataset& dataset,
                                          const Example& example, const EachToken& each) {
  const Vocabulary& vocabulary = dataset.vocabulary();
  std::vector<int64_t> prompt = example.prompt;
  prompt.resize(std::min<size_t>(prompt.size(), kTextPrompt));
  ASSIGN_OR_RETURN(const auto text,
                   generate(model, prompt, kSampleLength, {.temperature = 0.8}, each));
  return absl::StrCat("  ", escape(vocabulary.decode(prompt)), " | ",
                      escape(vocabulary.decode(text)));
}

}  // namespace

absl::StatusOr<std::string> describe_samples(const Model& model, const Dataset& dataset,
                                             int64_t count, const std::stop_token& stop) {
  if (dataset.shape().is_image()) {
    const int64_t shown = std::min(count, dataset.validation_size());
    return describe_classes(model, dataset, dataset.validation_batch(0, shown));
  }
  const EachToken goes_on = [&](int64_t) { return !stop.stop_requested(); };
  const auto describe = dataset.has_answers() ? describe_answer : describe_text;
  std::string text;
  const int64_t shown = std::min(dataset.has_answers() ? count : 1, dataset.validation_size());
  for (int64_t i = 0; i < shown; ++i) {
    const Example example = dataset.validation_example(i);
    ASSIGN_OR_RETURN(const std::string line, describe(model, dataset, example, goes_on));
    absl::StrAppend(&text, i > 0 ? "\n" : "", line);
    if (stop.stop_requested()) return absl::CancelledError("the samples were stopped");
  }
  return text;
}

absl::Status cut_samples(const std::string& path, int64_t last_step) {
  return cut_lines(path, [&](std::string_view line) -> absl::StatusOr<bool> {
    absl::string_view text(line.data(), line.size());
    int64_t step = 0;
    const bool begins = absl::ConsumePrefix(&text, "step ") && absl::SimpleAtoi(text, &step);
    return !begins || step <= last_step;
  });
}

}  // namespace qkv
