#pragma once

#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_index.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// A state of a run, and how it is laid out on the run's mesh.
struct StoredState {
  std::string name;
  TensorType type;  // of the whole array
  Sharding sharding;
  bool parameter = false;
  std::vector<int> devices = {};  // that hold it, ascending; empty: all
};

// Who writes what: of parts that several devices hold, the lowest rank. Files have no hashes yet, and the index no
// model and step.
//
// Example: mesh data=2, model=2; a bias on no axis is written by rank 0, a kernel split over model by ranks 0 and 1.
// Ranks 2 and 3 write nothing.
CheckpointIndex lay_out_checkpoint(const std::vector<StoredState>& states, const Mesh& mesh);

// What is in a file, in the order of the index's states.
struct FilePiece {
  int state = 0;
  int piece = 0;  // of the state
};
std::vector<FilePiece> pieces_of(const CheckpointIndex& index, int file);
SafetensorsLayout file_layout(const CheckpointIndex& index, int file);

// What keeps a checkpoint from being restored into a run of this model and these states: one error for each, at the
// checkpoint's `path`; code other_model. A checkpoint may hold more than the run needs where `all` is false, and two
// dimensions as one (joined_dimension.h).
std::vector<Error> differences(const CheckpointIndex& index, const std::string& path, const std::string& model,
                               const std::vector<StoredState>& states, bool all);

}  // namespace shardscope
