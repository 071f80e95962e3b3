#include "data/show.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "absl/strings/str_cat.h"
#include "data/show_images.h"
#include "framework/core/columns.h"
#include "framework/core/utf8.h"

namespace qkv {
namespace {

std::span<const int64_t> row_of(const Array& array, int64_t row) {
  const int64_t length = array.size() / array.shape()[0];
  return {array.data<int64_t>() + row * length, static_cast<size_t>(length)};
}

// A question and its answer, without their padding.
std::string describe_question(const Dataset& dataset, const Batch& batch, int64_t row) {
  std::span<const int64_t> question = row_of(batch.inputs[0], row);
  if (batch.inputs.back().dtype() == DType::boolean) {
    const bool* padding =
        batch.inputs.back().data<bool>() + row * static_cast<int64_t>(question.size());
    question = question.first(std::find(padding, padding + question.size(), true) - padding);
  }
  std::vector<int64_t> answer;
  for (const int64_t token : row_of(batch.targets, row)) {
    if (token != kIgnoredTarget) answer.push_back(token);
  }
  const Vocabulary& vocabulary = dataset.vocabulary();
  return absl::StrCat(escape(vocabulary.decode(question)),
                      dataset.form() == DataForm::kClass ? "   class: " : "   answer: ",
                      escape(dataset.answer_text(answer)));
}

// Row `row` of a batch without its padding, and the tokens that count.
std::string describe_sequence(const Dataset& dataset, const Batch& batch, int64_t row) {
  const std::span<const int64_t> inputs = row_of(batch.inputs[0], row);
  const std::span<const int64_t> targets = row_of(batch.targets, row);

  std::vector<int64_t> counted;
  size_t end = 0;  // after the last target
  for (size_t t = 0; t < targets.size(); ++t) {
    if (targets[t] == kIgnoredTarget) continue;
    counted.push_back(targets[t]);
    end = t + 1;
  }
  std::vector<int64_t> sequence(inputs.begin(), inputs.begin() + static_cast<int64_t>(end));
  if (end > 0) sequence.push_back(targets[end - 1]);

  const Vocabulary& vocabulary = dataset.vocabulary();
  const bool all = counted.size() == end;
  return absl::StrCat(escape(vocabulary.decode(sequence)), "   loss on: ",
                      all ? "all after the first" : escape(vocabulary.decode(counted)));
}

std::string context_of(const DataShape& shape) {
  if (shape.source_length == 0) return absl::StrCat(shape.max_length, " tokens");
  return absl::StrCat(shape.source_length, " tokens in the question, ", shape.max_length,
                      " in the answer");
}

// A line of it.
std::string beginning(const std::string& text, bool all) {
  constexpr int64_t kShown = 50;  // columns
  const std::string shown = first_columns(text, kShown);
  return all || shown.size() == text.size() ? text : shown + " …";
}

std::string describe_class_names(const Dataset& dataset, bool all) {
  std::string names;
  for (const std::string& name : dataset.class_names()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", escape(name));
  }
  return absl::StrCat("classes      ", dataset.class_names().size(), ": ", beginning(names, all),
                      "\n");
}

// Of bytes and byte pairs those that were learned.
std::string describe_vocabulary(const Vocabulary& vocabulary, bool all) {
  constexpr int64_t kBytes = 256;
  const std::string size = absl::StrCat("vocabulary   ", vocabulary.size());
  std::vector<int64_t> tokens(static_cast<size_t>(vocabulary.size()));
  std::iota(tokens.begin(), tokens.end(), 0);
  if (vocabulary.kind() == TokenKind::kCharacters) {
    return absl::StrCat(size, " tokens: ", beginning(escape(vocabulary.decode(tokens)), all), "\n");
  }
  if (vocabulary.kind() == TokenKind::kBytes) return absl::StrCat(size, " bytes\n");
  const bool has_bytes = vocabulary.kind() == TokenKind::kBpe;
  std::string texts;
  for (int64_t token = has_bytes ? kBytes : 0; token < vocabulary.size(); ++token) {
    absl::StrAppend(&texts, texts.empty() ? "\"" : " \"",
                    escape(vocabulary.texts()[static_cast<size_t>(token)]), "\"");
  }
  return absl::StrCat(
      size, has_bytes ? " bytes and byte pairs: " : " words: ", beginning(texts, all), "\n");
}

std::string describe_unknown(const Vocabulary& vocabulary) {
  const std::optional<int64_t> unknown = vocabulary.unknown();
  if (!unknown) return "";
  return absl::StrCat("unknown      \"", escape(vocabulary.texts()[static_cast<size_t>(*unknown)]),
                      "\": what training has too rarely, or not at all\n");
}

// What is read: tokens.
std::string describe_tokens(const Dataset& dataset, bool all) {
  return absl::StrCat(describe_vocabulary(dataset.vocabulary(), all),
                      describe_unknown(dataset.vocabulary()),  //
                      "context      ", context_of(dataset.shape()), "\n",
                      dataset.class_names() == dataset.vocabulary().texts()
                          ? ""
                          : describe_class_names(dataset, all));
}

// What is read: images.
std::string describe_classes(const Dataset& dataset, bool all) {
  const DataShape shape = dataset.shape();
  return absl::StrCat(describe_class_names(dataset, all),  //
                      "images       ", shape.height, " x ", shape.width, " pixels, ",
                      shape.channels == 1 ? "grey\n" : "in colour; below they are drawn in grey\n");
}

}  // namespace

std::string describe_dataset(const Dataset& dataset, bool all) {
  const auto size = [](int64_t examples) {
    if (examples == 0) return std::string("drawn at random");
    return absl::StrCat(examples, examples == 1 ? " example" : " examples");
  };
  return absl::StrCat(
      dataset.shape().is_image() ? describe_classes(dataset, all) : describe_tokens(dataset, all),
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
  const auto describe =
      dataset.form() == DataForm::kSequence ? describe_sequence : describe_question;
  std::string text;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    absl::StrAppend(&text, describe(dataset, batch, row), "\n");
  }
  return text;
}

}  // namespace qkv
