#include "engine/plan/memory_plan.h"

#include <QTest>
#include <algorithm>

#include "engine/base/error.h"
#include "engine/plan/cost_model.h"
#include "engine/shard/lowering.h"
#include "tests/shard/random_graph.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int graph_count = 200;

struct Planned {
  RandomGraph one;
  Program program;
  std::vector<int> kept;
};

Planned planned(RandomGraphs& graphs, int threads = 2) {
  Planned result{graphs.next(), {}, {}};
  const LayoutProblem problem{result.one.graph, result.one.mesh, result.one.rules, result.one.pins, CostRates{}};
  Lowered lowered = lower(problem, choose_layouts(problem));
  for (int value : result.one.kept()) result.kept.push_back(lowered.versions[value].back());
  result.program = std::move(lowered.program);
  plan_memory(result.program, result.one.graph, result.kept, threads);
  return result;
}

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

class MemoryPlanTest : public QObject {
  Q_OBJECT

 private slots:
  void buffers_that_live_together_do_not_overlap() {
    RandomGraphs graphs(1);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      verify_memory(plan.program);
      for (const Buffer& buffer : plan.program.buffers) {
        QVERIFY(buffer.offset % 64 == 0 && buffer.bytes > 0);
        QVERIFY(0 <= buffer.first && buffer.first <= buffer.last);
        QVERIFY(buffer.last < static_cast<int>(plan.program.steps.size()));
      }
    }
  }

  void every_value_has_a_buffer_of_its_size_for_all_of_its_life() {
    RandomGraphs graphs(2);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      const Program& program = plan.program;
      for (size_t s = 0; s < program.steps.size(); ++s) {
        std::vector<int> used = program.steps[s].inputs;
        used.insert(used.end(), program.steps[s].outputs.begin(), program.steps[s].outputs.end());
        for (int value : used) {
          const Buffer& buffer = program.buffers.at(program.values[value].buffer);
          QCOMPARE(buffer.bytes, program.values[value].bytes());
          QVERIFY(buffer.first <= static_cast<int>(s) && static_cast<int>(s) <= buffer.last);
        }
      }
      for (int value : plan.kept) {
        QCOMPARE(program.buffers[program.values[value].buffer].last, static_cast<int>(program.steps.size()) - 1);
      }
    }
  }

  void sources_are_persistent_and_updated_in_place() {
    RandomGraphs graphs(3);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      const Graph& graph = plan.one.graph;
      for (const Step& step : plan.program.steps) {
        if (step.phase != Phase::update || step.kind != StepKind::compute) continue;
        const auto buffer = [&](int value) { return plan.program.values[value].buffer; };
        QCOMPARE(buffer(step.outputs[0]), buffer(step.inputs[0]));
        QCOMPARE(buffer(step.outputs[1]), buffer(step.inputs[2]));
        QCOMPARE(buffer(step.outputs[2]), buffer(step.inputs[3]));
        QVERIFY(buffer(step.inputs[1]) != buffer(step.inputs[0]));
      }
      std::vector<bool> made(plan.program.values.size());
      for (const Step& step : plan.program.steps) {
        for (int output : step.outputs) made[output] = true;
      }
      for (size_t v = 0; v < plan.program.values.size(); ++v) {
        const ProgramValue& value = plan.program.values[v];
        if (made[v]) continue;
        const Buffer& buffer = plan.program.buffers[value.buffer];
        QVERIFY(buffer.persistent && buffer.first == 0 &&
                buffer.last == static_cast<int>(plan.program.steps.size()) - 1);
        const ValueKind kind = graph.values[value.graph_value].kind;
        QCOMPARE(buffer.category == MemoryCategory::parameters, kind == ValueKind::parameter);
        QCOMPARE(buffer.category == MemoryCategory::optimizer, kind == ValueKind::optimizer_state);
      }
    }
  }

  void workspace_is_what_the_op_declares_for_its_local_shapes() {
    RandomGraphs graphs(4);
    for (int i = 0; i < graph_count; ++i) {
      const int threads = 1 + i % 3;
      const Planned plan = planned(graphs, threads);
      for (size_t s = 0; s < plan.program.steps.size(); ++s) {
        const Step& step = plan.program.steps[s];
        int64_t declared = 0;
        if (step.kind == StepKind::compute) {
          std::vector<TensorType> operands, results;
          for (int v : step.inputs)
            operands.push_back({plan.program.values[v].local_shape, plan.program.values[v].dtype});
          for (int v : step.outputs)
            results.push_back({plan.program.values[v].local_shape, plan.program.values[v].dtype});
          const Op& op = plan.one.graph.ops[step.op];
          declared = op.definition->workspace_bytes(op.attributes, operands, results, threads);
        }
        QCOMPARE(step.workspace >= 0, declared > 0);
        if (declared == 0) continue;
        const Buffer& buffer = plan.program.buffers[step.workspace];
        QCOMPARE(buffer.bytes, declared);
        QVERIFY(buffer.first == static_cast<int>(s) && buffer.last == buffer.first);
        QVERIFY(buffer.category == MemoryCategory::workspace);
      }
    }
  }

  void categories_sum_to_the_peak_and_the_arena_holds_it() {
    RandomGraphs graphs(5);
    for (int i = 0; i < graph_count; ++i) {
      const Planned plan = planned(graphs);
      PlanTotals totals;
      total_memory(plan.program, totals);
      int64_t sum = 0, persistent = 0, parameters = 0;
      for (int64_t bytes : totals.memory) sum += bytes;
      for (const Buffer& buffer : plan.program.buffers) {
        if (buffer.persistent) persistent += aligned(buffer.bytes);
        if (buffer.category == MemoryCategory::parameters) parameters += aligned(buffer.bytes);
      }
      QCOMPARE(sum, totals.live_lower_bound);
      QCOMPARE(totals.memory[static_cast<int>(MemoryCategory::parameters)], parameters);
      QCOMPARE(totals.memory[static_cast<int>(MemoryCategory::optimizer)], 2 * parameters);
      QVERIFY(persistent <= sum && sum <= plan.program.arena_bytes);
      QCOMPARE(totals.memory_total, plan.program.arena_bytes);
    }
  }

  void overlapping_buffers_are_found() {
    RandomGraphs graphs(6);
    for (int i = 0; i < graph_count; ++i) {
      Planned plan = planned(graphs);
      std::vector<Buffer>& buffers = plan.program.buffers;
      Program moved = plan.program;
      moved.buffers[1].offset = moved.buffers[0].offset;  // both persistent
      QVERIFY(buffers[0].persistent && buffers[1].persistent);
      QVERIFY_THROWS_EXCEPTION(Failure, verify_memory(moved));
      moved = plan.program;
      moved.arena_bytes = buffers.back().offset + buffers.back().bytes - 1;
      QVERIFY_THROWS_EXCEPTION(Failure, verify_memory(moved));
    }
  }

  void predicted_totals_are_the_sums_over_steps() {
    RandomGraphs graphs(7);
    for (int i = 0; i < graph_count; ++i) {
      Planned plan = planned(graphs);
      PlanTotals totals;
      predict_time(plan.program, plan.one.graph, cost_rates(DeviceProfile{}, plan.one.mesh.device_count()), totals);
      double wire = 0, flops = 0, seconds = 0;
      for (const Step& step : plan.program.steps) {
        QVERIFY(step.seconds > 0 && step.wire_bytes >= 0 && step.flops >= 0);
        QVERIFY(is_collective(step.kind) || step.wire_bytes == 0);
        wire += step.wire_bytes, flops += step.flops, seconds += step.seconds;
      }
      QCOMPARE(totals.wire_bytes_per_device, wire);
      QCOMPARE(totals.flops_per_device, flops);
      QCOMPARE(totals.seconds_per_step, seconds);
    }
  }

  void bf16_products_are_priced_at_the_f32_rate_until_theirs_is_measured() {
    DeviceProfile profile;
    const double flops = 1e9;
    const LocalWork f32{0, flops, DType::f32}, bf16{0, flops, DType::bf16};
    QCOMPARE(local_seconds(cost_rates(profile, 1), bf16), local_seconds(cost_rates(profile, 1), f32));
    profile.matrix_flops_per_core_bf16 = 4 * profile.matrix_flops_per_core;
    QCOMPARE(4 * local_seconds(cost_rates(profile, 1), bf16), local_seconds(cost_rates(profile, 1), f32));
  }

  void a_rank_among_more_is_never_predicted_faster() {
    const DeviceProfile profile;
    for (int ranks = 1; ranks < 64; ++ranks) {
      const CostRates few = cost_rates(profile, ranks), many = cost_rates(profile, ranks + 1);
      QVERIFY(few.seconds_per_matrix_flop < many.seconds_per_matrix_flop);
      QVERIFY(few.seconds_per_byte < many.seconds_per_byte);
      QVERIFY(few.seconds_per_wire_byte < many.seconds_per_wire_byte);
      QVERIFY(few.seconds_per_step <= many.seconds_per_step);
      QVERIFY(profile.threads_per_rank(ranks) >= 1 && profile.threads_per_rank(ranks) * ranks <= std::max(2, ranks));
    }
  }
};

QTEST_APPLESS_MAIN(MemoryPlanTest)
#include "memory_plan_test.moc"
