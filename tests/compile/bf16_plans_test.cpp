#include <fmt/format.h>

#include <QTest>
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/config/strategy.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/random_run.h"
#include "tests/compile/system_preset.h"
#include "tests/config/random_strategy.h"
#include "tests/laws/pipeline_case.h"
#include "tests/test_program.h"

namespace bf16_plans_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// What a step sends: on one device of each stage, of all stages together.
struct Traffic {
  int64_t collectives = 0;
  double bytes = 0;
};

Traffic traffic_of(const Plan& plan) {
  Traffic traffic;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceInstructions steps = plan.instructions(stage);
    for (int position = 0; position < steps.size(); ++position) {
      traffic.collectives += is_collective(steps[position].kind());
      traffic.bytes += steps[position].wire_bytes();
    }
  }
  return traffic;
}

Plan planned(RunConfig config, const std::string& dtype) {
  return compile({with_settings(config, {"model.compute_dtype=" + dtype}), reference_host()});
}

// What one device keeps of its layers from forward to backward, for one microbatch.
double saved_bytes(const Plan& plan) {
  std::set<int> made, used;
  for (const Task& task : plan.program.tasks) {
    const bool forward = task.phase == Phase::forward && task.name.starts_with("forward");
    if (forward) made.insert(task.outputs.begin(), task.outputs.end());
    if (task.phase == Phase::backward) used.insert(task.inputs.begin(), task.inputs.end());
  }
  double bytes = 0;
  for (int value : made) {
    const OpId op = plan.graph->values[plan.program.values[value].graph_value].producer;
    if (used.contains(value) && op != no_id && plan.graph->ops[op].place.layer >= 0)
      bytes += static_cast<double>(plan.program.values[value].bytes());
  }
  return bytes;
}

void add(std::vector<RunConfig>& runs, RunConfig config, LayoutMode mode) {
  config.sharding.mode = mode;
  if (!config.model.find("compute_dtype")) config.model.options.push_back({"compute_dtype", std::string("f32")});
  if (validate(config).empty()) runs.push_back(std::move(config));
}

// Each preset on each mesh, in turns in 1 and 4 or 2 and 8 microbatches, with each policy of rematerialisation and each
// stage of ZeRO; and pipelines.
std::vector<RunConfig> preset_runs(LayoutMode mode) {
  std::vector<RunConfig> runs;
  size_t turn = 0;
  for (const SystemPreset& preset : system_presets()) {
    for (const std::vector<int64_t>& mesh : meshes_of(preset.mesh_axes)) {
      for (int64_t microbatches : {1, 2, 4, 8}) {
        const size_t here = turn++;
        if ((here / 4 + here) % 2 == 1) continue;
        RunConfig config = system_run(preset.name, preset.small, mesh);
        config.schedule.microbatches = microbatches;
        config.schedule.rematerialise = std::vector<std::string>{"none", "full", "none", "attention", "mlp"}[here % 5];
        config.sharding.zero.stage = static_cast<int64_t>(here / 2 % 4);
        add(runs, std::move(config), mode);
      }
    }
  }
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zero_bubble"}) {
    for (const std::vector<int64_t>& mesh : meshes_of(2, 4)) {
      for (int64_t zero : {0, 1, 2, 3}) {
        for (const char* tied : {"model.tied_embedding=false", "model.tied_embedding=true"}) {
          const std::string policy = zero % 2 == 1 ? "full" : "none";
          add(runs, in_stages(four_layers({tied}), {schedule, 2, mesh, 4, policy, zero, mode}), mode);
        }
      }
    }
  }
  return runs;
}

std::vector<RunConfig> random_runs(LayoutMode mode, int count) {
  std::vector<RunConfig> runs;
  RandomRuns random(4);
  for (int i = 0; i < count; ++i) add(runs, random.next(), mode);
  return runs;
}

// As written, and each forward array pinned where a plan defines it.
RunConfig pinned_as(RunConfig config, const Plan& plan) {
  config.sharding.mode = LayoutMode::as_written;
  for (const ValueLayout& layout : plan.layouts) {
    const bool is_result = plan.graph->values[static_cast<size_t>(layout.value)].kind == ValueKind::result;
    const bool given =
        std::ranges::any_of(plan.graph->outputs, [&](const auto& output) { return output.second == layout.value; });
    if (!is_result || given || layout.shape.empty() || layout.sharding.partial != 0) continue;
    const auto named = [&](const Constraint& constraint) { return constraint.names == layout.name; };
    if (std::ranges::any_of(config.sharding.constraints, named)) continue;
    config.sharding.constraints.push_back({layout.name, to_spec(layout.sharding, plan.mesh)});
  }
  return config;
}

}  // namespace

// A cast is an op like the others: a step in bf16 is planned no worse than one in f32.
class Bf16PlansTest : public QObject {
  Q_OBJECT

 private slots:
  void as_written_bf16_has_no_more_collectives_than_f32_and_at_most_its_bytes() {
    const std::vector<RunConfig> runs = preset_runs(LayoutMode::as_written);
    QVERIFY(runs.size() > 300);
    int fewer = 0;
    for (const RunConfig& config : runs) {
      const Traffic single = traffic_of(planned(config, "f32")), half = traffic_of(planned(config, "bf16"));
      QVERIFY2(half.collectives <= single.collectives, write_run_config(config).c_str());
      QVERIFY2(half.bytes <= single.bytes, write_run_config(config).c_str());
      fewer += half.bytes < 0.75 * single.bytes;
    }
    QVERIFY2(fewer > 100, std::to_string(fewer).c_str());
  }

  // With sequence parallelism the gradients of q, k and v, and of gate and up, are summed before they are scattered.
  void under_strategies_mixed_precision_has_no_more_collectives_than_f32_and_at_most_its_bytes() {
    RandomStrategies random(7, 8);
    int planned = 0, sequence_parallel = 0;
    for (int i = 0; i < 120; ++i) {
      const char* const presets[] = {"llama_tiny", "qwen3_tiny", "gemma3_tiny"};
      const SystemPreset& preset = system_preset(presets[i % 3]);
      const StrategyConfig strategy = random.next();
      RunConfig config = system_run(preset.name, preset.small, {1, 1});
      config.mesh_axes.clear();
      config.sharding = {};
      config.sharding.mode = LayoutMode::as_written;
      config = with_strategy(std::move(config), strategy);
      if (!validate(config).empty()) continue;
      std::optional<Traffic> traffic[2];
      for (const bool mixed : {false, true}) {
        try {
          traffic[mixed] = traffic_of(
              compile({with_settings(config, {mixed ? "precision=bf16_mixed" : "precision=f32"}), reference_host()}));
        } catch (const Failure&) {
        }
      }
      QCOMPARE(traffic[0].has_value(), traffic[1].has_value());
      if (!traffic[0]) continue;
      // Half as large, activations may move in the place of the gradients of parameters that replicas split.
      if (strategy.fsdp == 1 && strategy.zero < 2)
        QVERIFY2(traffic[1]->collectives <= traffic[0]->collectives, write_run_config(config).c_str());
      QVERIFY2(traffic[1]->bytes <= traffic[0]->bytes, write_run_config(config).c_str());
      ++planned;
      sequence_parallel += strategy.sequence_parallel && strategy.tensor > 1;
    }
    QVERIFY2(planned > 40 && sequence_parallel > 5, qPrintable(QString("%1 %2").arg(planned).arg(sequence_parallel)));
  }

  // Of arrays that ops of both types need gathered, f32 gathers one for all of them, so that bf16 may have a collective
  // more there.
  void under_random_specs_bf16_sends_at_most_the_bytes_of_f32() {
    for (const RunConfig& config : random_runs(LayoutMode::as_written, 150)) {
      const Traffic single = traffic_of(planned(config, "f32")), half = traffic_of(planned(config, "bf16"));
      QVERIFY2(half.bytes <= single.bytes, write_run_config(config).c_str());
    }
  }

  void the_search_finds_bf16_plans_no_slower_than_f32s_layouts() {
    int tried = 0, slower = 0;
    for (const RunConfig& config : preset_runs(LayoutMode::fastest)) {
      const Plan plan = planned(config, "bf16");
      const double found = plan.totals.seconds_per_step;
      if (config.pipeline.axis.empty()) {
        const double priced = std::min(plan.priced_seconds.chosen, plan.priced_seconds.as_written);
        const std::string numbers = fmt::format("{:.9g} {:.9g}\n", priced, found);
        QVERIFY2(std::abs(priced - found) <= 1e-9 * found, (numbers + write_run_config(config)).c_str());
      }
      const RunConfig there = pinned_as(config, planned(config, "f32"));
      const double pinned = planned(there, "bf16").totals.seconds_per_step;
      ++tried;
      slower += found > pinned * (1 + 1e-9);
      QVERIFY2(found <= 1.03 * pinned, write_run_config(config).c_str());
    }
    QVERIFY2(slower <= tried / 100, std::to_string(slower).c_str());
  }

  // Blocks of the decoder, and of GPT-3 175B split eight ways.
  void saved_activations_of_blocks_take_at_most_0_61_of_those_of_f32() {
    const RunConfig decoder = system_run("parallax_decoder", {"deterministic=true"}, {1, 1});
    RunConfig gpt3 = system_run("nnx_gpt2",
                                {"model.vocab_size=51200", "model.seq_len=2048", "model.embed_dim=12288",
                                 "model.ff_dim=49152", "model.num_heads=96", "data.batch_size=1", "deterministic=true"},
                                {1, 8});
    gpt3.sharding = {};
    gpt3.sharding.rules = {{"**", LogicalAxes{{{"mlp", {"model"}}, {"heads", {"model"}}, {"vocab", {"model"}}}}}};
    for (RunConfig config : {decoder, gpt3}) {
      config.sharding.mode = LayoutMode::as_written;
      const double share = saved_bytes(planned(config, "bf16")) / saved_bytes(planned(config, "f32"));
      QVERIFY2(share <= 0.61, std::to_string(share).c_str());
    }
  }
};

REGISTER_TEST(Bf16PlansTest)

}  // namespace bf16_plans_test

#include "bf16_plans_test.moc"
