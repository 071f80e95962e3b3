#include "data/show.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "data/show_images.h"
#include "framework/core/utf8.h"

namespace qkv {
namespace {

// Row `row` of a batch without its padding, and the tokens that count.
std::string describe_row(const Dataset& dataset, const Batch& batch, int64_t row) {
  const int64_t length = batch.targets.shape()[1];
  const int64_t* inputs = batch.inputs[0].data<int64_t>() + row * length;
  const int64_t* targets = batch.targets.data<int64_t>() + row * length;

  std::vector<int64_t> counted;
  int64_t end = 0;  // after the last target
  for (int64_t t = 0; t < length; ++t) {
    if (targets[t] == kIgnoredTarget) continue;
    counted.push_back(targets[t]);
    end = t + 1;
  }
  std::vector<int64_t> sequence(inputs, inputs + end);
  if (end > 0) sequence.push_back(targets[end - 1]);

  const Vocabulary& vocabulary = dataset.vocabulary();
  const bool all = static_cast<int64_t>(counted.size()) == end;
  return absl::StrCat(escape(vocabulary.decode(sequence)), "   loss on: ",
                      all ? "all after the first" : escape(vocabulary.decode(counted)));
}

// What is read: tokens.
std::string describe_tokens(const Dataset& dataset) {
  std::vector<int64_t> every(static_cast<size_t>(dataset.vocabulary().size()));
  std::iota(every.begin(), every.end(), 0);
  return absl::StrCat("vocabulary   ", every.size(),
                      " tokens: ", escape(dataset.vocabulary().decode(every)), "\n",
                      "context      ", dataset.context_length(), " tokens\n");
}

// What is read: images.
std::string describe_classes(const Dataset& dataset) {
  const DataShape shape = dataset.shape();
  std::string names;
  for (const std::string& name : dataset.vocabulary().texts()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", escape(name));
  }
  return absl::StrCat("classes      ", shape.classes, ": ", names, "\n",  //
                      "images       ", shape.height, " x ", shape.width, " pixels, grey\n");
}

}  // namespace

std::string describe_dataset(const Dataset& dataset) {
  const auto size = [](int64_t examples) {
    return examples == 0 ? "drawn at random" : absl::StrCat(examples, " examples");
  };
  return absl::StrCat(
      dataset.shape().is_image() ? describe_classes(dataset) : describe_tokens(dataset),
      "training     ", size(dataset.training_size()), "\n",  //
      "validation   ", size(dataset.validation_size()), "\n");
}

std::string describe_examples(const Dataset& dataset, Split split, int64_t count, Colours colours) {
  if (dataset.shape().is_image()) return describe_images(dataset, split, count, colours);
  const int64_t there_are = split == Split::kTraining ? count : dataset.validation_size();
  count = std::min(count, there_are);
  if (count < 1) return "";
  const Batch batch = split == Split::kTraining ? dataset.training_batch(0, count)
                                                : dataset.validation_batch(0, count);
  std::string text;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    absl::StrAppend(&text, describe_row(dataset, batch, row), "\n");
  }
  return text;
}

}  // namespace qkv
