#pragma once

#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/export/export_kind.h"
#include "engine/machine/host_machine.h"
#include "engine/session/hello.h"
#include "engine/session/run_recorder.h"

namespace shardscope::test {

inline std::vector<std::string> all_presets() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SHARDSCOPE_SOURCE_DIR "/presets")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

inline std::string preset_path(const std::string& name) { return SHARDSCOPE_SOURCE_DIR "/presets/" + name + ".json"; }

// The plan of a preset as it stands; each is made once.
inline std::shared_ptr<const Plan> preset_plan(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const Plan>> plans;
  auto& plan = plans[name];
  if (!plan) plan = std::make_shared<const Plan>(compile({load_run_file(preset_path(name)), reference_host()}));
  return plan;
}

// Of a preset on another machine, whose stack hides communication behind passes.
inline std::shared_ptr<const Plan> stack_plan(const std::string& preset, const std::string& stack) {
  RunConfig config = load_run_file(preset_path(preset));
  config.sharding.mode = LayoutMode::as_written;
  config.machine = "\"dgx_h100\"";
  config.stack = '"' + stack + '"';
  return std::make_shared<const Plan>(compile(plan_request(config)));
}

// A step as ranks might have measured it: rank r is r microseconds late everywhere, and collectives wait 5.
inline TraceMessage made_trace(const Plan& plan, TraceChoice choice, int64_t step) {
  TraceMessage trace{choice, step, {}};
  for (int rank = 0; rank < plan.mesh.device_count(); ++rank) {
    std::vector<PlanStepTime>& times = trace.ranks.emplace_back();
    int64_t now = 1000 * rank;
    for (const Instruction& own : plan.instructions(plan.stage_of(rank))) {
      const int64_t waits = is_communication(own.kind()) && !is_collective(own.kind()) ? 5000 : 0;
      times.push_back({now, now + waits, now + waits + 7000 + 13 * own.op % 1000});
      now = times.back().end_ns + 11;
    }
  }
  return trace;
}

inline StepMessage made_step(const Plan& plan, int64_t step) {
  StepMessage message{step, {}, 10.5 + static_cast<double>(step), {}};
  for (const Metric& metric : plan.metrics)
    message.metrics.push_back({metric.name, 1.0 / static_cast<double>(step + 2)});
  for (int rank = 0; rank < plan.mesh.device_count(); ++rank) {
    RankMeasurement measured;
    measured.rank = rank;
    measured.busy_ms = {1, 2, 0.5, 0};
    measured.wire_bytes = 100 + rank;
    measured.moved_bytes = 1000 + rank + step;
    message.ranks.push_back(measured);
  }
  return message;
}

// What was reported of a run of three steps, of which a restart did the second anew.
inline std::vector<Message> made_messages(const Plan& plan) {
  return {RankStateMessage{0, RankState::running, 7},
          made_step(plan, 0),
          made_step(plan, 1),
          RestartMessage{1, 1, {0, "SIGKILL", "", "rank 0 was killed"}},
          made_trace(plan, TraceChoice::slowest, 1),
          made_step(plan, 1),
          made_trace(plan, TraceChoice::latest, 1),
          made_step(plan, 2),
          made_trace(plan, TraceChoice::latest, 2),
          made_trace(plan, TraceChoice::median, 1),
          LogMessage{0, "done"},
          FinishedMessage{RunEnd::finished, 3}};
}

inline void record(const Plan& plan, const std::string& folder, Existing existing = Existing::refuse) {
  RunRecorder recorder(folder, existing, {}, hello_of(plan), plan.machine);
  recorder.begin();
  for (const Message& message : made_messages(plan)) recorder.add(message);
}

inline ExportSource made_source(const std::string& preset, bool with_run = true) {
  ExportSource source{preset_plan(preset), {}, {preset_path(preset)}, {}};
  if (!with_run) return source;
  source.run = MeasuredRun{1e9, {}, {}};
  for (const Message& message : made_messages(*source.plan)) {
    auto* trace = std::get_if<TraceMessage>(&message);
    if (trace && (trace->choice != TraceChoice::latest || trace->step == 2)) source.run->traces.push_back(*trace);
  }
  source.run->replay = [plan = source.plan](const std::function<void(const Message&)>& take) {
    take(hello_of(*plan));
    for (const Message& message : made_messages(*plan)) take(message);
  };
  return source;
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What an export writes into a new file.
inline std::string exported_text(const ExportSource& source, const std::string& kind, ExportChoice choice = {}) {
  const QTemporaryDir folder;
  const std::string path = folder.filePath("out.tfevents").toStdString();
  export_source(find_export_kind(kind), source, std::move(choice), path, {});
  return text_of(path);
}

// The first error of the Failure that `call` throws; none where it throws none.
template <class Call>
Error failure_of(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.errors().front();
  }
  return {};
}

// The first code of the Failure that `call` throws; "" where it throws none.
template <class Call>
std::string failure_code(Call call) {
  return failure_of(std::move(call)).code;
}

}  // namespace shardscope::test
