#pragma once

#include "apps/labs/kit/lab.h"

namespace qkv {

// Each in a file in the room of its subject, beside NAME.toml, which has what it says and takes.
Lab similarity_lab();
Lab importance_lab();
Lab scores_lab();
Lab scaling_lab();
Lab scaling_train_lab();
Lab why_w_lab();
Lab key_value_lab();
Lab leak_lab();
Lab heads_split_lab();
Lab heads_count_lab();
Lab narrow_wide_lab();
Lab order_lab();
Lab positions_lab();
Lab mixers_lab();
Lab conv_attention_lab();
Lab influence_lab();
Lab cost_lab();
Lab distance_lab();
Lab cross_lab();
Lab length_lab();
Lab more_lab();
Lab patches_lab();
Lab trajectory_lab();

// The list, in the order in which they build on each other.
inline constexpr Lab (*kLabs[])() = {
    similarity_lab,  importance_lab, scores_lab,    scaling_lab,     scaling_train_lab,
    why_w_lab,       key_value_lab,  leak_lab,      heads_split_lab, heads_count_lab,
    narrow_wide_lab, order_lab,      positions_lab, mixers_lab,      conv_attention_lab,
    influence_lab,   cost_lab,       distance_lab,  cross_lab,       length_lab,
    more_lab,        patches_lab,    trajectory_lab};

}  // namespace qkv
