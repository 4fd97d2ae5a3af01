#include "engine/plan/stage_timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/plan/cost_model.h"
#include "engine/program/program_text.h"

namespace shardscope {

namespace {

class Play {
 public:
  Play(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose, const StepTable<double>& seconds,
       bool without_limits = false)
      : program_(program),
        text_{program, graph, mesh},
        seconds_(seconds),
        without_limits_(without_limits),
        channels_(program.channels.size()) {
    for (int stage = 0; stage < program.stages; ++stage) {
      const Sequence* sequence = program.find(purpose, stage);
      sequences_.push_back(sequence);
      timeline_.stages.emplace_back(sequence ? sequence->length : 0);
    }
    at_.resize(sequences_.size());
    free_.resize(sequences_.size());
  }

  StageTimeline run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int stage = 0; stage < program_.stages; ++stage) {
        while (advance(stage)) moved = true;
      }
    }
    double busy = 0;
    for (int stage = 0; stage < program_.stages; ++stage) {
      if (!is_done(stage)) throw cycle(stage);
      for (const StageTimeline::Span& span : timeline_.stages[stage]) {
        busy += span.end - span.start;
        timeline_.seconds = std::max(timeline_.seconds, span.end);
      }
    }
    if (timeline_.seconds > 0) timeline_.bubble = 1 - busy / (timeline_.seconds * program_.stages);
    return std::move(timeline_);
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
    int step = 0;
  };

  bool is_done(int stage) const { return !sequences_[stage] || at_[stage].run == sequences_[stage]->runs.size(); }
  StepId id(int stage) const { return {sequences_[stage]->runs[at_[stage].run].task, at_[stage].step}; }
  const Step& step(int stage) const { return program_.tasks[id(stage).task].steps[id(stage).step]; }

  bool advance(int stage) {
    if (is_done(stage)) return false;
    const Step& next = step(stage);
    Messages* messages = is_transfer(next.kind) ? &channels_[next.channel] : nullptr;
    double start = free_[stage];
    if (next.kind == StepKind::send && !without_limits_) {
      const size_t capacity = static_cast<size_t>(program_.channels[next.channel].capacity),
                   sent = messages->sent.size();
      if (sent >= messages->taken.size() + capacity) return false;
      if (sent >= capacity) start = std::max(start, messages->taken[sent - capacity]);
    } else if (next.kind == StepKind::receive) {
      const size_t taken = messages->taken.size();
      if (messages->sent.size() == taken) return false;
      start = std::max(start, messages->sent[taken]);
    }
    const double end = start + seconds_[id(stage)];
    if (next.kind == StepKind::send) messages->sent.push_back(end);
    if (next.kind == StepKind::receive) messages->taken.push_back(end);
    const TaskRun& run = sequences_[stage]->runs[at_[stage].run];
    timeline_.stages[stage][run.first + at_[stage].step] = {start, end};
    free_[stage] = end;
    if (++at_[stage].step == static_cast<int>(program_.tasks[run.task].steps.size()))
      ++at_[stage].run, at_[stage].step = 0;
    return true;
  }

  // From a stage that cannot go on along what it waits for, until a stage comes again.
  Failure cycle(int stage) const {
    std::vector<int> path, seen(sequences_.size(), -1);
    while (seen[stage] < 0) {
      seen[stage] = static_cast<int>(path.size());
      path.push_back(stage);
      const StageChannel& channel = program_.channels[step(stage).channel];
      const int other = step(stage).kind == StepKind::send ? channel.to : channel.from;
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
    const TaskRun& run = sequences_[stage]->runs[at_[stage].run];
    return fmt::format("'{}' ({}, microbatch {})", text_.step(step(stage)), program_.tasks[run.task].name,
                       run.microbatch);
  }

  const Program& program_;
  ProgramText text_;
  const StepTable<double>& seconds_;
  bool without_limits_;
  std::vector<Messages> channels_;
  std::vector<const Sequence*> sequences_;  // per stage
  std::vector<Turn> at_;
  std::vector<double> free_;
  StageTimeline timeline_;
};

}  // namespace

StageTimeline play_stages(const Program& program, const Graph& graph, const Mesh& mesh, Purpose purpose,
                          const StepTable<double>& seconds) {
  return Play(program, graph, mesh, purpose, seconds).run();
}

void size_channels(Program& program, const Graph& graph, const Mesh& mesh) {
  if (program.channels.empty()) return;
  const StepTable<double> seconds = predict_seconds(program, graph, CostRates{});
  for (StageChannel& channel : program.channels) channel.capacity = 1;
  for (Purpose purpose : {Purpose::train_step, Purpose::evaluate}) {
    if (!program.find(purpose)) continue;
    Play play(program, graph, mesh, purpose, seconds, true);
    play.run();
    for (size_t i = 0; i < program.channels.size(); ++i) {
      int& capacity = program.channels[i].capacity;
      capacity = std::max(capacity, play.most_under_way(static_cast<int>(i)));
    }
  }
}

void prove_no_cycle(const Program& program, const Graph& graph, const Mesh& mesh) {
  if (program.channels.empty()) return;
  StepTable<double> none;
  for (const Task& task : program.tasks) none.tasks.emplace_back(task.steps.size());
  for (Purpose purpose : {Purpose::train_step, Purpose::evaluate}) {
    if (program.find(purpose)) play_stages(program, graph, mesh, purpose, none);
  }
}

}  // namespace shardscope
