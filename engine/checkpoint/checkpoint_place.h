#pragma once

#include "engine/base/held_folder.h"

namespace shardscope {

// What a folder of checkpoints fails with.
inline constexpr const char* unwritable_checkpoint = "unwritable_checkpoint";

// Throws Failure checkpoint_folder_moved where its path does not lead to it any more, with that path and where the
// folder is now: it was moved, replaced or removed.
void require_in_place(const HeldFolder& folder);

}  // namespace shardscope
