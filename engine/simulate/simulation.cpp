#include "engine/simulate/simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/program/program_text.h"

namespace shardscope {

namespace {

class Simulator {
 public:
  Simulator(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
            const InstructionTable<double>& seconds, const Streams& streams, bool without_limits = false)
      : program_(program),
        text_{program, graph, mesh},
        seconds_(seconds),
        streams_(streams),
        without_limits_(without_limits),
        channels_(program.channels.size()) {
    for (int stage = 0; stage < program.stages; ++stage) {
      const Sequence* sequence = program.find(purpose, stage);
      sequences_.push_back(sequence);
      result_.stages.emplace_back(sequence ? sequence->length : 0);
    }
    at_.resize(sequences_.size());
    clocks_.assign(sequences_.size(), StageClock(streams));
  }

  Simulation run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int stage = 0; stage < program_.stages; ++stage) {
        while (advance(stage)) moved = true;
      }
    }
    result_.streams = streams_.names;
    double busy = 0;
    for (int stage = 0; stage < program_.stages; ++stage) {
      if (!is_done(stage)) throw cycle(stage);
      busy += result_.working_seconds(stage);
      const StageClock& clock = clocks_[stage];
      result_.seconds = std::max(result_.seconds, clock.time());
      result_.communication.push_back({clock.exposed(), clock.hidden()});
      result_.transfers.push_back(clock.transfers());
    }
    if (result_.seconds > 0) result_.bubble = 1 - busy / (result_.seconds * program_.stages);
    return std::move(result_);
  }

  // The most messages of a channel that were on their way at a time; after run().
  int most_under_way(int channel) const {
    const auto& [sent, taken] = channels_[channel];
    size_t most = 0;
    for (size_t i = 0, gone = 0; i < sent.size(); ++i) {
      while (gone < i && taken[gone] <= sent[i]) ++gone;
      most = std::max(most, i + 1 - gone);
    }
    return static_cast<int>(most);
  }

 private:
  // When each message was there, and when it was taken.
  struct Messages {
    std::vector<double> sent, taken;
  };
  struct Turn {
    size_t run = 0;
    int place = 0;
  };

  bool is_done(int stage) const { return !sequences_[stage] || at_[stage].run == sequences_[stage]->runs.size(); }
  const TaskRun& run_of(int stage) const { return sequences_[stage]->runs[at_[stage].run]; }
  const Task& task(int stage) const { return program_.tasks[run_of(stage).task]; }
  const Instruction& instruction(int stage) const { return task(stage).issued(at_[stage].place); }

  bool advance(int stage) {
    if (is_done(stage)) return false;
    const Instruction& next = instruction(stage);
    Messages* messages = is_transfer(next.kind()) ? &channels_[next.channel()] : nullptr;
    StageClock& clock = clocks_[stage];
    if (next.kind() == InstructionKind::send && !without_limits_) {
      const size_t capacity = static_cast<size_t>(program_.channels[next.channel()].capacity),
                   sent = messages->sent.size();
      if (sent >= messages->taken.size() + capacity) return false;
      if (sent >= capacity) clock.idle_until(messages->taken[sent - capacity]);
    } else if (next.kind() == InstructionKind::receive) {
      const size_t taken = messages->taken.size();
      if (messages->sent.size() == taken) return false;
      clock.idle_until(messages->sent[taken]);
    }
    const Simulation::Span span = issue(stage, next);
    if (next.kind() == InstructionKind::send) messages->sent.push_back(span.end);
    if (next.kind() == InstructionKind::receive) messages->taken.push_back(span.end);
    result_.stages[stage][run_of(stage).first + at_[stage].place] = span;
    if (++at_[stage].place == task(stage).size()) ++at_[stage].run, at_[stage].place = 0;
    return true;
  }

  Simulation::Span issue(int stage, const Instruction& next) {
    StageClock& clock = clocks_[stage];
    const int first = run_of(stage).first;
    const IssueOrder& order = task(stage).order;
    const InstructionId id{run_of(stage).task, order.index(at_[stage].place)};
    if (const CollectiveStart* start = next.as<CollectiveStart>()) {
      clock.start(first + at_[stage].place, streams_.of(program_, *start), seconds_[id]);
      return {clock.time(), clock.time()};
    }
    const CollectiveDone* done = next.as<CollectiveDone>();
    if (!done) return clock.compute(seconds_[id]);
    const CollectiveStart& start = *task(stage).instructions[static_cast<size_t>(done->start)].as<CollectiveStart>();
    return clock.finish(first + order.place(done->start), streams_.of(program_, start));
  }

  // From a stage that cannot go on along what it waits for, until a stage comes again.
  Failure cycle(int stage) const {
    std::vector<int> path, seen(sequences_.size(), -1);
    while (seen[stage] < 0) {
      seen[stage] = static_cast<int>(path.size());
      path.push_back(stage);
      const StageChannel& channel = program_.channels[instruction(stage).channel()];
      const int other = instruction(stage).kind() == InstructionKind::send ? channel.to : channel.from;
      if (is_done(other)) {
        return Failure(Error{"pipeline_cycle",
                             fmt::format("{} waits for stage {}, which has ended", words(stage), other),
                             "pipeline.schedule", "change the order of the schedule"});
      }
      stage = other;
    }
    std::string ring;
    for (size_t i = static_cast<size_t>(seen[stage]); i < path.size(); ++i) {
      ring += (ring.empty() ? "" : " waits for ") + words(path[i]);
    }
    return Failure(Error{"pipeline_cycle", "stages wait for each other: " + ring + " waits for the first",
                         "pipeline.schedule", "change the order of the schedule"});
  }

  std::string words(int stage) const {
    return fmt::format("'{}' ({}, microbatch {})", text_.instruction(instruction(stage)), task(stage).name,
                       run_of(stage).microbatch);
  }

  const Program& program_;
  ProgramText text_;
  const InstructionTable<double>& seconds_;
  const Streams& streams_;
  bool without_limits_;
  std::vector<Messages> channels_;
  std::vector<const Sequence*> sequences_;  // per stage
  std::vector<Turn> at_;
  std::vector<StageClock> clocks_;
  Simulation result_;
};

}  // namespace

double Simulation::most_exposed() const {
  double most = 0;
  for (const Communication& of_stage : communication) most = std::max(most, of_stage.exposed);
  return most;
}

double Simulation::working_seconds(int stage) const {
  double seconds = 0;
  for (const Span& span : stages[static_cast<size_t>(stage)]) seconds += span.end - span.start;
  return seconds;
}

Simulation simulate(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                    const InstructionTable<double>& seconds, const Streams& streams) {
  return Simulator(program, graph, mesh, purpose, seconds, streams).run();
}

void size_channels(Program& program, const Graph& graph, const Mesh& mesh, const InstructionTable<double>& seconds,
                   const Streams& streams) {
  if (program.channels.empty()) return;
  for (StageChannel& channel : program.channels) channel.capacity = 1;
  for (Purpose purpose : {Purpose::train_step, Purpose::evaluate}) {
    if (!program.find(purpose)) continue;
    Simulator simulator(program, graph, mesh, purpose, seconds, streams, true);
    simulator.run();
    for (size_t i = 0; i < program.channels.size(); ++i) {
      int& capacity = program.channels[i].capacity;
      capacity = std::max(capacity, simulator.most_under_way(static_cast<int>(i)));
    }
  }
}

void prove_no_deadlock(const Program& program, const Graph& graph, const Mesh& mesh) {
  if (program.channels.empty()) return;
  InstructionTable<double> none;
  for (const Task& task : program.tasks) none.tasks.emplace_back(task.instructions.size());
  for (Purpose purpose : {Purpose::train_step, Purpose::evaluate}) {
    if (program.find(purpose)) simulate(program, graph, mesh, purpose, none);
  }
}

}  // namespace shardscope
