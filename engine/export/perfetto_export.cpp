#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/plural.h"
#include "engine/export/kinds.h"
#include "engine/export/plan_words.h"
#include "engine/export/stage_messages.h"
#include "engine/plan/level_lanes.h"

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr int predicted_process = 1, measured_process = 2;

// Chrome's trace format ("Trace Event Format", google/trace-viewer): an object with a list of events, times in
// microseconds. Each stage of the plan is a thread of the process "predicted", each rank one of "measured". A thread's
// slices ("ph": "X") are: the training step; in it each run of a task; in that the plan's steps; and in a step that was
// measured the waiting for peers at its beginning. Beneath a stage is a thread for each of its LevelLanes, whose slices
// are the exposed and the hidden parts of transfers. Flow events ("s" and "f") lead from each send to the receive that
// takes its message. Times are whole nanoseconds, so that a slice never sticks out of the one around it.
class TraceWriter {
 public:
  TraceWriter(const Plan& plan, ExportTarget& target, double threads) : plan_(plan), target_(target), all_(threads) {
    for (const Task& task : plan.program.tasks) {
      std::vector<Reported>& steps = reported_.tasks.emplace_back();
      for (const Instruction& instruction : task.instructions) steps.push_back(reported(instruction));
    }
  }

  void begin() { target_.write("{\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[\n"); }
  void end(const Json& facts) { target_.write(fmt::format("\n],\n\"otherData\":{}}}\n", facts.dump())); }

  void name_process(int process, const std::string& name) {
    event({{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}});
    event({{"ph", "M"}, {"name", "process_sort_index"}, {"pid", process}, {"args", {{"sort_index", process}}}});
  }

  // `times` by position of the stage's main sequence.
  void write_thread(int process, int thread, const std::string& thread_name, const std::string& instruction_name,
                    int stage, const std::vector<PlanStepTime>& times) {
    const Place place{process, thread};
    name_thread(place, thread_name);
    if (!times.empty())
      slice(place, instruction_name, "step", times.front().arrive_ns, times.back().end_ns, Json::object());
    for (const TaskRun& run : plan_.program.main(stage).runs) {
      const Task& task = plan_.program.tasks[static_cast<size_t>(run.task)];
      const auto first = times.begin() + run.first;
      const std::string name = plan_.pipeline.shape.microbatches > 1 && task_phase(task.phase) != Phase::update
                                   ? fmt::format("{}, microbatch {}", task.name, run.microbatch)
                                   : task.name;
      slice(place, name, "task", first->arrive_ns, (first + task.size() - 1)->end_ns, {{"microbatch", run.microbatch}});
      for (int at = 0; at < task.size(); ++at)
        write_step(place, reported_[{run.task, task.order.index(at)}], run.first + at, first[at]);
      target_.progress((done_ + run.first / static_cast<double>(times.size())) / all_);
    }
    ++done_;
  }

  // Of a stage.
  void write_lane(int process, int thread, const std::string& thread_name, int stage, const LevelLane& lane) {
    const Place place{process, thread};
    name_thread(place, thread_name);
    const SequenceInstructions instructions = plan_.instructions(stage);
    for (const TransferPart& part : lane.parts)
      slice(place, plan_.instruction_name(instructions[part.position]), part.is_exposed ? "exposed" : "hidden",
            nanoseconds(part.span.start), nanoseconds(part.span.end), {{"position", part.position}});
  }

  // From a moment in the slice of a send to one in that of its receive.
  void write_message(int process, int sender, const PlanStepTime& send, int receiver, const PlanStepTime& receive) {
    ++messages_;
    flow("s", {process, sender}, send.start_ns, "");
    flow("f", {process, receiver}, std::max(receive.start_ns, receive.end_ns - 1), ",\"bp\":\"e\"");
  }

 private:
  struct Place {
    int process, thread;
  };

  // Of a step's slice all but its times and its position: what stands before the position, and behind it.
  struct Reported {
    std::string before, behind;
  };

  // Threads stand in the order in which they are named.
  void name_thread(const Place& place, const std::string& name) {
    const auto [process, thread] = place;
    event({{"ph", "M"}, {"name", "thread_name"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
    event({{"ph", "M"},
           {"name", "thread_sort_index"},
           {"pid", process},
           {"tid", thread},
           {"args", {{"sort_index", threads_++}}}});
  }

  Reported reported(const Instruction& instruction) const {
    Json args = {{"phase", std::string(name(instruction.phase))}};
    if (instruction.flops() > 0) args["flops"] = instruction.flops();
    if (instruction.bytes_touched() > 0) args["bytes_touched"] = instruction.bytes_touched();
    if (instruction.payload_bytes() > 0) args["payload_bytes"] = instruction.payload_bytes();
    if (instruction.wire_bytes() > 0) args["wire_bytes"] = instruction.wire_bytes();
    if (const std::string axes = axes_text(plan_, instruction); !axes.empty()) args["axes"] = axes;
    if (const std::string cause = plan_.cause(instruction); !cause.empty()) args["cause"] = cause;
    if (!instruction.results().empty()) args["outputs"] = values_text(plan_, instruction.results());
    return {fmt::format("\"cat\":\"{}\",\"name\":{},\"args\":{{\"position\":", name(instruction.kind()),
                        text(plan_.instruction_name(instruction))),
            "," + dumped(args).substr(1) + "}"};
  }

  void write_step(const Place& place, const Reported& reported, int position, const PlanStepTime& time) {
    begin_slice(place, time.arrive_ns, time.end_ns);
    target_.write(fmt::format("{}{}{}", reported.before, position, reported.behind));
    if (time.start_ns > time.arrive_ns)
      slice(place, "waiting for peers", "wait", time.arrive_ns, time.start_ns, Json::object());
  }

  void slice(const Place& place, const std::string& name, const std::string& category, int64_t start, int64_t end,
             const Json& args) {
    begin_slice(place, start, end);
    target_.write(fmt::format("\"cat\":\"{}\",\"name\":{}{}}}", category, text(name),
                              args.empty() ? "" : ",\"args\":" + dumped(args)));
  }
  void begin_slice(const Place& place, int64_t start, int64_t end) {
    separate();
    target_.write(fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},", place.process, place.thread,
                              microseconds(start), microseconds(end - start)));
  }
  void flow(const char* end, const Place& place, int64_t at, const char* binding) {
    separate();
    target_.write(fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{},"id":{},"cat":"message","name":"message"{}}})",
                              end, place.process, place.thread, microseconds(at), messages_, binding));
  }
  void event(const Json& json) {
    separate();
    target_.write(dumped(json));
  }
  void separate() {
    if (!first_) target_.write(",\n");
    first_ = false;
  }

  static std::string microseconds(int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }
  static std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }
  static std::string text(const std::string& name) { return dumped(Json(name)); }

  const Plan& plan_;
  ExportTarget& target_;
  InstructionTable<Reported> reported_;
  double all_, done_ = 0;
  int64_t messages_ = 0;  // so many are written: the last one's id
  int threads_ = 0;
  bool first_ = true;
};

std::string devices_text(const Plan& plan, int stage) {
  const std::vector<int> devices = plan.devices_of_stage(stage);
  const size_t count = devices.size();
  return count == 1 ? fmt::format("device {}", devices.front()) : fmt::format("{} devices", count);
}

// A rank's steps follow each other; where clocks say otherwise, the later one is taken to begin when the other ended.
std::vector<PlanStepTime> in_order(std::vector<PlanStepTime> times) {
  int64_t end = 0;
  for (PlanStepTime& time : times) {
    time.arrive_ns = std::max(time.arrive_ns, end);
    time.start_ns = std::max(time.start_ns, time.arrive_ns);
    time.end_ns = end = std::max(time.end_ns, time.start_ns);
  }
  return times;
}

void write_trace(const ExportSource& source, const ExportChoice& choice, ExportTarget& target) {
  const Plan& plan = *source.plan;
  const TraceMessage* trace = trace_of(source, choice.trace);
  const int stages = plan.program.stages, ranks = trace ? static_cast<int>(trace->ranks.size()) : 0;
  TraceWriter writer(plan, target, stages + ranks);
  writer.begin();
  writer.name_process(predicted_process, "predicted");
  const std::vector<StageMessage> messages = stage_messages(plan);
  std::vector<std::vector<PlanStepTime>> predicted, measured;  // by stage, by rank
  const std::vector<StageLanes> levels = level_lanes(plan);
  int lanes = stages;  // threads of lanes come behind those of stages
  for (int stage = 0; stage < stages; ++stage) {
    const std::string name = stages > 1 ? fmt::format("stage {}: {}", stage, devices_text(plan, stage))
                                        : devices_text(plan, stage) + ", all alike";
    predicted.push_back(predicted_times(plan, stage));
    writer.write_thread(predicted_process, stage, name, "predicted step", stage, predicted.back());
    for (const LevelLane& lane : levels[static_cast<size_t>(stage)].lanes)
      writer.write_lane(predicted_process, lanes++,
                        stages > 1 ? fmt::format("stage {}: {}", stage, lane.name) : lane.name, stage, lane);
  }
  for (const auto& [from, to, send, receive] : messages)
    writer.write_message(predicted_process, from, predicted[from][send], to, predicted[to][receive]);
  if (trace) {
    writer.name_process(measured_process, fmt::format("measured: step {}", trace->step));
    for (int rank = 0; rank < ranks; ++rank) {
      const int stage = plan.stage_of(rank);
      const std::string name =
          stages > 1 ? fmt::format("rank {}, stage {}", rank, stage) : fmt::format("rank {}", rank);
      measured.push_back(in_order(trace->ranks[static_cast<size_t>(rank)]));
      writer.write_thread(measured_process, rank, name, fmt::format("step {}", trace->step), stage, measured.back());
    }
    for (const auto& [from, to, send, receive] : messages) {
      for (const int rank : plan.devices_of_stage(from)) {
        const int peer = peer_in_stage(plan, rank, to);
        writer.write_message(measured_process, rank, measured[rank][send], peer, measured[peer][receive]);
      }
    }
    target.note(fmt::format("predicted, and step {} measured on {}", trace->step, counted(ranks, "rank")));
  } else {
    target.note(source.run ? "predicted alone: the run recorded no step" : "predicted");
  }
  writer.end({{"plan", fmt::format("{:016x}", plan.hash)},
              {"machine", plan.machine.name},
              {"predicted_seconds", plan.totals.seconds_per_step}});
}

}  // namespace

ExportKind perfetto_export() {
  ExportKind kind{"perfetto", "the time line, predicted and measured, for ui.perfetto.dev", "json", {}, false,
                  write_trace};
  kind.step_pages = {""};
  return kind;
}

}  // namespace shardscope
