#include <QtTest>
#include <algorithm>
#include <set>

#include "engine/plan/order_simulation.h"
#include "engine/plan/schedules/schedule.h"
#include "tests/test_program.h"

namespace schedules_test {

using namespace shardscope;

namespace {

std::vector<PipelineShape> legal_shapes(const PipelineSchedule& schedule) {
  std::vector<PipelineShape> shapes;
  for (int stages : {1, 2, 3, 4, 8}) {
    for (int chunks : {1, 2, 3}) {
      for (int microbatches : {1, 2, 3, 4, 6, 8, 16}) {
        const PipelineShape shape{stages, chunks, microbatches};
        if (schedule.check(shape).empty()) shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

template <class Law>
void for_every_shape(Law law) {
  for (const PipelineSchedule& schedule : all_schedules()) {
    const std::vector<PipelineShape> shapes = legal_shapes(schedule);
    QVERIFY(shapes.size() > 20);
    for (const PipelineShape& shape : shapes) law(schedule, shape, schedule.order(shape));
  }
}

// Forward takes a second, backward two, each half of it one; nothing on the way.
OrderSimulation simulated(const PipelineOrder& order) {
  return simulate_order(order, [](const WorkItem& item) { return item.work == Work::backward ? 2.0 : 1.0; });
}

OrderSimulation simulated(const std::string& name, const PipelineShape& shape) {
  return simulated(find_schedule(name)->order(shape));
}

// As drawn above each schedule: a column a second, chunks as letters.
std::string drawn(const std::string& name, const PipelineShape& shape) {
  const PipelineOrder order = find_schedule(name)->order(shape);
  const OrderSimulation simulation = simulated(order);
  std::string text;
  for (size_t d = 0; d < order.size(); ++d) {
    std::vector<std::string> columns(static_cast<size_t>(simulation.seconds), shape.chunks > 1 ? "..." : "..");
    for (size_t i = 0; i < order[d].size(); ++i) {
      const WorkItem& item = order[d][i];
      const char letter = item.work == Work::forward ? 'F' : item.work == Work::backward_weight ? 'W' : 'B';
      for (double t = simulation.stages[d][i].start; t < simulation.stages[d][i].end; ++t)
        columns[static_cast<size_t>(t)] = letter + std::to_string(item.microbatch) +
                                          (shape.chunks > 1 ? std::string(1, static_cast<char>('a' + item.chunk)) : "");
    }
    for (size_t c = 0; c < columns.size(); ++c) text += (c == 0 ? "" : " ") + columns[c];
    text += '\n';
  }
  return text;
}

}  // namespace

class SchedulesTest : public QObject {
  Q_OBJECT

 private slots:
  void every_device_does_every_microbatch_of_every_chunk_once() {
    for_every_shape([](const PipelineSchedule& schedule, const PipelineShape& shape, const PipelineOrder& order) {
      QCOMPARE(order.size(), static_cast<size_t>(shape.stages));
      const std::vector<Work> kinds = schedule.splits_backward
                                          ? std::vector{Work::forward, Work::backward_input, Work::backward_weight}
                                          : std::vector{Work::forward, Work::backward};
      for (const std::vector<WorkItem>& device : order) {
        std::set<WorkItem> expected;
        for (Work work : kinds) {
          for (int m = 0; m < shape.microbatches; ++m) {
            for (int c = 0; c < shape.chunks; ++c) expected.insert({work, m, c});
          }
        }
        QCOMPARE(device.size(), expected.size());
        QVERIFY(std::set<WorkItem>(device.begin(), device.end()) == expected);
      }
    });
  }

  void no_device_waits_in_a_ring() {
    for_every_shape([](const PipelineSchedule&, const PipelineShape&, const PipelineOrder& order) {
      simulated(order);  // throws
    });
  }

  void a_ring_is_named() {
    PipelineOrder order = find_schedule("1f1b")->order({2, 1, 2});
    std::ranges::reverse(order[1]);
    try {
      simulated(order);
      QFAIL("no ring was found");
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors()[0].code, std::string("pipeline_cycle"));
      QVERIFY2(failure.errors()[0].message.find("on stage 1 waits for") != std::string::npos, failure.what());
    }
  }

  // Without transfers: GPipe and 1F1B (s - 1) / (m + s - 1); interleaved that over chunks, of the time of one chunk.
  void bubbles_are_those_of_the_papers() {
    for (const char* name : {"gpipe", "1f1b"}) {
      for (const PipelineShape& shape : legal_shapes(*find_schedule(name))) {
        const double expected = (shape.stages - 1.0) / (shape.microbatches + shape.stages - 1.0);
        QVERIFY(std::abs(simulated(name, shape).bubble - expected) < 1e-12);
      }
    }
    for (const PipelineShape& shape : legal_shapes(*find_schedule("interleaved"))) {
      const double expected = (shape.stages - 1.0) / (shape.microbatches * shape.chunks + shape.stages - 1.0);
      QVERIFY2(std::abs(simulated("interleaved", shape).bubble - expected) < 1e-12,
               qPrintable(QString("%1 stages, %2 chunks, %3 microbatches")
                              .arg(shape.stages)
                              .arg(shape.chunks)
                              .arg(shape.microbatches)));
    }
    for (const PipelineShape& shape : legal_shapes(*find_schedule("zero_bubble"))) {
      QVERIFY(simulated("zero_bubble", shape).bubble <= simulated("1f1b", shape).bubble + 1e-12);
      if (shape.microbatches < shape.stages) continue;
      QCOMPARE(simulated("zero_bubble", shape).seconds, 3.0 * shape.microbatches + shape.stages - 1);
    }
  }

  void activations_in_flight_are_bounded() {
    for_every_shape([](const PipelineSchedule& schedule, const PipelineShape& shape, const PipelineOrder& order) {
      const std::vector<int> held = microbatches_in_flight(order);
      for (int s = 0; s < shape.stages; ++s) {
        const int count = held[static_cast<size_t>(s)];
        if (schedule.name == "gpipe") QCOMPARE(count, shape.microbatches);
        if (schedule.name == "1f1b") QCOMPARE(count, std::min(shape.stages - s, shape.microbatches));
        if (schedule.name == "zero_bubble") QVERIFY(count <= std::min(shape.stages, shape.microbatches));
      }
    });
  }

  void time_lines_are_as_drawn() {
    QCOMPARE(drawn("gpipe", {3, 1, 4}), std::string("F0 F1 F2 F3 .. .. .. .. .. .. B3 B3 B2 B2 B1 B1 B0 B0\n"
                                                    ".. F0 F1 F2 F3 .. .. .. B3 B3 B2 B2 B1 B1 B0 B0 .. ..\n"
                                                    ".. .. F0 F1 F2 F3 B3 B3 B2 B2 B1 B1 B0 B0 .. .. .. ..\n"));
    QCOMPARE(drawn("1f1b", {3, 1, 4}), std::string("F0 F1 F2 .. .. .. .. B0 B0 F3 B1 B1 .. B2 B2 .. B3 B3\n"
                                                   ".. F0 F1 .. .. B0 B0 F2 B1 B1 F3 B2 B2 .. B3 B3 .. ..\n"
                                                   ".. .. F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 .. .. .. ..\n"));
    QCOMPARE(drawn("zero_bubble", {3, 1, 4}), std::string("F0 F1 F2 .. .. B0 W0 F3 B1 W1 B2 W2 B3 W3\n"
                                                          ".. F0 F1 .. B0 F2 B1 W0 F3 B2 W1 B3 W2 W3\n"
                                                          ".. .. F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3\n"));
    QCOMPARE(drawn("interleaved", {2, 2, 2}),
             std::string("F0a F1a F0b F1b ... ... B0b B0b ... B1b B1b B0a B0a B1a B1a\n"
                         "... F0a F1a F0b B0b B0b F1b B1b B1b B0a B0a B1a B1a ... ...\n"));
  }

  void shapes_that_do_not_fit_are_located_errors() {
    QCOMPARE(to_string(find_schedule("1f1b")->check({2, 2, 4})[0].place), std::string("pipeline.chunks"));
    const std::vector<Error> errors = find_schedule("interleaved")->check({4, 2, 6});
    QCOMPARE(to_string(errors[0].place), std::string("schedule.microbatches"));
    QCOMPARE(errors[0].hint, std::string("for example 8"));
  }
};

REGISTER_TEST(SchedulesTest)

}  // namespace schedules_test

#include "schedules_test.moc"
