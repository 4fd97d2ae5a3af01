#pragma once

#include <string>
#include <vector>

#include "engine/data/training_data.h"

namespace shardscope {

// The data of a run as Python: batches(), a generator of {input: array}, one a step, for ever; its constants are the
// options of the data in capitals (the seed is DATA_SEED), and those of `constants`, in Python.
struct JaxData {
  std::string source;
  std::vector<std::pair<std::string, std::string>> constants;
};
JaxData jax_data(const TrainingData& data);

}  // namespace shardscope
