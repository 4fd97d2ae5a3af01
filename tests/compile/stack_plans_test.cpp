#include <fmt/format.h>

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/config/parse.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_library.h"
#include "engine/machine/machine_prices.h"
#include "engine/plan/blocking_groups.h"
#include "engine/plan/exposed_wait.h"
#include "engine/plan/hidden_transfers.h"
#include "engine/plan/level_lanes.h"
#include "engine/plan/utilisation.h"
#include "tests/compile/random_run.h"
#include "tests/test_program.h"

// What plans say of other machines and software stacks.
namespace stack_plans_test {

using namespace shardscope;

namespace {

const char* const presets[] = {
    "llama_tiny",     "qwen3_tiny",           "mixtral_tiny",     "nnx_gpt2",
    "workshop_gpipe", "workshop_interleaved", "parallax_decoder", "workshop_selective_document"};
const char* const machines[] = {"dgx_h100", "dgx_a100_80gb"};

RunConfig config_of(const std::string& preset, const std::string& machine, std::string_view stack) {
  RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/" + preset + ".json");
  config.machine = machine_choice(machine);
  config.stack = '"' + std::string(stack) + '"';
  return config;
}

Plan plan_of(const std::string& preset, const std::string& machine, std::string_view stack) {
  return compile(plan_request(config_of(preset, machine, stack)));
}

double peak_of(const Plan& plan) {
  double peak = 0;
  for (const auto& [precision, rate] : plan.machine.device.products) peak = std::max(peak, rate.flops_per_second);
  return peak;
}

// B/s of all links that a device has on the levels in which members of a group over these axes differ.
double fastest_link(const Plan& plan, const MachinePrices& prices, const AxisList& axes) {
  double rate = 0;
  for (const LevelTraffic& used : prices.place(plan.mesh, {axes.begin(), axes.end()}).levels) {
    const Level& level = plan.machine.levels[static_cast<size_t>(used.level)];
    rate = std::max(rate, level.bytes_per_second * std::max(1.0, 2.0 * static_cast<double>(level.dims.size())));
  }
  return rate;
}

// Of products, and of collectives outside of updates, which hide_behind_passes() shortens.
void check_rates(const Plan& plan) {
  constexpr double rounding = 1 - 1e-9;
  const MachinePrices prices(plan.machine, plan.mesh.device_count());
  const double peak = peak_of(plan);
  for (size_t t = 0; t < plan.program.tasks.size(); ++t) {
    const Task& task = plan.program.tasks[t];
    for (size_t i = 0; i < task.instructions.size(); ++i) {
      const Instruction& instruction = task.instructions[i];
      const double seconds = plan.instruction_seconds.tasks[t][i];
      if (instruction.as<Compute>() && plan.graph->ops[instruction.op].definition->is_matrix_product()) {
        const bool is_attention = plan.graph->ops[instruction.op].definition->name().starts_with("attention");
        QVERIFY(seconds >= instruction.flops() * (is_attention ? 0.5 : 1) / peak * rounding);
      } else if (instruction.as<CollectiveStart>() && task.phase != Phase::update && instruction.group_size() > 1) {
        const double narrow = plan.stack.memory.narrow_activations ? 0.5 : 1;
        const double wire = fastest_link(plan, prices, instruction.axes());
        QVERIFY(seconds >= narrow * instruction.wire_bytes() / wire * rounding);
      }
    }
  }
}

void check_utilisation(const Plan& plan) {
  const Utilisation use = utilisation(plan);
  double executed = 0;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    for (const Instruction& instruction : plan.instructions(stage)) {
      if (instruction.as<Compute>() && plan.graph->ops[instruction.op].definition->is_matrix_product())
        executed += instruction.flops() * static_cast<double>(plan.devices_of_stage(stage).size());
    }
  }
  QVERIFY(use.mfu() >= 0 && use.hfu() >= 0 && use.hfu() <= 1 + 1e-9);
  QVERIFY(use.hardware_flops <= executed * (1 + 1e-9));
}

constexpr int width = 1024, heads = 16, length = 512;

const std::string mixed_precision =
    R"("precision": {"compute": "bf16", "parameters": "bf16", "master": "f32", "gradients": "bf16"}, )";

// GPT-2 has one kernel for query, key and value; the other three, and rotations.
std::string gpt_config(int layers) {
  return fmt::format(R"({{"model_type": "gpt2", "n_embd": {}, "n_head": {}, "n_layer": {}, "n_positions": {}, )"
                     R"("vocab_size": 1024}})",
                     width, heads, layers, length);
}
std::string separate_config(int layers) {
  return fmt::format(R"({{"model_type": "nemotron", "hidden_size": {0}, "num_attention_heads": {1}, )"
                     R"("num_key_value_heads": {1}, "head_dim": {2}, "num_hidden_layers": {3}, )"
                     R"("intermediate_size": {4}, "hidden_act": "gelu", "max_position_embeddings": {5}, )"
                     R"("vocab_size": 1024}})",
                     width, heads, width / heads, layers, 4 * width, length);
}

// A config.json in a folder of its own.
class Written {
 public:
  explicit Written(const std::string& config) {
    std::ofstream(folder_.filePath("config.json").toStdString()) << config;
  }
  // Of one replica on dgx_a100_80gb, by Megatron.
  Plan plan(const std::string& keys, int batch, const std::string& kernel = "flash",
            const std::string& memory = "") const {
    const std::string text = fmt::format(
        R"({{"model": {{"name": "huggingface", "path": "{}", "initialise": "random"}}, {},
            "data": {{"kind": "zeros", "batch_size": {}, "sequence_length": 512}},
            "optimizer": {{"name": "adamw", "learning_rate": 1e-4}}, "machine": "dgx_a100_80gb",
            "stack": {{"name": "megatron", "attention": {{"kernel": "{}"}}, "memory": {{{}}}}}, "seed": 0, "steps": 1}})",
        folder_.filePath("config.json").toStdString(), keys, batch, kernel, memory);
    return compile(plan_request(parse_run_config(text, "run.json")));
  }

 private:
  QTemporaryDir folder_;
};

template <class Visit>
void each_plan(Visit visit) {
  for (const char* preset : presets) {
    for (const char* machine : machines) {
      for (std::string_view stack : stack_names()) visit(plan_of(preset, machine, stack));
    }
  }
}

}  // namespace

class StackPlansTest : public QObject {
  Q_OBJECT

 private slots:
  void no_instruction_is_faster_than_peak_or_wire() {
    each_plan([](const Plan& plan) { check_rates(plan); });
  }

  void no_random_program_is_faster_than_peak_or_wire_on_any_machine() {
    test::RandomRuns runs(7);
    const std::vector<std::string_view> machines = library_names(), stacks = stack_names();
    size_t collectives = 0;
    for (size_t i = 0; i < 12 * machines.size(); ++i) {
      RunConfig config = runs.next();
      config.machine = machine_choice(std::string(machines[i % machines.size()]));
      config.stack = '"' + std::string(stacks[i % stacks.size()]) + '"';
      const Plan plan = compile(plan_request(config));
      check_rates(plan);
      check_utilisation(plan);
      collectives += plan.program.groups.size();
    }
    QVERIFY(collectives > machines.size());
  }

  // The reference host too: a network whose first product needs no gradient of its input executes less than its model's
  // FLOPs, and what is recomputed.
  void hardware_flops_are_executed_and_take_no_less_than_at_peak() {
    for (const char* preset : presets) {
      const RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/" + std::string(preset) + ".json");
      check_utilisation(compile({config, reference_host()}));
    }
    each_plan([](const Plan& plan) {
      check_utilisation(plan);
      const Utilisation use = utilisation(plan);
      QCOMPARE(use.device_hours(2 * use.tokens), use.tokens > 0 ? 2 * use.seconds * use.devices / 3600 : 0.0);
    });
  }

  void model_flops_are_those_of_the_published_formula() {
    const Plan plan = plan_of("llama_tiny", "dgx_h100", "megatron");
    double parameters = 0, layers = 0, attention = 0;
    for (const ParameterPlan& parameter : plan.parameters) {
      const bool is_product = parameter.shape.size() == 2 && parameter.path.back() == "weight" &&
                              parameter.path[parameter.path.size() - 2] != "embed_tokens";
      if (is_product) parameters += static_cast<double>(element_count(parameter.shape));
    }
    double length = 0;
    for (const Op& op : plan.graph->ops) {
      if (op.phase != Phase::forward || op.definition->name() != "attention") continue;
      const Shape& query = plan.graph->type(op.inputs[0]).shape;
      ++layers;
      length = static_cast<double>(query[1]);
      attention = static_cast<double>(query[2] * query[3]);
    }
    const Utilisation use = utilisation(plan);
    QCOMPARE(use.model_flops, use.tokens * (6 * parameters + 12 * layers * attention * length));
  }

  void exposed_seconds_of_axes_add_up_to_those_of_the_stage() {
    each_plan([](const Plan& plan) {
      for (int stage = 0; stage < plan.program.stages; ++stage) {
        double sum = 0;
        for (const ExposedAxes& exposed : exposed_by_axes(plan, stage)) sum += exposed.seconds;
        const double all = plan.simulation.communication[static_cast<size_t>(stage)].exposed;
        QVERIFY(std::abs(sum - all) <= 1e-9 * std::max(1.0, all) + 1e-12);
      }
    });
  }

  void what_a_device_waits_for_is_said_with_what_would_hide_it() {
    int waiting = 0, kept_apart = 0;
    each_plan([&](const Plan& plan) {
      for (int stage = 0; stage < plan.program.stages; ++stage) {
        const SequenceInstructions steps = plan.instructions(stage);
        double sum = 0;
        for (int at = 0; at < steps.size(); ++at) {
          const std::optional<ExposedWait> exposed = exposed_wait(plan, stage, at);
          QVERIFY(!exposed || is_collective(steps[steps.start_of(at)].kind()));
          if (!exposed || steps.done_of(at) != at) continue;
          sum += exposed->seconds;
          ++waiting;
          kept_apart += !exposed->setting.empty();
          QVERIFY(exposed->operand < steps.start_of(at));
          QVERIFY(exposed->user < 0 || exposed->user > at);
          QVERIFY((exposed->longest < 0) == (exposed->independent == 0));
          if (exposed->longest >= 0) QVERIFY(steps[exposed->longest].as<Compute>());
        }
        const double all = plan.simulation.communication[static_cast<size_t>(stage)].exposed;
        QVERIFY(std::abs(sum - all) <= 1e-9 * std::max(1.0, all) + 1e-12);
      }
    });
    QVERIFY(waiting > 100 && kept_apart > 10 && kept_apart < waiting);
  }

  // A gradient of weights needs nothing of the reduction of the gradient of activations beside it.
  void with_the_setting_that_is_named_no_more_is_exposed() {
    RunConfig config = config_of("llama_tiny", "dgx_h100", "megatron");
    config.sharding.mode = LayoutMode::as_written;
    const Plan plan = compile(plan_request(config));
    double independent = 0;
    for (int at = 0; at < plan.instructions().size(); ++at) {
      const std::optional<ExposedWait> exposed = exposed_wait(plan, 0, at);
      if (exposed && exposed->setting == "stack.overlap.tensor") independent += exposed->independent;
    }
    QVERIFY(independent > 0);
    config.stack = R"({"name": "megatron", "overlap": {"tensor": true}})";
    const Plan overlapped = compile(plan_request(config));
    QVERIFY(overlapped.simulation.communication[0].exposed <= plan.simulation.communication[0].exposed);
  }

  void what_a_stack_hides_behind_passes_is_hidden_not_gone() {
    RunConfig config = config_of("tiny_lm_dp", "dgx_h100", "megatron");
    const auto communication_of = [&](bool overlap) {
      config.stack =
          fmt::format(R"({{"name": "megatron", "overlap": {{"gradients": {0}, "parameters": {0}}}}})", overlap);
      const Plan plan = compile(plan_request(config));
      return plan.simulation.communication.at(0);
    };
    const auto hidden = communication_of(true), exposed = communication_of(false);
    QVERIFY(hidden.hidden > 0 && hidden.exposed < exposed.exposed);
    QVERIFY(std::abs(hidden.hidden + hidden.exposed - exposed.exposed - exposed.hidden) < 1e-9 * exposed.exposed);
  }

  void what_a_stack_hides_is_shown_beside_its_pass_for_as_long_as_it_is_hidden() {
    int shown = 0;
    for (const char* preset : presets) {
      for (const char* stack : {"megatron", "torchtitan", "nanotron_2024", "maxtext", "shardscope"}) {
        RunConfig config = config_of(preset, "dgx_h100", stack);
        config.sharding.mode = LayoutMode::as_written;
        const Plan plan = compile(plan_request(config));
        const std::vector<double> hidden = hidden_of_stages(plan.program, plan.hidden_seconds);
        for (int stage = 0; stage < plan.program.stages; ++stage) {
          std::map<int, double> of_position;
          double all = 0, end = 0;
          for (const HiddenTransfer& transfer : transfers_behind_passes(plan, stage)) {
            QVERIFY(transfer.span.start >= end * (1 - 1e-12) && transfer.span.end > transfer.span.start);
            end = transfer.span.end;
            of_position[transfer.position] += transfer.span.end - transfer.span.start;
            ++shown;
          }
          const double rounding = 1e-9 * plan.simulation.seconds;
          for (int position = 0; position < plan.instructions(stage).size(); ++position)
            QVERIFY(std::abs(of_position[position] - hidden_behind_passes(plan, stage, position)) <= rounding);
          for (const auto& [position, seconds] : of_position) all += seconds;
          QVERIFY(std::abs(all - hidden.at(size_t(stage))) <= rounding);
          QVERIFY(all <= plan.simulation.communication[size_t(stage)].hidden + rounding);
        }
      }
    }
    QVERIFY(shown > 20);
  }

  void each_lane_has_one_transfer_at_a_time() {
    for (const char* preset : presets) {
      for (const char* stack : {"megatron", "torchtitan", "nanotron_2024", "maxtext", "shardscope"}) {
        RunConfig config = config_of(preset, "dgx_h100", stack);
        config.sharding.mode = LayoutMode::as_written;
        for (const StageLanes& stage : level_lanes(compile(plan_request(config)))) {
          for (const LevelLane& lane : stage.lanes) {
            double end = 0;
            for (const TransferPart& part : lane.parts) {
              QVERIFY(part.span.start >= end * (1 - 1e-12) && part.span.end >= part.span.start);
              QVERIFY(!lane.is_behind_passes || !part.is_exposed);
              end = part.span.end;
            }
          }
        }
      }
    }
  }

  // On a replica of data parallelism alone: gradients up to the end of the backward pass, the rest in the update.
  void gradients_that_a_stack_hides_are_reduced_until_the_last_backward_pass_ends() {
    RunConfig config = config_of("tiny_lm_dp", "dgx_h100", "megatron");
    config.sharding.mode = LayoutMode::as_written;
    config.stack = R"({"name": "megatron", "overlap": {"gradients": true, "parameters": false}})";
    const Plan plan = compile(plan_request(config));
    const std::vector<HiddenTransfer> transfers = transfers_behind_passes(plan, 0);
    QVERIFY(!transfers.empty());
    TimeSpan pass;
    const SequenceInstructions instructions = plan.instructions();
    for (int position = 0; position < instructions.size(); ++position)
      if (instructions.task(position).phase == Phase::backward) pass.end = plan.simulation.stages[0][position].end;
    QVERIFY(std::abs(transfers.back().span.end - pass.end) < 1e-9 * plan.simulation.seconds);
    for (const HiddenTransfer& transfer : transfers) QVERIFY(!transfer.of_parameters);
  }

  void a_step_takes_at_least_as_long_as_a_host_issues_its_instructions() {
    for (const char* preset : {"llama_tiny", "workshop_gpipe", "workshop_interleaved"}) {
      for (const char* stack : {"megatron", "nanotron_2024"}) {
        RunConfig config = config_of(preset, "dgx_h100", stack);
        config.sharding.mode = LayoutMode::as_written;
        const auto plan_with = [&](double issue) {
          config.stack = fmt::format(R"({{"name": "{}", "machines": {{"dgx_h100": {{"device": {{"issue_seconds": {},
              "issues_ahead": true}}}}}}}})",
                                     stack, issue);
          return compile(plan_request(config));
        };
        constexpr double issue = 1e-3;
        const Plan fast = plan_with(0), slow = plan_with(issue);
        for (int stage = 0; stage < slow.program.stages; ++stage) {
          int issued = 0;
          for (const TaskRun& run : slow.program.find(Purpose::train_step, stage)->runs) {
            const Task& task = slow.program.tasks[static_cast<size_t>(run.task)];
            for (size_t i = 0; i < task.instructions.size(); ++i) {
              const Instruction& one = task.instructions[i];
              const bool is_issued = one.as<Compute>() || one.as<CollectiveStart>();
              issued += is_issued && slow.instruction_seconds.tasks[static_cast<size_t>(run.task)][i] > 0;
            }
          }
          QVERIFY(issued > 10);
          QVERIFY(slow.totals.seconds_per_step >= issue * issued * (1 - 1e-9));
        }
        QVERIFY(slow.totals.seconds_per_step > fast.totals.seconds_per_step);
      }
    }
  }

  // Of gradients, which data parallelism reduces.
  void what_is_hidden_behind_a_pass_is_its_work_or_the_time_to_issue_it() {
    RunConfig config = config_of("tiny_lm_dp", "dgx_h100", "megatron");
    config.sharding.mode = LayoutMode::as_written;
    const Plan plan = compile(plan_request(config));
    StackOverlap overlap;
    overlap.gradients = true;
    InstructionTable<double> seconds = plan.instruction_seconds;
    double computing = 0;
    int issued = 0;
    for (size_t t = 0; t < seconds.tasks.size(); ++t) {
      const Task& task = plan.program.tasks[t];
      for (size_t i = 0; i < seconds.tasks[t].size(); ++i) {
        const bool computes = task.instructions[i].as<Compute>(), starts = task.instructions[i].as<CollectiveStart>();
        seconds.tasks[t][i] = computes ? 1 : starts ? 1e6 : 0;
        if (task.phase != Phase::backward) continue;
        computing += computes;
        issued += computes || starts;
      }
    }
    QVERIFY(computing > 10);
    for (double host : {0.0, 0.5, 1.0, 2.0, 10.0}) {
      InstructionTable<double> left = seconds;
      const double hidden =
          hidden_of_stages(plan.program, hide_behind_passes(plan.program, *plan.graph, overlap, host, left)).at(0);
      QVERIFY(std::abs(hidden - std::max(computing, host * issued)) <= 1e-6 * hidden);
    }
  }

  void memory_of_this_program_is_its_arena_and_a_stack_says_so_itself() {
    for (const char* preset : presets) {
      const Plan own = plan_of(preset, "dgx_h100", "shardscope");
      for (const StageMemory& memory : memory_of_stages(own)) {
        QCOMPARE(memory.total, own.arenas[static_cast<size_t>(memory.stage)].bytes);
        QCOMPARE(memory.allocator, int64_t{0});
      }
      const Plan other = plan_of(preset, "dgx_h100", "nanotron");
      for (const StageMemory& memory : memory_of_stages(other)) {
        int64_t sum = memory.allocator;
        for (int64_t bytes : memory.categories) sum += bytes;
        QCOMPARE(memory.total, sum);
      }
    }
  }

  void a_plan_fits_where_its_stack_holds_no_more_than_a_device_has() {
    for (const char* preset : {"llama_tiny", "workshop_gpipe"}) {
      for (const char* stack : {"shardscope", "megatron", "torchtitan"}) {
        RunConfig config = config_of(preset, "dgx_h100", stack);
        config.sharding.mode = LayoutMode::as_written;
        const int64_t needed = compile(plan_request(config)).totals.device_bytes;
        for (const int64_t memory : {needed, needed - 1, needed / 2}) {
          config.machine = fmt::format(R"({{"name": "dgx_h100", "device": {{"memory_bytes": {}}}}})", memory);
          const Plan plan = compile(plan_request(config));
          // With less memory less may be held, for a slower step.
          const int64_t held = plan.totals.device_bytes;
          QVERIFY(memory == needed ? held == needed : held <= needed);
          QVERIFY(held > needed / 2);
          QCOMPARE(plan.memory_limit_bytes, memory);
          QCOMPARE(std::ranges::count(plan.warnings, "memory", &Error::code), memory < held ? 1 : 0);
        }
      }
    }
  }

  // Of the arrays of a plan another stack holds less: their bytes keep nothing from running beside computation.
  void the_time_of_a_stack_does_not_depend_on_the_memory_of_a_device() {
    for (const char* preset : {"llama_tiny", "mixtral_tiny", "workshop_gpipe"}) {
      for (const char* stack : {"megatron", "torchtitan"}) {
        RunConfig config = config_of(preset, "dgx_h100", stack);
        std::set<double> seconds;
        for (const int64_t memory : {int64_t{1} << 20, int64_t{1} << 30, int64_t{80} << 30}) {
          config.machine = fmt::format(R"({{"name": "dgx_h100", "device": {{"memory_bytes": {}}}}})", memory);
          seconds.insert(compile(plan_request(config)).totals.seconds_per_step);
        }
        QCOMPARE(seconds.size(), size_t{1});
      }
    }
  }

  // Adam in mixed precision: 2 bytes of each parameter, 2 of its gradient, 4 of its master copy and 8 of its moments
  // (Rajbhandari et al. 2020, "ZeRO").
  void states_take_sixteen_bytes_a_parameter_in_mixed_precision() {
    const Written written(gpt_config(2));
    const Plan plan = written.plan(
        mixed_precision + R"("strategy": {"microbatch_size": 1, "tensor": 1, "data": 1, "recompute": "none"})", 4);
    int64_t parameters = 0, bytes = 0;
    for (const ParameterPlan& parameter : plan.parameters) parameters += element_count(parameter.shape);
    // All gradients are there when the update begins.
    const CategoryBytes held = memory_of_stages(plan).front().categories;
    for (MemoryCategory category : {MemoryCategory::parameters, MemoryCategory::gradients, MemoryCategory::optimizer})
      bytes += held[static_cast<size_t>(category)];
    QVERIFY2(std::abs(static_cast<double>(bytes) / static_cast<double>(16 * parameters) - 1) < 0.01,
             qPrintable(QString("%1 bytes of %2 parameters").arg(bytes).arg(parameters)));
  }

  // Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", equations 1 to 6 and
  // table 2, without dropout (its mask of one byte after attention and the feed-forward, and in attention mask and
  // result): bytes that a layer keeps for backward, in units of sequence x batch x width.
  void a_layer_keeps_the_activations_of_the_published_formula_data() {
    QTest::addColumn<QString>("strategy");
    QTest::addColumn<QString>("kernel");
    QTest::addColumn<double>("formula");
    const double scores = 2.0 * heads * length / width;
    QTest::newRow("serial") << R"("tensor": 1)"
                            << "flash" << 32.0;
    QTest::newRow("serial, scores") << R"("tensor": 1)"
                                    << "scores" << 32 + scores;
    QTest::newRow("tensor 2") << R"("tensor": 2)"
                              << "flash" << 8 + 24 / 2.0;
    QTest::newRow("tensor 4") << R"("tensor": 4)"
                              << "flash" << 8 + 24 / 4.0;
    QTest::newRow("tensor 4, scores") << R"("tensor": 4)"
                                      << "scores" << 8 + (24 + scores) / 4;
    QTest::newRow("sequence 2") << R"("tensor": 2, "sequence_parallel": true)"
                                << "flash" << 32 / 2.0;
    QTest::newRow("sequence 4") << R"("tensor": 4, "sequence_parallel": true)"
                                << "flash" << 32 / 4.0;
    QTest::newRow("one kernel for q, k and v") << R"("tensor": 1)"
                                               << "flash" << 32.0;
    // Equation 6: all but the scores.
    for (const char* kernel : {"flash", "scores"}) {
      const auto selective = [&](const char* name, const char* split, double units) {
        QTest::addRow("selective, %s, %s", name, kernel)
            << QString(R"("recompute": "selective", "tensor": )") + split << kernel << units;
      };
      selective("serial", "1", 32);
      selective("one kernel for q, k and v", "1", 32);
      selective("tensor 2", "2", 8 + 24 / 2.0);
      selective("tensor 4", "4", 8 + 24 / 4.0);
      selective("sequence 2", R"(2, "sequence_parallel": true)", 32 / 2.0);
      selective("sequence 4", R"(4, "sequence_parallel": true)", 32 / 4.0);
    }
    QTest::newRow("full") << R"("tensor": 1, "recompute": "full")"
                          << "flash" << 2.0;
  }
  void a_layer_keeps_the_activations_of_the_published_formula() {
    QFETCH(QString, strategy);
    QFETCH(QString, kernel);
    QFETCH(double, formula);
    const bool is_fused = QString(QTest::currentDataTag()).contains("one kernel");
    const int batch = strategy.contains("full") ? 256 : 8;
    double bytes[2];
    for (int i : {0, 1}) {
      const int layers = i == 0 ? 2 : 4;
      const Written written(is_fused ? gpt_config(layers) : separate_config(layers));
      const Plan plan =
          written.plan(mixed_precision + "\"strategy\": {" + strategy.toStdString() + "}", batch, kernel.toStdString());
      const CategoryBytes& held = plan.totals.device_memory;
      bytes[i] = double(held[static_cast<size_t>(MemoryCategory::activations)] +
                        held[static_cast<size_t>(MemoryCategory::collectives)]);
    }
    const double found = (bytes[1] - bytes[0]) / 2 / (double(length) * batch * width);
    QVERIFY2(std::abs(found / formula - 1) < 0.03, qPrintable(QString::number(found)));
  }

  // Three in 16 bits: 6 s b h of each layer, of each device its part.
  void a_layer_keeps_the_copies_of_queries_that_its_stack_holds() {
    constexpr int batch = 8;
    for (int tensor : {1, 2, 4}) {
      double of_layer[2];
      for (int copies : {0, 3}) {
        double bytes[2];
        for (int i : {0, 1}) {
          const CategoryBytes held = Written(separate_config(i == 0 ? 2 : 4))
                                         .plan(mixed_precision + fmt::format(R"("strategy": {{"tensor": {}}})", tensor),
                                               batch, "flash", fmt::format(R"("attention_copies": {})", copies))
                                         .totals.device_memory;
          bytes[i] = double(held[static_cast<size_t>(MemoryCategory::activations)]);
        }
        of_layer[copies == 0 ? 0 : 1] = (bytes[1] - bytes[0]) / 2 / (double(length) * batch * width);
      }
      QCOMPARE(of_layer[1] - of_layer[0], 6.0 / tensor);
    }
  }

  void logits_have_copies_by_whether_their_vocabulary_is_split() {
    constexpr int batch = 64;
    const Written written(separate_config(1));
    for (int tensor : {1, 2}) {
      const auto held = [&](const std::string& memory) {
        const Plan plan = written.plan(mixed_precision + fmt::format(R"("strategy": {{"tensor": {}}})", tensor), batch,
                                       "flash", memory);
        return double(plan.totals.device_memory[static_cast<size_t>(MemoryCategory::activations)]);
      };
      const double logits = 4.0 * batch * length * 1024 / tensor;
      const double more = held(R"("logits_copies": 30, "split_logits_copies": 20)") -
                          held(R"("logits_copies": 20, "split_logits_copies": 10)");
      QCOMPARE(more, 10 * logits);
      QCOMPARE(held(R"("logits_copies": 30, "split_logits_copies": 30)") -
                   held(R"("logits_copies": 30, "split_logits_copies": 20)"),
               tensor == 1 ? 0.0 : 10 * logits);
    }
  }
};

REGISTER_TEST(StackPlansTest)

}  // namespace stack_plans_test

#include "stack_plans_test.moc"
