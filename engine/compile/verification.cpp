#include "engine/compile/verification.h"

#include "engine/plan/memory_plan.h"
#include "engine/simulate/simulation.h"

namespace shardscope {

Verification::Verification(const Program& program, const Graph& graph, const Mesh& mesh,
                           const std::vector<ArenaLayout>& arenas)
    : times_(std::async(std::launch::async, [&program, &graph, &mesh, &arenas] {
        Passes pass{{}};
        pass("verify", [&] {
          verify(program, graph, mesh);
          prove_no_deadlock(program, graph, mesh);
          return true;
        });
        pass("verify memory", [&] {
          for (const ArenaLayout& arena : arenas) verify_memory(arena);
          return true;
        });
        return pass.times();
      })) {}

void Verification::finish(Passes& passes) { passes.add(times_.get()); }

}  // namespace shardscope
