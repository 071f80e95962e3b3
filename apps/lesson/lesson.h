#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/lesson/tape.h"
#include "data/dataset.h"
#include "models/model.h"
#include "train/config/train_options.h"

namespace qkv {

// The same example after some step of training.
struct LessonFrame {
  int64_t step = 0;
  double loss = 0;
  std::vector<std::pair<std::string, Tensor>> weights = {};  // [B, H, Tq, Tk], by layer
  // The root of the sum of squares of the gradients of a part's parameters: "blocks.0",
  // "token_embedding".
  std::vector<std::pair<std::string, double>> gradient_norms = {};
  std::vector<std::pair<std::string, Tensor>> parameters = {};  // of a small model
};

// A model, one example that it reads, and where to begin to look at it.
struct Lesson {
  Config config;                          // whose precision is f64
  std::vector<std::string> vocabulary;    // of a model of images: the names of their classes
  std::vector<std::string> answers = {};  // the names of classes, unless they are tokens
  int64_t step = 0;                       // of training; 0: it has had none
  Model model;
  Batch batch;  // of one row
  // With which the page can train the model: questions, and those without targets are not learned.
  std::optional<Batch> practice = {};
  // Parameters that a changed setting asks for and the model of the run does not have: their
  // numbers are random.
  std::vector<std::string> untrained = {};
  std::string layer = {};
  int64_t head = 0;
  int64_t position = 0;          // of a query
  bool begins_at_place = false;  // at the softmax of that query, rather than at a glance
  std::vector<LessonFrame> history = {};
  size_t steps_of_history = 0;  // that there are; the history may have fewer
  std::string language = {};    // "zh": with which the page begins; "": the browser's
  bool has_forms = false;       // whether its page has other forms of the model, too

  DataForm form() const { return form_of(config.model.kind); }
};

// Where to begin; a part that is missing has its default. Without layer and head, a trained model
// begins at the head whose attention is sharpest.
struct Beginning {
  std::optional<int64_t> layer = {};     // of the layers of attention, counted from 0; the last
  std::optional<int64_t> head = {};      // 0
  std::optional<int64_t> position = {};  // 0
};

// Sets where the lesson begins. An error names the option of `qkv explain` that is out of range, or
// says that the recording has no attention.
absl::Status begin_at(const Beginning& beginning, const Recording& recording, Lesson& lesson);

// Warnings, in a sentence each: parameters without training, a loss that is not finite.
std::vector<std::string> warnings_of(const Lesson& lesson, const Recording& recording);

// The config with settings of the model changed, "attention.projections=none". An error where they
// do not fit each other, change something else than the model, or ask for a trained parameter of
// another shape. Makes no model.
absl::StatusOr<Config> config_with(const Lesson& lesson, const std::vector<std::string>& settings);

// The lesson of that config, or its error: every parameter that is there before and after is the
// same, and those that are new are `untrained`. An untrained one of another shape is made anew.
absl::StatusOr<Lesson> with_settings(const Lesson& lesson,
                                     const std::vector<std::string>& settings);

// Settings that give another model of the same kind, one thing changed in each.
std::vector<std::string> single_settings(const Lesson& lesson);

// "encoder.blocks.0" of "encoder.blocks.0.attention.query.weight"; else what stands before the
// first dot.
std::string part_of_parameter(const std::string& name);

LessonFrame frame_of(const Recording& recording, int64_t step);

int64_t weights_in(const LessonFrame& frame);  // of attention: their numbers, and 1

// The first of `count` frames, the last, and others evenly between: at most `most`, but two at
// least.
std::vector<size_t> spread(size_t count, int64_t most);

}  // namespace qkv
