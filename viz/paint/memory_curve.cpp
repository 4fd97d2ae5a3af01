#include "viz/paint/memory_curve.h"

#include <algorithm>
#include <cmath>

#include "engine/plan/stack_memory.h"

namespace shardscope {
namespace {

std::vector<PhaseRange> phases_of(const Program& program, const Sequence& sequence) {
  std::vector<PhaseRange> all;
  for (int r = 0; r < std::ssize(sequence.runs); ++r) {
    const TaskRun& run = sequence.runs[static_cast<size_t>(r)];
    const Task& task = program.tasks[static_cast<size_t>(run.task)];
    for (int place = 0; place < task.size(); ++place) {
      const Phase phase = task.issued(place).phase;
      if (all.empty() || all.back().run != r || all.back().phase != phase)
        all.push_back({phase, r, run.first + place, run.first + place});
      all.back().last = run.first + place;
    }
  }
  return all;
}

}  // namespace

MemoryCurve memory_curve(const Plan& plan, int stage, const std::stop_token& stop) {
  MemoryCurve curve;
  MemoryInUse& in_use = curve;
  if (plan.stack.runs_here()) {
    in_use = memory_in_use(plan.program, *plan.graph, plan.arenas.at(static_cast<size_t>(stage)), stage, stop);
  } else {
    curve.arrays = arrays_of_stack(plan, stage);
    in_use = memory_in_use_by_lives(plan.program, *plan.graph, curve.arrays, stage, stop);
  }
  if (!curve.totals.empty()) curve.phases = phases_of(plan.program, plan.program.main(stage));
  return curve;
}

const ArenaLayout& arena_of(const MemoryCurve& curve, const Plan& plan, int stage) {
  return plan.stack.runs_here() ? plan.arenas.at(static_cast<size_t>(stage)) : curve.arrays;
}

double highest_drawn(double held, int64_t limit) {
  constexpr double farthest_limit = 2, room = 1.06;
  return room * (double(limit) < farthest_limit * held ? std::max(held, double(limit)) : held);
}

std::vector<BufferUse> largest_in_use(const MemoryCurve& curve, const ArenaLayout& arena, int position, size_t most) {
  std::vector<BufferUse> found;
  for (const SlotUse& use : curve.uses) {
    if (use.first > position || position > use.last) continue;
    const Buffer& buffer = arena.buffers[static_cast<size_t>(use.buffer)];
    if (found.empty() || found.back().buffer != use.buffer) found.push_back({use.buffer, 0, 0, use.first, use.last});
    ++found.back().held;
    found.back().bytes += buffer.bytes / buffer.slot_count;
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &BufferUse::bytes);
  found.resize(std::min(found.size(), most));
  return found;
}

std::vector<int> column_peaks(std::span<const int64_t> totals, double begin, double end, int pixels) {
  std::vector<int> peaks;
  if (totals.empty() || !(end > begin)) return peaks;
  const int length = static_cast<int>(totals.size());
  for (int x = 0; x < pixels; ++x) {
    const auto at = [&](int pixel) { return begin + (end - begin) * pixel / pixels; };
    const int first = std::clamp(static_cast<int>(std::floor(at(x))), 0, length - 1);
    const int behind = std::clamp(static_cast<int>(std::ceil(at(x + 1))), first + 1, length);
    const auto most = std::max_element(totals.begin() + first, totals.begin() + behind);
    peaks.push_back(static_cast<int>(most - totals.begin()));
  }
  return peaks;
}

}  // namespace shardscope
