#pragma once

#include <future>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/compile/passes.h"

namespace shardscope {

// Verifies a program and its arenas (verify(), prove_no_deadlock(), verify_memory()) on another thread while the plan
// is described. What it is given stays as it is until finish() or the end.
class Verification {
 public:
  Verification(const Program& program, const Graph& graph, const Mesh& mesh, const std::vector<ArenaLayout>& arenas);
  // Waits for it. Throws Failure where something is wrong.
  void finish(Passes& passes);

 private:
  std::future<std::vector<PassTime>> times_;
};

}  // namespace shardscope
