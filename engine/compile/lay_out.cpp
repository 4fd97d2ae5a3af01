#include "engine/compile/lay_out.h"

#include "engine/plan/cost_model.h"
#include "engine/plan/memory_plan.h"

namespace shardscope {

namespace {

double seconds_of(const Lowered& lowered, const LayoutProblem& problem) {
  return main_seconds(lowered.program, predict_seconds(lowered.program, problem.graph, problem.rates));
}

// How far the estimated gain of the choice may be from the programs' own: the latencies of collectives that small
// arrays share.
double doubt(const LayoutChoice& choices, const CostRates& rates) {
  return 0.005 * choices.seconds + 16 * rates.seconds_per_collective;
}

}  // namespace

LaidOut lay_out_as_written(const LayoutProblem& problem) {
  LayoutProblem fixed{problem.graph, problem.mesh, problem.rules, problem.start.lies, problem.rates};
  fixed.bucket_bytes = problem.bucket_bytes;
  LaidOut result{fixed_choice(problem.start.placements, problem.graph.values.size()), {}, true};
  result.lowered = lower(fixed, result.choices);
  return result;
}

LaidOut lay_out_cheapest(const LayoutProblem& problem, int threads, std::stop_token stop) {
  LaidOut chosen{choose_layouts(problem, stop), {}, false};
  if (chosen.choices.empty()) return chosen;
  chosen.lowered = lower(problem, chosen.choices);
  if (chosen.choices.start_seconds - chosen.choices.seconds >= doubt(chosen.choices, problem.rates)) return chosen;
  LaidOut written = lay_out_as_written(problem);
  if (seconds_of(written.lowered, problem) >= seconds_of(chosen.lowered, problem)) return chosen;
  const bool must_fit = chosen.choices.traded;
  if (must_fit && plan_memory(written.lowered.program, problem.graph, threads).bytes > problem.memory_limit_bytes) {
    return chosen;
  }
  return written;
}

}  // namespace shardscope
