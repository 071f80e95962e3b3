#pragma once

#include <vector>

#include "apps/labs/lab.h"

// Sections of labs that are in files of their own.
namespace qkv {

// first_shares.cc: how equal the shares of attention are before any training; of the lab influence.
Section share_section(const LabContext& lab);

// receptive_field.cc: how far a convolution hears through its layers; of the lab influence.
Section stacked_section(const LabContext& lab);
Section local_section(const LabContext& lab);
Section path_section(const LabContext& lab);

Text layers_text(int64_t layers);  // "1 layer", "3 layers"

// How many states there are through which all must pass that the last of n tokens hears of the
// first in a recurrence.
int64_t states_between(int64_t n);

// graph.cc: attention to the nodes of a graph; of the lab patches.
Section graph_section(const LabContext& lab);

// heads_split_trained.cc: two layers that make their heads in the two ways learn to do what a third
// one does; of the lab heads-split.
Section heads_split_trained_section(const LabContext& lab);

// its.cc: what the word "its" takes in; of the lab more.
std::vector<Section> its_sections(const LabContext& lab);

}  // namespace qkv
