#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/compile/precision.h"
#include "engine/config/run_config.h"
#include "engine/data/training_data.h"
#include "engine/ops/schedule.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/stages.h"
#include "models/registry.h"

namespace shardscope {

// Tokens and experts, as they are split (see token_split.h).
struct TokenSplit {
  TokenBlocks blocks;
  std::vector<std::string> batch, length;  // mesh axes that split them, major to minor
  std::vector<std::string> experts;        // the last of the batch's, to which tokens travel; none: no token does
  std::vector<std::string> features;       // that split each expert's kernels, and no token
  int64_t blocks_of_features = 1;          // that these make
  std::pair<std::string, std::string> place_of_tokens, place_of_experts;  // in the run file, and for people
};

// A run file's values with every name looked up, every option read and the mesh built, once: what the passes of
// compile() work on. What is missing has an error.
struct ResolvedRun {
  const RunConfig* config = nullptr;  // which outlives it
  std::optional<StagedMesh> mesh;
  PipelineShape pipeline;  // on that mesh
  const ModelDefinition* model = nullptr;
  OptionList model_options;
  TrainingTypes types;
  bool may_build = false;                          // the model, of these options
  const OptimizerDefinition* optimizer = nullptr;  // null too where the run learns nothing
  OptionList optimizer_options;
  Schedule learning_rate;
  TrainingData data;            // without what is asked of it
  int64_t microbatch_rows = 1;  // of a microbatch, on all devices
  int64_t sequence_length = 0;  // what the data say; 0: nothing
  bool batch_known = false;     // they are what the file means
  TokenSplit split;             // as its graph has it
  std::vector<Error> errors;    // unknown model, data kind, optimizer or option, faults of the mesh
};
ResolvedRun resolve_run(const RunConfig& config);

}  // namespace shardscope
