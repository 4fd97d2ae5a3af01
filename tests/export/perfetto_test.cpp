#include <QtTest>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/export/plan_words.h"
#include "engine/plan/level_lanes.h"
#include "tests/export/exported.h"
#include "tests/test_program.h"

namespace perfetto_test {

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

struct Slice {
  int64_t start = 0, end = 0;  // nanoseconds
  std::string category, name;
  size_t depth = 0;
};
using Threads = std::map<std::pair<int, int>, std::vector<Slice>>;  // by process and thread, as the file has them

int64_t nanoseconds(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

// Of a file that keeps the format's rules; the slices of a thread must nest, each inside the one before that is open.
Threads threads_of(const std::string& text) {
  const Json trace = Json::parse(text);
  Threads threads;
  std::map<std::pair<int, int>, std::vector<Slice>> open;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> names;
  for (const Json& event : trace.at("traceEvents")) {
    const std::string kind = event.at("ph").get<std::string>(), name = event.at("name").get<std::string>();
    const int process = event.at("pid").get<int>();
    if (kind == "M") {
      if (name == "process_name") processes[process] = event.at("args").at("name").get<std::string>();
      if (name == "thread_name") names[{process, event.at("tid")}] = event.at("args").at("name").get<std::string>();
      continue;
    }
    if (kind == "s" || kind == "f") continue;
    if (kind != "X") throw std::runtime_error("an event of another kind: " + kind);
    const std::pair<int, int> thread{process, event.at("tid").get<int>()};
    if (!processes.contains(process) || !names.contains(thread)) throw std::runtime_error("a thread without a name");
    const int64_t start = nanoseconds(event.at("ts"));
    Slice slice{start, start + nanoseconds(event.at("dur")), event.at("cat").get<std::string>(), name, 0};
    if (slice.end < slice.start) throw std::runtime_error("a slice ends before it begins");
    std::vector<Slice>& around = open[thread];
    while (!around.empty() && around.back().end <= slice.start && around.back().end < slice.end) around.pop_back();
    if (!around.empty() && (slice.start < around.back().start || slice.end > around.back().end))
      throw std::runtime_error(name + " sticks out of " + around.back().name);
    if (!threads[thread].empty() && slice.start < threads[thread].back().start)
      throw std::runtime_error(name + " begins before the one that stands before it");
    slice.depth = around.size();
    around.push_back(slice);
    threads[thread].push_back(slice);
  }
  return threads;
}

std::vector<Slice> of_category(const std::vector<Slice>& slices, const Plan& plan, int stage) {
  std::vector<Slice> steps;
  std::set<std::string> kinds;
  for (const Instruction& instruction : plan.instructions(stage)) kinds.insert(std::string(name(instruction.kind())));
  for (const Slice& slice : slices) {
    if (kinds.contains(slice.category)) steps.push_back(slice);
  }
  return steps;
}

}  // namespace

class PerfettoTest : public QObject {
  Q_OBJECT

 private slots:
  void slices_nest_and_ascend_for_every_preset_data() {
    QTest::addColumn<std::string>("preset");
    for (const std::string& name : all_presets()) QTest::newRow(name.c_str()) << name;
  }
  void slices_nest_and_ascend_for_every_preset() {
    QFETCH(std::string, preset);
    const ExportSource source = made_source(preset);
    const Plan& plan = *source.plan;
    const Threads threads = threads_of(exported_text(source, "perfetto"));
    QCOMPARE(threads.size(), static_cast<size_t>(plan.program.stages + plan.mesh.device_count()));
    for (int stage = 0; stage < plan.program.stages; ++stage) {
      const std::vector<Slice>& slices = threads.at({1, stage});
      const std::vector<Slice> steps = of_category(slices, plan, stage);
      const std::vector<PlanStepTime> times = predicted_times(plan, stage);
      QCOMPARE(std::ssize(steps), plan.instructions(stage).size());
      for (size_t i = 0; i < steps.size(); ++i) {
        QCOMPARE(steps[i].start, times[i].start_ns);
        QCOMPARE(steps[i].end, times[i].end_ns);
        QCOMPARE(steps[i].name, plan.instruction_name(plan.instructions(stage)[static_cast<int>(i)]));
        QVERIFY(i == 0 || steps[i].start >= steps[i - 1].end);
      }
    }
    const TraceMessage& trace = source.run->traces.back();
    QCOMPARE(trace.choice, TraceChoice::median);
    for (int rank = 0; rank < plan.mesh.device_count(); ++rank) {
      const std::vector<Slice>& slices = threads.at({2, rank});
      const std::vector<Slice> steps = of_category(slices, plan, plan.stage_of(rank));
      const std::vector<PlanStepTime>& times = trace.ranks[static_cast<size_t>(rank)];
      QCOMPARE(steps.size(), times.size());
      int64_t waited = 0, waits = 0;
      for (size_t i = 0; i < steps.size(); ++i) {
        QCOMPARE(steps[i].start, times[i].arrive_ns);
        QCOMPARE(steps[i].end, times[i].end_ns);
        waits += times[i].start_ns - times[i].arrive_ns;
      }
      for (const Slice& slice : slices) {
        if (slice.category == "wait") waited += slice.end - slice.start;
      }
      QCOMPARE(waited, waits);
      QCOMPARE(slices.front().category, std::string("step"));
      QCOMPARE(slices.front().depth, size_t{0});
    }
  }

  // A flow event belongs to the slice of its thread that is open at its time.
  void flow_events_lead_from_each_send_to_the_receive_of_its_message_data() {
    QTest::addColumn<std::string>("preset");
    for (const char* name :
         {"workshop_gpipe", "workshop_zero_bubble", "workshop_interleaved", "workshop_3d", "nnx_gpt2"})
      QTest::newRow(name) << std::string(name);
  }
  void flow_events_lead_from_each_send_to_the_receive_of_its_message() {
    QFETCH(std::string, preset);
    const ExportSource source = made_source(preset);
    const Plan& plan = *source.plan;
    const std::string text = exported_text(source, "perfetto");
    const Threads threads = threads_of(text);
    const auto slice_at = [&](const Json& event) {
      const int64_t at = nanoseconds(event.at("ts"));
      const Slice* found = nullptr;
      for (const Slice& slice : threads.at({event.at("pid").get<int>(), event.at("tid").get<int>()})) {
        if (slice.start <= at && at < slice.end) found = &slice;
      }
      return found;
    };
    int64_t sends[3] = {0, 0, 0}, open = 0;
    std::map<int, Json> begun;
    const Json trace = Json::parse(text);
    for (const Json& event : trace.at("traceEvents")) {
      const std::string kind = event.at("ph").get<std::string>();
      if (kind != "s" && kind != "f") continue;
      const int process = event.at("pid").get<int>(), id = event.at("id").get<int>();
      const Slice* slice = slice_at(event);
      QVERIFY2(slice && slice->category == (kind == "s" ? "send" : "receive"), event.dump().c_str());
      if (kind == "s") {
        QVERIFY(begun.emplace(id, event).second);
        ++open, ++sends[process];
        continue;
      }
      const Json& from = begun.at(id);
      --open;
      QCOMPARE(event.at("bp").get<std::string>(), std::string("e"));
      QCOMPARE(from.at("pid").get<int>(), process);
      if (process == 1) QVERIFY(event.at("ts").get<double>() >= from.at("ts").get<double>());
      const int stage = process == 1 ? event.at("tid").get<int>() : plan.stage_of(event.at("tid"));
      QVERIFY(stage != (process == 1 ? from.at("tid").get<int>() : plan.stage_of(from.at("tid"))));
    }
    QCOMPARE(open, 0);
    int64_t messages = 0, measured = 0;
    for (int stage = 0; stage < plan.program.stages; ++stage) {
      for (const Instruction& instruction : plan.instructions(stage))
        messages += instruction.kind() == InstructionKind::send;
    }
    for (int rank = 0; rank < plan.mesh.device_count(); ++rank) {
      for (const Instruction& instruction : plan.instructions(plan.stage_of(rank)))
        measured += instruction.kind() == InstructionKind::send;
    }
    QCOMPARE(sends[1], messages);
    QCOMPARE(sends[2], measured);
    QCOMPARE(messages > 0, plan.program.stages > 1);
  }

  void the_last_predicted_slice_ends_with_the_predicted_step() {
    for (const std::string& preset : all_presets()) {
      const Plan& plan = *preset_plan(preset);
      int64_t end = 0;
      for (const auto& [thread, slices] : threads_of(exported_text(made_source(preset, false), "perfetto")))
        for (const Slice& slice : slices) end = std::max(end, slice.end);
      const double seconds = plan.pipeline.axis ? plan.simulation.seconds : plan.totals.seconds_per_step;
      QVERIFY2(std::abs(static_cast<double>(end) * 1e-9 - seconds) < 1e-8, preset.c_str());
    }
  }

  void transfers_are_on_lanes_of_their_levels_where_they_are_exposed_and_where_they_are_hidden() {
    bool hides = false;
    for (const char* preset : {"tiny_lm_dp", "tiny_lm_fsdp", "llama_tiny", "workshop_1f1b", "workshop_zero_bubble"}) {
      for (const char* stack : {"megatron", "torchtitan", "maxtext", "shardscope"}) {
        const std::shared_ptr<const Plan> plan = stack_plan(preset, stack);
        const Threads threads = threads_of(exported_text({plan, {}, {}, {}}, "perfetto"));
        int thread = plan->program.stages;
        for (const StageLanes& stage : level_lanes(*plan)) {
          for (const LevelLane& lane : stage.lanes) {
            if (lane.parts.empty()) continue;
            const std::vector<Slice>& slices = threads.at({1, thread++});
            QCOMPARE(slices.size(), lane.parts.size());
            for (size_t i = 0; i < slices.size(); ++i) {
              QCOMPARE(slices[i].category, std::string(lane.parts[i].is_exposed ? "exposed" : "hidden"));
              QCOMPARE(slices[i].start, shardscope::nanoseconds(lane.parts[i].span.start));
              QCOMPARE(slices[i].end, shardscope::nanoseconds(lane.parts[i].span.end));
              QCOMPARE(slices[i].depth, size_t{0});
            }
            hides |= lane.is_behind_passes;
          }
        }
        QCOMPARE(threads.size(), static_cast<size_t>(thread));
      }
    }
    QVERIFY(hides);
  }

  void clocks_that_disagree_still_give_slices_in_order() {
    ExportSource source = made_source("tiny_lm_dp");
    for (TraceMessage& trace : source.run->traces)
      for (std::vector<PlanStepTime>& times : trace.ranks) times[3] = {0, 1, 2};
    threads_of(exported_text(source, "perfetto"));
  }

  void the_recorded_step_is_the_one_that_was_chosen() {
    const ExportSource source = made_source("tiny_lm_dp");
    for (const auto& [choice, step] : {std::pair(TraceChoice::latest, 2), std::pair(TraceChoice::slowest, 1)}) {
      const std::string text = exported_text(source, "perfetto", {"", choice});
      QVERIFY(text.find("\"measured: step " + std::to_string(step) + "\"") != std::string::npos);
    }
  }
};

REGISTER_CORE_TEST(PerfettoTest)

}  // namespace perfetto_test

#include "perfetto_test.moc"
