#include "engine/compile/lay_out.h"

#include <limits>

#include "engine/plan/cost_model.h"
#include "engine/plan/memory_plan.h"

namespace shardscope {

namespace {

LaidOut lay_out(const LayoutProblem& problem, LayoutChoice choice, bool as_written, int threads) {
  LaidOut result;
  result.choice = std::move(choice);
  result.as_written = as_written;
  if (result.choice.empty()) return result;
  result.lowered = lower(problem, result.choice);
  result.arena = plan_memory(result.lowered.program, problem.graph, threads);
  result.step_seconds = predict_seconds(result.lowered.program, problem.graph, problem.rates);
  result.seconds = main_seconds(result.lowered.program, result.step_seconds);
  return result;
}

}  // namespace

LaidOut lay_out_as_written(const LayoutProblem& problem, int threads) {
  LayoutProblem fixed{problem.graph, problem.mesh, problem.rules, problem.start.lies, problem.rates};
  fixed.bucket_bytes = problem.bucket_bytes;
  return lay_out(fixed, fixed_choice(problem.start.placements, problem.graph.values.size()), true, threads);
}

LaidOut lay_out_cheapest(LayoutProblem problem, int threads, std::stop_token stop) {
  constexpr int attempts = 3;
  LaidOut best = lay_out(problem, choose_layouts(problem, stop), false, threads);
  if (best.choice.empty()) return best;
  const int64_t limit = best.choice.memory_bytes > 0 ? problem.memory_limit_bytes : std::numeric_limits<int64_t>::max();
  auto over = [&](const LaidOut& made) { return made.arena.bytes - limit; };
  auto keep_better = [&](LaidOut next) {
    const bool fits = over(next) <= 0;
    const bool better = fits != (over(best) <= 0) ? fits : fits ? next.seconds < best.seconds : over(next) < over(best);
    if (better) best = std::move(next);
  };
  double estimate = best.choice.memory_bytes;
  for (int attempt = 0; attempt < attempts && over(best) > 0 && estimate > static_cast<double>(over(best)); ++attempt) {
    problem.memory_limit_bytes = static_cast<int64_t>(estimate) - over(best);
    LaidOut next = lay_out(problem, choose_layouts(problem, stop), false, threads);
    if (next.choice.empty()) return next;
    if (next.choice.memory_bytes == 0) break;
    estimate = next.choice.memory_bytes;
    keep_better(std::move(next));
  }
  const double doubt = 0.005 * best.choice.seconds + 16 * problem.rates.seconds_per_collective;
  if (over(best) > 0 || best.choice.start_seconds - best.choice.seconds < doubt) {
    keep_better(lay_out_as_written(problem, threads));
  }
  return best;
}

}  // namespace shardscope
