#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/progress_lines.h"
#include "engine/data/training_data.h"
#include "engine/ops/schedule.h"

namespace shardscope {

// What training a plan takes beside its program. compile() fills it once; ranks, launchers and views read it here.
struct TrainingFacts {
  std::string model;        // the network's name, by which checkpoints know it
  std::string description;  // of the network, as its file has it (config.json), in one line; empty: there is none
  std::string weights;      // the folder of the files that hold its first parameters; empty: they are made from a seed
  int64_t steps = 0;        // of the whole training
  Schedule learning_rate;   // 0 where nothing is learned
  TrainingData data;
  ProgressLines progress;
  // The drawings of layouts that are printed before the first step, as caption and path of the array.
  std::vector<std::pair<std::string, std::vector<std::string>>> captions;
  std::optional<Error> refusal;  // why ranks cannot run it, although it is planned
};

}  // namespace shardscope
