#pragma once

#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// Of which layer of the network the steps of a plan are; -1: of none, or of several.
class NetworkLayers {
 public:
  explicit NetworkLayers(const Plan& plan);

  // That of the op; of an update that of the first state which it reads.
  int of(OpId op) const;
  // Of what moves arrays that of the ops which want them, where it is one.
  int of(const Instruction& instruction) const;

 private:
  const Graph* graph_;
  std::vector<int> of_state_;
};

}  // namespace shardscope
