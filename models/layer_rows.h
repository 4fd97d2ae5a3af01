#pragma once

#include "models/layer_kind.h"

namespace shardscope {

inline constexpr const char* dispatch_form =
    "such as \"r = top_k 2\", and later \"dispatch r from x\" or \"dispatch r from x capacity 1.25\"";

// Throws Failure where a layer's input is no rows at experts.
void require_rows(const Words& words, const ListedLayer& layer);

// Rows (b, features) as sequences of one, which ops of experts take; sequences as they are.
ValueId as_sequence(const Module& module, ValueId x, const char* leaf);

}  // namespace shardscope
