#include "engine/simulate/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/program/program_text.h"
#include "engine/simulate/simulation_totals.h"

namespace shardscope {

namespace {

class Simulator {
 public:
  Simulator(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
            const InstructionTable<double>& seconds, const Streams& streams, bool keeps_spans,
            bool without_limits = false)
      : program_(program),
        text_{program, graph, mesh},
        seconds_(seconds),
        streams_(streams),
        keeps_spans_(keeps_spans),
        without_limits_(without_limits),
        channels_(program.channels.size()) {
    for (int stage = 0; stage < program.stages; ++stage) {
      const Sequence* sequence = program.find(purpose, stage);
      sequences_.push_back(sequence);
      if (keeps_spans_) result_.stages.emplace_back(sequence ? sequence->length : 0);
    }
    steps_.resize(program.tasks.size());
    for (const Sequence* sequence : sequences_) {
      for (size_t run = 0; sequence && run < sequence->runs.size(); ++run) list_steps(sequence->runs[run].task);
    }
    at_.resize(sequences_.size());
    working_.resize(sequences_.size());
    untaken_.resize(sequences_.size());
    clocks_.assign(sequences_.size(), StageClock(streams));
  }

  Simulation run() {
    while (advance_all() || let_go()) continue;
    result_.streams = streams_.names;
    double busy = 0;
    for (int stage = 0; stage < program_.stages; ++stage) {
      if (!is_done(stage)) throw cycle(stage);
      busy += working_[stage];
      const StageClock& clock = clocks_[stage];
      result_.seconds = std::max(result_.seconds, clock.time());
      result_.communication.push_back({clock.exposed(), clock.hidden()});
      if (keeps_spans_) result_.transfers.push_back(clock.transfers());
    }
    if (result_.seconds > 0) result_.bubble = 1 - busy / (result_.seconds * program_.stages);
    return std::move(result_);
  }

  // The most messages of a channel that were on their way at a time; after run().
  int most_under_way(int channel) const {
    const auto& [begun, sent, taken] = channels_[channel];
    size_t most = 0;
    for (size_t i = 0, gone = 0; i < sent.size(); ++i) {
      while (gone < i && taken[gone] <= begun[i]) ++gone;
      most = std::max(most, i + 1 - gone);
    }
    return static_cast<int>(most);
  }

 private:
  bool advance_all() {
    bool moved = false;
    for (int stage = 0; stage < program_.stages; ++stage) {
      while (advance(stage)) moved = true;
    }
    return moved;
  }

  // Stages that wait for each other to take what they have sent: they go on as if it were on its way.
  bool let_go() {
    const bool any = std::ranges::any_of(untaken_, [](const auto& list) { return !list.empty(); });
    for (auto& list : untaken_) list.clear();
    return any;
  }

  // Whether all that a stage has sent is taken, as blocking messages must be before it goes on.
  bool are_taken(int stage) {
    std::vector<std::pair<int, size_t>>& list = untaken_[static_cast<size_t>(stage)];
    double last = 0;
    for (const auto& [channel, number] : list) {
      const std::vector<double>& taken = channels_[static_cast<size_t>(channel)].taken;
      if (taken.size() <= number) return false;
      last = std::max(last, taken[number]);
    }
    if (!list.empty()) clocks_[static_cast<size_t>(stage)].await(last);
    list.clear();
    return true;
  }

  // When each message was begun to be sent, when it was there, and when it was taken.
  struct Messages {
    std::vector<double> begun, sent, taken;
  };
  struct Turn {
    size_t run = 0;
    int place = 0;
  };
  // What of an instruction decides when it runs; of a task by place.
  struct Step {
    enum Kind : uint8_t { local, start, done, send, receive } kind = local;
    int stream = -1, channel = -1;
    int start_place = -1;  // of a done
    double seconds = 0;
  };

  void list_steps(int id) {
    std::vector<Step>& steps = steps_[static_cast<size_t>(id)];
    const Task& task = program_.tasks[static_cast<size_t>(id)];
    if (!steps.empty()) return;
    steps.reserve(static_cast<size_t>(task.size()));
    for (int place = 0; place < task.size(); ++place) {
      const Instruction& instruction = task.issued(place);
      Step& step = steps.emplace_back();
      step.seconds = seconds_[InstructionId{id, task.order.index(place)}];
      step.channel = instruction.channel();
      if (const CollectiveStart* start = instruction.as<CollectiveStart>()) {
        step.kind = Step::start;
        step.stream = streams_.of(program_, *start);
      } else if (const CollectiveDone* done = instruction.as<CollectiveDone>()) {
        step.kind = Step::done;
        step.stream = streams_.of(program_, *task.instructions[static_cast<size_t>(done->start)].as<CollectiveStart>());
        step.start_place = task.order.place(done->start);
      } else if (step.channel >= 0) {
        step.kind = instruction.as<Send>() ? Step::send : Step::receive;
      }
    }
  }

  bool is_done(int stage) const { return !sequences_[stage] || at_[stage].run == sequences_[stage]->runs.size(); }
  const TaskRun& run_of(int stage) const { return sequences_[stage]->runs[at_[stage].run]; }
  const Task& task(int stage) const { return program_.tasks[run_of(stage).task]; }
  const Instruction& instruction(int stage) const { return task(stage).issued(at_[stage].place); }

  bool advance(int stage) {
    if (is_done(stage)) return false;
    const TaskRun& run = run_of(stage);
    const std::vector<Step>& steps = steps_[static_cast<size_t>(run.task)];
    Turn& at = at_[static_cast<size_t>(stage)];
    const Step& next = steps[static_cast<size_t>(at.place)];
    Messages* messages = next.channel >= 0 ? &channels_[static_cast<size_t>(next.channel)] : nullptr;
    StageClock& clock = clocks_[static_cast<size_t>(stage)];
    if (next.kind == Step::send && !without_limits_) {
      const size_t capacity = static_cast<size_t>(program_.channels[static_cast<size_t>(next.channel)].capacity),
                   sent = messages->sent.size();
      if (sent >= messages->taken.size() + capacity) return false;
      if (sent >= capacity) clock.idle_until(messages->taken[sent - capacity]);
    } else if (next.kind == Step::receive) {
      const size_t taken = messages->taken.size();
      if (messages->sent.size() == taken) return false;
      clock.await(messages->sent[taken]);
    } else if (next.kind != Step::send && next.seconds > 0 && !are_taken(stage)) {
      return false;
    }
    const Simulation::Span span = issue(clock, next, run.first, at.place);
    if (next.kind == Step::send) {
      if (streams_.blocking_messages && !without_limits_) {
        clock.await(span.end);
        untaken_[static_cast<size_t>(stage)].emplace_back(next.channel, messages->sent.size());
      }
      messages->begun.push_back(span.start);
      messages->sent.push_back(span.end);
    }
    if (next.kind == Step::receive) messages->taken.push_back(span.end);
    working_[static_cast<size_t>(stage)] += span.end - span.start;
    if (keeps_spans_) result_.stages[static_cast<size_t>(stage)][static_cast<size_t>(run.first + at.place)] = span;
    if (++at.place == static_cast<int>(steps.size())) ++at.run, at.place = 0;
    return true;
  }

  static Simulation::Span issue(StageClock& clock, const Step& next, int first, int place) {
    if (next.kind == Step::start) return clock.start(first + place, next.stream, next.seconds);
    return next.kind == Step::done ? clock.finish(first + next.start_place, next.stream) : clock.compute(next.seconds);
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
  bool keeps_spans_, without_limits_;
  std::vector<Messages> channels_;
  std::vector<std::vector<Step>> steps_;    // per task
  std::vector<const Sequence*> sequences_;  // per stage
  std::vector<Turn> at_;
  std::vector<StageClock> clocks_;
  std::vector<double> working_;                               // s, per stage
  std::vector<std::vector<std::pair<int, size_t>>> untaken_;  // per stage, blocking: channel and number of message
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
  return Simulator(program, graph, mesh, purpose, seconds, streams, true).run();
}

Simulation simulate_totals(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                           const InstructionTable<double>& seconds, const Streams& streams) {
  return Simulator(program, graph, mesh, purpose, seconds, streams, false).run();
}

Simulation simulate_with_room(Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                              const InstructionTable<double>& seconds, const Streams& streams, bool totals_only) {
  for (StageChannel& channel : program.channels) channel.capacity = 1;
  std::optional<Simulation> known;
  for (Purpose each : {Purpose::train_step, Purpose::evaluate}) {
    if (program.channels.empty() || !program.find(each)) continue;
    // Messages that block are waited for, whatever room there is.
    const bool is_asked_for = each == purpose && !streams.blocking_messages;
    Simulator simulator(program, graph, mesh, each, seconds, streams, is_asked_for && !totals_only, true);
    Simulation made = simulator.run();
    if (is_asked_for) known = std::move(made);
    for (size_t i = 0; i < program.channels.size(); ++i) {
      int& capacity = program.channels[i].capacity;
      capacity = std::max(capacity, simulator.most_under_way(static_cast<int>(i)));
    }
  }
  if (known) return *std::move(known);
  return (totals_only ? simulate_totals : simulate)(program, graph, mesh, purpose, seconds, streams);
}

void prove_no_deadlock(const Program& program, const Graph& graph, const Mesh& mesh) {
  if (program.channels.empty()) return;
  InstructionTable<double> none;
  for (const Task& task : program.tasks) none.tasks.emplace_back(task.instructions.size());
  for (Purpose purpose : {Purpose::train_step, Purpose::evaluate}) {
    if (program.find(purpose)) simulate_totals(program, graph, mesh, purpose, none, {});
  }
}

}  // namespace shardscope
