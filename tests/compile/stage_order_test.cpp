#include <QtTest>
#include <algorithm>

#include "engine/machine/host_machine.h"
#include "engine/simulate/simulation.h"
#include "tests/laws/pipeline_case.h"
#include "tests/test_program.h"

namespace stage_order_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

Plan staged(const std::string& schedule, int64_t stages) {
  return compile({in_stages(four_layers(), {schedule, stages, {1, 1}, 4}), reference_host()});
}

// Puts a stage's first run of backward in front of all.
Program with_backward_first(const Plan& plan, int stage) {
  Program program = plan.program;
  for (Sequence& sequence : program.sequences) {
    if (sequence.purpose != Purpose::train_step || sequence.stage != stage) continue;
    std::vector<TaskRun> runs = sequence.runs;
    const auto backward = std::ranges::find_if(
        runs, [&](const TaskRun& run) { return program.tasks[run.task].phase == Phase::backward; });
    std::rotate(runs.begin(), backward, backward + 1);
    sequence = make_sequence(Purpose::train_step, runs, program.tasks, stage);
  }
  return program;
}

}  // namespace

class StageOrderTest : public QObject {
  Q_OBJECT

 private slots:
  void stages_that_wait_for_each_other_are_named() {
    for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zero_bubble"}) {
      const Plan plan = staged(schedule, 2);
      prove_no_deadlock(plan.program, *plan.graph, plan.mesh);
      try {
        prove_no_deadlock(with_backward_first(plan, 0), *plan.graph, plan.mesh);
        QFAIL("nothing was found");
      } catch (const Failure& failure) {
        const Error& error = failure.errors().front();
        QCOMPARE(error.code, std::string("pipeline_cycle"));
        QVERIFY(error.message.find("backward of stage 0") != std::string::npos);
        QVERIFY(error.message.find("forward of stage 1") != std::string::npos);
      }
    }
  }

  // No stage does two things at a time, nothing is received before it was sent, and nobody is faster than its work.
  void the_predicted_step_is_one_that_could_be() {
    for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zero_bubble"}) {
      for (int64_t stages : {2, 4}) {
        const Plan plan = staged(schedule, stages);
        const Simulation& timeline = plan.simulation;
        std::vector<std::vector<double>> sent(plan.program.channels.size()), received(sent.size());
        for (int stage = 0; stage < plan.program.stages; ++stage) {
          const auto& spans = timeline.stages[static_cast<size_t>(stage)];
          double work = 0, end = 0;
          for (int position = 0; position < plan.instructions(stage).size(); ++position) {
            const auto& span = spans[static_cast<size_t>(position)];
            const Instruction& instruction = plan.instructions(stage)[position];
            QVERIFY(span.start >= end);
            end = span.end;
            work += plan.seconds(position, stage);
            if (instruction.kind() == InstructionKind::send)
              sent[static_cast<size_t>(instruction.channel())].push_back(span.end);
            if (instruction.kind() == InstructionKind::receive)
              received[static_cast<size_t>(instruction.channel())].push_back(span.start);
          }
          QVERIFY(end <= timeline.seconds && work <= timeline.seconds * (1 + 1e-9));
          QVERIFY(std::abs(work - plan.pipeline.totals[static_cast<size_t>(stage)].seconds_per_step) < 1e-9);
        }
        for (size_t channel = 0; channel < sent.size(); ++channel) {
          QCOMPARE(sent[channel].size(), received[channel].size());
          for (size_t i = 0; i < sent[channel].size(); ++i) QVERIFY(received[channel][i] >= sent[channel][i]);
        }
        QCOMPARE(timeline.seconds, plan.totals.seconds_per_step);
      }
    }
  }

  void every_channel_has_room_for_a_message_and_for_no_more_than_there_are() {
    const Plan plan = staged("1f1b", 4);
    for (const StageChannel& channel : plan.program.channels) {
      QVERIFY(channel.capacity >= 1 && channel.capacity <= plan.pipeline.shape.microbatches);
      QVERIFY(channel.bytes > 0 && channel.from != channel.to);
    }
  }
};

REGISTER_TEST(StageOrderTest)

}  // namespace stage_order_test

#include "stage_order_test.moc"
