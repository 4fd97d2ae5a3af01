#include "viz/paint/memory_curve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/graph/op_definition.h"

namespace shardscope {
namespace {

class CurveMaker {
 public:
  CurveMaker(const Plan& plan, int stage, const std::stop_token& stop)
      : program_(plan.program),
        graph_(*plan.graph),
        arena_(plan.arenas.at(static_cast<size_t>(stage))),
        sequence_(plan.program.main(stage)),
        stop_(stop),
        task_runs_(plan.program.tasks.size()),
        reads_(plan.program.values.size()),
        always_(arena_.buffers.size()) {
    for (const TaskRun& run : sequence_.runs) {
      if (run.is_first) tasks_.push_back(run.task);
      Runs& runs = task_runs_[static_cast<size_t>(run.task)];
      if (std::ssize(runs.of) <= run.microbatch) runs.of.resize(static_cast<size_t>(run.microbatch) + 1, nullptr);
      runs.of[static_cast<size_t>(run.microbatch)] = runs.last = &run;
    }
  }

  MemoryCurve run() {
    for (const int task : tasks_) find_reads(task);
    add_always();
    for (const int task : tasks_) {
      if (stop_.stop_requested()) return {};
      add_made(task);
    }
    merge();
    add_up();
    find_phases();
    return std::move(curve_);
  }

 private:
  struct Runs {
    std::vector<const TaskRun*> of;  // by microbatch
    const TaskRun* last = nullptr;
  };
  struct Read {
    int task = -1;
    int place = 0;  // the last of the task
  };
  struct Use {
    int buffer = -1, slot = 0, first = 0, last = 0;
    auto operator<=>(const Use&) const = default;
  };

  int last() const { return sequence_.length - 1; }
  const Task& task_of(int task) const { return program_.tasks[static_cast<size_t>(task)]; }
  const Runs& runs(int task) const { return task_runs_[static_cast<size_t>(task)]; }

  // What is stored, and what is on its way from a send.
  void add_always() {
    for (size_t b = 0; b < always_.size(); ++b) always_[b] = arena_.buffers[b].persistent;
    for (const int task : tasks_)
      for (int i = 0; i < task_of(task).size(); ++i)
        if (task_of(task).instructions[static_cast<size_t>(i)].as<Send>())
          always_[static_cast<size_t>(arena_.workspace[{task, i}])] = true;
    for (size_t b = 0; b < always_.size(); ++b)
      for (int slot = 0; always_[b] && slot < arena_.buffers[b].slot_count; ++slot)
        add(static_cast<int>(b), slot, 0, last());
  }

  void find_reads(int task) {
    const Task& own = task_of(task);
    for (int place = 0; place < own.size(); ++place) {
      const CollectiveDone* done = own.issued(place).as<CollectiveDone>();
      const Instruction& reader = done ? own.instructions[static_cast<size_t>(done->start)] : own.issued(place);
      for (const int value : reader.operands()) {
        std::vector<Read>& reads = reads_[static_cast<size_t>(value)];
        if (reads.empty() || reads.back().task != task) reads.push_back({task, place});
        reads.back().place = place;
      }
    }
  }

  void add(int buffer, int slot, int first, int last) { uses_.push_back({buffer, slot, first, last}); }

  void add_made(int task) {
    const Task& own = task_of(task);
    for (int place = 0; place < own.size(); ++place) {
      const Instruction& instruction = own.issued(place);
      const bool adds_up = accumulates(instruction);
      const CollectiveDone* done = instruction.as<CollectiveDone>();
      const int made_at = done ? own.order.place(done->start) : place;
      for (const int value : instruction.results()) {
        const int buffer = arena_.buffer_of[static_cast<size_t>(value)];
        if (buffer < 0 || always_[static_cast<size_t>(buffer)]) continue;
        const std::vector<Read>& reads = reads_[static_cast<size_t>(value)];
        const bool read_later = std::ranges::any_of(reads, [&](const Read& read) { return read.task != task; });
        const bool stays = !read_later && std::ranges::binary_search(own.outputs, value);
        for (const TaskRun* run : runs(task).of) {
          const int made = run->first + made_at;
          const int slot = run->microbatch % arena_.buffers[static_cast<size_t>(buffer)].slot_count;
          add(buffer, slot, adds_up ? 0 : made, stays ? last() : std::max(run->first + place, last_read(reads, *run)));
        }
      }
      const int workspace = instruction.as<Compute>() ? arena_.workspace[{task, own.order.index(place)}] : -1;
      if (workspace < 0) continue;
      for (const TaskRun* run : runs(task).of) add(workspace, 0, run->first + place, run->first + place);
    }
  }

  bool accumulates(const Instruction& instruction) const {
    const OpDefinition* definition = instruction.kind() == InstructionKind::compute && instruction.op != no_id
                                         ? graph_.ops[instruction.op].definition
                                         : nullptr;
    return definition && definition->accumulates();
  }

  // Of what a run has made: by the run of the same microbatch where the reader has one for each.
  int last_read(const std::vector<Read>& reads, const TaskRun& maker) const {
    int last = -1;
    for (const auto& [task, place] : reads) {
      const bool each = runs(maker.task).of.size() > 1 && runs(task).of.size() > 1;
      const TaskRun* reader = each ? runs(task).of[static_cast<size_t>(maker.microbatch)] : runs(task).last;
      last = std::max(last, reader->first + place);
    }
    return last;
  }

  // Values that share a slot one after the other, or at a time, are one use of it.
  void merge() {
    std::ranges::sort(uses_);
    const Use* before = nullptr;
    for (const Use& use : uses_) {
      const bool same = before && before->buffer == use.buffer && before->slot == use.slot;
      if (same && use.first <= curve_.uses.back().last + 1) {
        curve_.uses.back().last = std::max(curve_.uses.back().last, use.last);
      } else {
        curve_.uses.push_back({use.buffer, use.first, use.last});
      }
      before = &use;
    }
  }

  void add_up() {
    curve_.bytes.assign(static_cast<size_t>(sequence_.length) + 1, CategoryBytes{});
    for (const SlotUse& use : curve_.uses) {
      const Buffer& buffer = arena_.buffers[static_cast<size_t>(use.buffer)];
      const auto category = static_cast<size_t>(buffer.category);
      curve_.bytes[static_cast<size_t>(use.first)][category] += buffer.bytes / buffer.slot_count;
      curve_.bytes[static_cast<size_t>(use.last) + 1][category] -= buffer.bytes / buffer.slot_count;
    }
    curve_.bytes.pop_back();
    CategoryBytes sum{};
    for (CategoryBytes& at : curve_.bytes) {
      for (size_t c = 0; c < at.size(); ++c) at[c] = sum[c] += at[c];
      curve_.totals.push_back(std::accumulate(sum.begin(), sum.end(), int64_t{0}));
    }
    curve_.peak = static_cast<int>(std::ranges::max_element(curve_.totals) - curve_.totals.begin());
  }

  void find_phases() {
    for (int r = 0; r < std::ssize(sequence_.runs); ++r) {
      const TaskRun& run = sequence_.runs[static_cast<size_t>(r)];
      for (int s = 0; s < task_of(run.task).size(); ++s) {
        const Phase phase = task_of(run.task).issued(s).phase;
        std::vector<PhaseStretch>& all = curve_.phases;
        if (all.empty() || all.back().run != r || all.back().phase != phase)
          all.push_back({phase, r, run.first + s, run.first + s});
        all.back().last = run.first + s;
      }
    }
  }

  const Program& program_;
  const Graph& graph_;
  const ArenaLayout& arena_;
  const Sequence& sequence_;
  const std::stop_token& stop_;
  std::vector<int> tasks_;  // of the sequence
  std::vector<Runs> task_runs_;
  std::vector<std::vector<Read>> reads_;  // per value, by task
  std::vector<bool> always_;              // per buffer
  std::vector<Use> uses_;
  MemoryCurve curve_;
};

}  // namespace

MemoryCurve memory_curve(const Plan& plan, int stage, const std::stop_token& stop) {
  return CurveMaker(plan, stage, stop).run();
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
