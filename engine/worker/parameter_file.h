#pragma once

#include <string>

#include "engine/checkpoint/array_file.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"

namespace shardscope {

// How a plan's parameters lie, whole and under their names ("params/Dense_0/kernel"), in a file.
SafetensorsLayout parameter_layout(const Plan& plan);

// The file into which all ranks of a training write its parameters, of replicas the lowest rank's. Every rank makes
// one, of the same path, before it trains: what cannot be written is known then. Throws Failure (unwritable_file).
class ParameterFile {
 public:
  // `path` is there already, made by who starts the ranks.
  ParameterFile(const Plan& plan, int device, const std::string& path);

  // The values as they are. Collective over `world`.
  void write(const Executor& executor, Communicator& world) const;

 private:
  const Plan& plan_;
  int device_;
  ArrayFile file_;
};

}  // namespace shardscope
