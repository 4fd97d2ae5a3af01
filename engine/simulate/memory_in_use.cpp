#include "engine/simulate/memory_in_use.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

class InUse {
 public:
  InUse(const Program& program, const Graph& graph, const ArenaLayout& arena, int stage, const std::stop_token& stop)
      : program_(program),
        graph_(graph),
        arena_(arena),
        sequence_(program.main(stage)),
        stop_(stop),
        task_runs_(program.tasks.size()),
        reads_(program.values.size()),
        always_(arena_.buffers.size()) {
    for (const TaskRun& run : sequence_.runs) {
      if (run.is_first) tasks_.push_back(run.task);
      Runs& runs = task_runs_[static_cast<size_t>(run.task)];
      if (std::ssize(runs.of) <= run.microbatch) runs.of.resize(static_cast<size_t>(run.microbatch) + 1, nullptr);
      runs.of[static_cast<size_t>(run.microbatch)] = runs.last = &run;
    }
  }

  MemoryInUse run() {
    for (const int task : tasks_) find_reads(task);
    add_always();
    for (const int task : tasks_) {
      if (stop_.stop_requested()) return {};
      add_made(task);
    }
    merge();
    add_up();
    return std::move(result_);
  }

  MemoryInUse run_by_lives() {
    find_made_and_read();
    for (size_t b = 0; b < arena_.buffers.size(); ++b) {
      if (stop_.stop_requested()) return {};
      add_life(static_cast<int>(b));
    }
    merge();
    add_up();
    return std::move(result_);
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

  // Per buffer where its values are first made and last read, folded.
  void find_made_and_read() {
    made_.assign(arena_.buffers.size(), arena_.length);
    read_.assign(arena_.buffers.size(), -1);
    for (const TaskRun& run : sequence_.runs) {
      if (!run.is_first) continue;
      const Task& task = task_of(run.task);
      for (int place = 0; place < task.size(); ++place) {
        const CollectiveDone* done = task.issued(place).as<CollectiveDone>();
        const Instruction& reader = done ? task.instructions[static_cast<size_t>(done->start)] : task.issued(place);
        const int position = run.folded_first + place;
        for (const int value : task.issued(place).destinations()) {
          const int buffer = arena_.buffer_of[static_cast<size_t>(value)];
          if (buffer >= 0) made_[static_cast<size_t>(buffer)] = std::min(made_[static_cast<size_t>(buffer)], position);
        }
        for (const int value : reader.operands()) {
          const int buffer = arena_.buffer_of[static_cast<size_t>(value)];
          if (buffer >= 0) read_[static_cast<size_t>(buffer)] = std::max(read_[static_cast<size_t>(buffer)], position);
        }
      }
    }
  }

  // The first run of the task that a folded position is in.
  const TaskRun& first_run_at(int position) const {
    const TaskRun* found = nullptr;
    for (const int task : tasks_) {
      const TaskRun* run = runs(task).of.front();
      if (run->folded_first > position) break;
      found = run;
    }
    return *found;
  }

  Phase phase_at(int position) const { return task_of(first_run_at(position).task).phase; }

  void add_life(int b) {
    const Buffer& buffer = arena_.buffers[static_cast<size_t>(b)];
    if (buffer.persistent) {
      for (int slot = 0; slot < buffer.slot_count; ++slot) add(b, slot, 0, last());
      return;
    }
    int first = buffer.first, end = buffer.last;
    if (buffer.slot_count > 1) {
      if (const int made = made_[static_cast<size_t>(b)]; made < buffer.last) first = std::max(first, made);
      const int read = read_[static_cast<size_t>(b)];
      if (read >= first && phase_at(read) == phase_at(end)) end = std::min(end, read);
    }
    const TaskRun &from = first_run_at(first), &to = first_run_at(end);
    const Runs &makers = runs(from.task), &readers = runs(to.task);
    const bool each = makers.of.size() > 1 && readers.of.size() > 1;
    for (const TaskRun* maker : makers.of) {
      const TaskRun* reader = each ? readers.of[static_cast<size_t>(maker->microbatch)] : readers.last;
      const int made = maker->first + first - from.folded_first;
      add(b, maker->microbatch % buffer.slot_count, made, std::max(made, reader->first + end - to.folded_first));
    }
  }

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
      const bool adds_up = accumulates(instruction, graph_);
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
      if (same && use.first <= result_.uses.back().last + 1) {
        result_.uses.back().last = std::max(result_.uses.back().last, use.last);
      } else {
        result_.uses.push_back({use.buffer, use.first, use.last});
      }
      before = &use;
    }
  }

  void add_up() {
    result_.bytes.assign(static_cast<size_t>(sequence_.length) + 1, CategoryBytes{});
    for (const SlotUse& use : result_.uses) {
      const Buffer& buffer = arena_.buffers[static_cast<size_t>(use.buffer)];
      const auto category = static_cast<size_t>(buffer.category);
      result_.bytes[static_cast<size_t>(use.first)][category] += buffer.bytes / buffer.slot_count;
      result_.bytes[static_cast<size_t>(use.last) + 1][category] -= buffer.bytes / buffer.slot_count;
    }
    result_.bytes.pop_back();
    CategoryBytes sum{};
    for (CategoryBytes& at : result_.bytes) {
      for (size_t c = 0; c < at.size(); ++c) at[c] = sum[c] += at[c];
      result_.totals.push_back(std::accumulate(sum.begin(), sum.end(), int64_t{0}));
    }
    result_.peak = static_cast<int>(std::ranges::max_element(result_.totals) - result_.totals.begin());
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
  std::vector<int> made_, read_;          // per buffer
  std::vector<Use> uses_;
  MemoryInUse result_;
};

}  // namespace

MemoryInUse memory_in_use(const Program& program, const Graph& graph, const ArenaLayout& arena, int stage,
                          const std::stop_token& stop) {
  return InUse(program, graph, arena, stage, stop).run();
}

MemoryInUse memory_in_use_by_lives(const Program& program, const Graph& graph, const ArenaLayout& arrays, int stage,
                                   const std::stop_token& stop) {
  return InUse(program, graph, arrays, stage, stop).run_by_lives();
}

}  // namespace shardscope
