#include "engine/plan/memory_plan.h"
#include "engine/machine/host_machine.h"

#include <QTest>
#include <algorithm>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/plan/cost_model.h"
#include "engine/shard/lowering.h"
#include "tests/machine/host_rates.h"
#include "tests/shard/prices_of.h"
#include "tests/shard/random_graph.h"
#include "tests/test_program.h"

namespace memory_plan_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int graph_count = 200;

struct Planned {
  RandomGraph one;
  Lowered lowered;
  ArenaLayout arena;
  const Program& program() const { return lowered.program; }
  SequenceInstructions instructions() const { return program().main_instructions(); }
  int buffer(int value) const { return arena.buffer_of[value]; }
};

Planned planned(RandomGraphs& graphs, int threads = 2) {
  Planned result{graphs.next(), {}, {}};
  const LayoutProblem problem{result.one.graph, result.one.mesh, result.one.pins, prices_of(result.one.mesh)};
  result.lowered = lower(problem, choose_layouts(problem));
  result.arena = plan_memory(result.program(), result.one.graph, threads);
  return result;
}

}  // namespace

class MemoryPlanTest : public QObject {
  Q_OBJECT

 private slots:
  void buffers_that_live_together_do_not_overlap() {
    RandomGraphs graphs(1);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      verify_memory(plan.arena);
      for (const Buffer& buffer : plan.arena.buffers) {
        QVERIFY(buffer.offset % line_bytes == 0 && buffer.bytes > 0);
        QVERIFY(0 <= buffer.first && buffer.first <= buffer.last);
        QVERIFY(buffer.last < plan.instructions().size());
      }
    }
  }

  void every_value_has_a_buffer_of_its_size_for_all_of_its_life() {
    RandomGraphs graphs(2);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      for (int p = 0; p < plan.instructions().size(); ++p) {
        const std::span<const int> operands = plan.instructions()[p].operands(),
                                   results = plan.instructions()[p].results();
        std::vector<int> used(operands.begin(), operands.end());
        used.insert(used.end(), results.begin(), results.end());
        for (int value : used) {
          const Buffer& buffer = plan.arena.buffers.at(plan.buffer(value));
          QCOMPARE(buffer.bytes, plan.program().values[value].bytes());
          QVERIFY(buffer.first <= p && p <= buffer.last);
        }
      }
    }
  }

  void what_is_read_when_all_is_done_lives_to_the_end() {
    RandomGraphs graphs(8);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      for (const auto& [name, values] : plan.lowered.reported) {
        QCOMPARE(plan.arena.buffers[plan.buffer(values[0])].last, plan.instructions().size() - 1);
      }
    }
  }

  void sources_are_persistent_and_updated_in_place() {
    RandomGraphs graphs(3);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      const Graph& graph = plan.one.graph;
      for (const Instruction& instruction : plan.instructions()) {
        if (instruction.phase != Phase::update || instruction.kind() != InstructionKind::compute) continue;
        QCOMPARE(plan.buffer(instruction.results()[0]), plan.buffer(instruction.operands()[0]));
        QCOMPARE(plan.buffer(instruction.results()[1]), plan.buffer(instruction.operands()[2]));
        QCOMPARE(plan.buffer(instruction.results()[2]), plan.buffer(instruction.operands()[3]));
        QVERIFY(plan.buffer(instruction.operands()[1]) != plan.buffer(instruction.operands()[0]));
      }
      for (const State& state : graph.states) {
        const Lowered& lowered = plan.lowered;
        QCOMPARE(plan.buffer(lowered.defined[state.initial]), plan.buffer(lowered.versions[state.before].front()));
      }
      std::vector<bool> made(plan.program().values.size());
      for (const Instruction& instruction : plan.instructions()) {
        for (int output : instruction.results()) made[output] = true;
      }
      for (size_t v = 0; v < plan.program().values.size(); ++v) {
        const ProgramValue& value = plan.program().values[v];
        if (made[v] || plan.one.is_initial(value.graph_value)) continue;
        const Buffer& buffer = plan.arena.buffers[plan.buffer(static_cast<int>(v))];
        QVERIFY(buffer.persistent && buffer.first == 0 && buffer.last == plan.instructions().size() - 1);
        const Value& origin = graph.values[value.graph_value];
        const bool state = origin.kind == ValueKind::state;
        const bool parameter = state && graph.states[origin.state].trainable;
        QCOMPARE(buffer.category == MemoryCategory::parameters, parameter);
        QCOMPARE(buffer.category == MemoryCategory::optimizer, state && !parameter);
      }
    }
  }

  void workspace_is_what_the_op_declares_for_its_local_shapes() {
    RandomGraphs graphs(4);
    for (int i = 0; i < graph_count; ++i) {
      const int threads = 1 + i % 3;
      const Planned plan = planned(graphs, threads);
      for (int p = 0; p < plan.instructions().size(); ++p) {
        const Instruction& instruction = plan.instructions()[p];
        const int workspace = plan.arena.workspace[plan.instructions().id(p)];
        int64_t declared = 0;
        if (instruction.kind() == InstructionKind::compute) {
          std::vector<TensorType> operands, results;
          for (int v : instruction.operands())
            operands.push_back({plan.program().values[v].local_shape, plan.program().values[v].dtype});
          for (int v : instruction.results())
            results.push_back({plan.program().values[v].local_shape, plan.program().values[v].dtype});
          const Op& op = plan.one.graph.ops[instruction.op];
          declared = op.definition->workspace_bytes(op.attributes, operands, results, threads);
        }
        QCOMPARE(workspace >= 0, declared > 0);
        if (declared == 0) continue;
        const Buffer& buffer = plan.arena.buffers[workspace];
        QCOMPARE(buffer.bytes, declared);
        QVERIFY(buffer.first == p && buffer.last == p);
        QVERIFY(buffer.category == MemoryCategory::workspace);
      }
    }
  }

  void categories_sum_to_the_peak_and_the_arena_holds_it() {
    RandomGraphs graphs(5);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      const MemoryPeak peak = memory_peak(plan.arena);
      int64_t sum = 0, persistent = 0, parameters = 0;
      for (int64_t bytes : peak.categories) sum += bytes;
      for (const Buffer& buffer : plan.arena.buffers) {
        if (buffer.persistent) persistent += round_up(buffer.bytes);
        if (buffer.category == MemoryCategory::parameters) parameters += round_up(buffer.bytes);
      }
      QCOMPARE(sum, peak.live_bytes);
      QCOMPARE(peak.categories[static_cast<int>(MemoryCategory::parameters)], parameters);
      QCOMPARE(peak.categories[static_cast<int>(MemoryCategory::optimizer)], 2 * parameters);
      QVERIFY(persistent <= sum && sum <= plan.arena.bytes);
    }
  }

  void overlapping_buffers_are_found() {
    RandomGraphs graphs(6);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      const std::vector<Buffer>& buffers = plan.arena.buffers;
      ArenaLayout moved = plan.arena;
      moved.buffers[1].offset = moved.buffers[0].offset;  // both persistent
      QVERIFY(buffers[0].persistent && buffers[1].persistent);
      QVERIFY_THROWS_EXCEPTION(Failure, verify_memory(moved));
      moved = plan.arena;
      moved.bytes = buffers.back().offset + buffers.back().bytes - 1;
      QVERIFY_THROWS_EXCEPTION(Failure, verify_memory(moved));
    }
  }

  void every_step_is_predicted_to_take_time_and_only_collectives_to_send() {
    RandomGraphs graphs(7);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      const InstructionTable<double> seconds =
          predict_seconds(plan.program(), plan.one.graph, prices_of(plan.one.mesh));
      for (int p = 0; p < plan.instructions().size(); ++p) {
        const Instruction& instruction = plan.instructions()[p];
        QCOMPARE(seconds[plan.instructions().id(p)] > 0, !instruction.as<CollectiveDone>());
        QVERIFY(instruction.wire_bytes() >= 0 && instruction.flops() >= 0);
        QVERIFY(is_collective(instruction.kind()) || instruction.wire_bytes() == 0);
      }
    }
  }

  void bf16_products_are_priced_at_the_f32_rate_until_theirs_is_measured() {
    Machine machine = reference_host();
    const auto seconds = [&](Precision precision) {
      return MachinePrices(machine, 1).matrix_product_seconds({precision, 1000, 1000, 1000});
    };
    QCOMPARE(seconds(Precision::bf16), seconds(Precision::f32));
    product_rate(machine, Precision::bf16) = 4 * product_rate(machine);
    QCOMPARE(4 * (seconds(Precision::bf16) - machine.device.instruction_latency),
             seconds(Precision::f32) - machine.device.instruction_latency);
  }
};

REGISTER_TEST(MemoryPlanTest)

}  // namespace memory_plan_test

#include "memory_plan_test.moc"
