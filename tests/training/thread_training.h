#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/worker/worker.h"

namespace shardscope {

struct ThreadTraining {
  std::vector<StepMessage> steps;
  std::vector<std::vector<ExpertLoad>> expert_loads;     // of each step, of a model with experts
  std::vector<RankMeasurement> ranks;                    // after the last step (heap: of the process; outside: 0)
  std::map<std::string, std::vector<float>> parameters;  // whole arrays by path, "params/Dense_0/kernel"; in f32
  std::map<std::string, std::vector<float>> optimizer;   // state likewise, "mu/params/Dense_0/kernel"
  bool replicas_equal = true;                            // devices that hold the same part hold the same bits
};

// Runs a plan's ranks as threads of this process: for tests and benchmarks. With 0 steps the initial values come back.
// `parameter_file` and `checkpoints` as TrainHooks has them.
// Throws the Failure of the rank that failed first.
ThreadTraining train_in_threads(const Plan& plan, int64_t steps, std::stop_token stop = {},
                                const std::function<void(const StepMessage&)>& on_step = {},
                                const std::string& parameter_file = {}, const CheckpointOptions& checkpoints = {});

}  // namespace shardscope
