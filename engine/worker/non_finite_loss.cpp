#include "engine/worker/non_finite_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/runtime/finite_check.h"
#include "engine/worker/rank_exchange.h"

namespace shardscope {

namespace {

constexpr int none = std::numeric_limits<int>::max();

// What a rank found: program value and position, and when the plan has that position.
struct Find {
  int stored = none, position = none;
  double when = std::numeric_limits<double>::infinity();
};

double time_of(const Plan& plan, int stage, int position) {
  if (plan.program.stages == 1) return position;
  return plan.simulation.stages[static_cast<size_t>(stage)][static_cast<size_t>(position)].start;
}

}  // namespace

Failure explain_non_finite_loss(const Plan& plan, Executor& executor, Communicator& world, const StepContext& context,
                                const std::function<void(int)>& begin_microbatch, const std::string& what) {
  const Sequence& sequence = plan.program.main(executor.stage());
  FiniteCheck check(plan, sequence, executor);
  Find own;
  own.stored = check.stored().value_or(none);
  executor.run(sequence.purpose, context,
               {begin_microbatch, [](const Task& task) { return task.phase != Phase::update; }, &check});
  if (check.position()) {
    own.position = *check.position();
    own.when = time_of(plan, executor.stage(), own.position);
  }
  const std::vector<Find> finds = RankExchange(world).gather(own);

  const std::string begin = fmt::format("{} in training step {}", what, context.step);
  const std::string hint = "a smaller learning rate often helps; --keep-going trains on all the same";
  const int stored = std::ranges::min(finds, {}, &Find::stored).stored;
  if (stored != none) {
    const std::string& name = plan.graph->values[plan.program.values[stored].graph_value].name;
    const std::string since =
        context.step == 0 ? "from the start" : fmt::format("since the update of step {}", context.step - 1);
    return Failure({"not_finite", fmt::format("{}: '{}' is not finite {}", begin, name, since), "", hint});
  }
  const auto first = std::ranges::min_element(finds, {}, &Find::when);
  if (first->position == none) {
    return Failure({"not_finite", begin + "; done again, all its results are finite", "", hint});
  }
  const int rank = static_cast<int>(first - finds.begin());
  const Instruction& instruction = plan.instructions(plan.stage_of(rank))[first->position];
  return Failure({"not_finite",
                  fmt::format("{}: the first result that is not finite is that of '{}' ({}), on rank {}", begin,
                              plan.instruction_name(instruction), name(instruction.phase), rank),
                  fmt::format("step {} ({})", first->position, plan.instruction_name(instruction)), hint});
}

}  // namespace shardscope
