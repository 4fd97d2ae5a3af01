#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shardscope {

// The names in a folder of checkpoints:
//
//   step_000120               a checkpoint
//   .step_000120.part         one in the making
//   .step_000090.gone         one that is being removed (.gone_2, ... where that name is taken)
//   step_000140.damaged       one that a run has put aside to write its own (.damaged_2, ...)
//   step_000090.left          what was beside the program's own files in one that was removed (.left_2, ...)

std::string step_folder_name(int64_t step);  // "step_000120"
std::string part_name(int64_t step);         // ".step_000120.part"
std::string gone_name(int64_t step);         // ".step_000090.gone"
std::string damaged_name(int64_t step);
std::string left_name(int64_t step);

// The step of a name that is one of a checkpoint; nothing for any other.
std::optional<int64_t> step_of_checkpoint(const std::string& name);
// The step of a checkpoint that was not completed or not yet removed.
std::optional<int64_t> step_of_leftover(const std::string& name);

std::string rank_file_name(int rank);  // "rank_00003.safetensors"
// Whether a file of this name in a checkpoint is one that the program writes.
bool is_checkpoint_file(const std::string& name);
// What NFS makes of a file that is removed while some process has it open; it goes when that ends.
bool is_held_by_nfs(const std::string& name);

}  // namespace shardscope
