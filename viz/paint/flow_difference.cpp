#include "viz/paint/flow_difference.h"

#include <algorithm>

#include "viz/paint/flow_alike.h"

namespace shardscope {
namespace {

std::vector<std::string> words_of(const Plan& plan, const FlowGraph& graph, const FlowLane& lane) {
  const InstructionId first = graph.nodes[static_cast<size_t>(lane.first)].steps.front(),
                      last = graph.nodes[static_cast<size_t>(lane.end) - 1].steps.front();
  return alike_words(plan, first.task, first.index, last.index + 1);
}

bool share_a_layer(const FlowLane& a, const FlowLane& b) {
  return std::ranges::find_first_of(a.layers, b.layers) != a.layers.end();
}

const Instruction& shown_step(const Plan& plan, const FlowGraph& graph, int node) {
  const InstructionId id = graph.nodes[static_cast<size_t>(node)].steps.front();
  return plan.program.tasks[static_cast<size_t>(id.task)].instructions[static_cast<size_t>(id.index)];
}

// The first pair of values that do not lie alike.
bool find_values(const Plan& plan, std::span<const int> here, std::span<const int> there, LaneDifference& found) {
  for (size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
    const ProgramValue& own = plan.program.values[static_cast<size_t>(here[i])];
    const ProgramValue& other = plan.program.values[static_cast<size_t>(there[i])];
    if (own.shape == other.shape && own.sharding == other.sharding) continue;
    found.value_here = here[i];
    found.value_there = there[i];
    return true;
  }
  return false;
}

}  // namespace

std::optional<LaneDifference> lane_difference(const Plan& plan, const FlowGraph& graph, int lane) {
  const FlowLane& own = graph.lanes[static_cast<size_t>(lane)];
  if (own.layers.empty()) return {};
  const std::vector<std::string> words = words_of(plan, graph, own);
  std::optional<LaneDifference> found;
  std::ptrdiff_t longest = -1;
  for (int l = 0; l < std::ssize(graph.lanes); ++l) {
    const FlowLane& other = graph.lanes[static_cast<size_t>(l)];
    if (other.task != own.task || other.layers.empty() || share_a_layer(own, other)) continue;
    const std::vector<std::string> theirs = words_of(plan, graph, other);
    const std::ptrdiff_t same = std::ranges::mismatch(words, theirs).in1 - words.begin();
    if (same == std::ssize(words) && same == std::ssize(theirs)) return {};
    if (same <= longest) continue;
    longest = same;
    found = LaneDifference{l, same < std::ssize(words) ? own.first + static_cast<int>(same) : -1,
                           same < std::ssize(theirs) ? other.first + static_cast<int>(same) : -1};
  }
  if (!found || found->here < 0 || found->there < 0) return found;
  const Instruction& here = shown_step(plan, graph, found->here);
  const Instruction& there = shown_step(plan, graph, found->there);
  const bool same_instruction = here.kind() == there.kind() && here.phase == there.phase &&
                                here.axes() == there.axes() &&
                                plan.instruction_name(here).substr(plan.instruction_name(here).rfind('/') + 1) ==
                                    plan.instruction_name(there).substr(plan.instruction_name(there).rfind('/') + 1);
  if (same_instruction && !find_values(plan, here.operands(), there.operands(), *found))
    found->is_given = find_values(plan, here.destinations(), there.destinations(), *found);
  return found;
}

}  // namespace shardscope
