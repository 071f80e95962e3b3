#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/evaluate/evaluate.h"

namespace qkv {

// How well one class was told from the others.
struct ClassScore {
  int64_t examples = 0, answered = 0, right = 0;
  double precision() const;  // the share of what was answered with the class that is of it
  double recall() const;     // the share of its examples that were answered with it
  double f1() const;         // their harmonic mean; 0 where nothing is right
};
std::vector<ClassScore> class_scores(const Evaluation& e);

// The mean F1 of the classes that occur: as the class of an example, or as an answer.
double macro_f1(const std::vector<ClassScore>& scores);

// A table with the scores of each class that occurs, and the confusion matrix of these: a row for
// each class of an example, a column for each answer. Where it is wider than a terminal, the rows
// come once for each part of the columns that fits. Where more than 30 classes occur, the pairs
// that were confused most often are listed in its place.
std::string class_report(const Evaluation& e, const std::vector<std::string>& names);

}  // namespace qkv
