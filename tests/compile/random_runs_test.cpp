#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "engine/compile/compile.h"
#include "engine/compile/plan_hash.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/plan_check.h"
#include "tests/compile/preset.h"
#include "tests/compile/random_run.h"
#include "tests/machine/host_rates.h"
#include "tests/test_program.h"

namespace random_runs_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int run_count = 150;

// Where each step, value and buffer of the plan is, in words.
std::string text_of(const Plan& plan) {
  std::string text = std::to_string(plan.hash) + " " + std::to_string(plan.arenas[0].bytes) + "\n";
  for (int position = 0; position < plan.instructions().size(); ++position) {
    const Instruction& instruction = plan.instructions()[position];
    text += plan.instruction_name(instruction) + " " + plan.cause(instruction) + " " +
            std::to_string(plan.seconds(position));
    for (int value : instruction.operands()) text += " " + std::to_string(value);
    for (int value : instruction.destinations())
      text += " " + to_string(plan.program.values[value].sharding, plan.mesh);
    text += '\n';
  }
  for (const Buffer& buffer : plan.arenas[0].buffers) {
    text += plan.buffer_name(buffer) + " " + std::to_string(buffer.offset) + "\n";
  }
  for (const ValueLayout& layout : plan.layouts) text += layout.name + " " + layout.origin.text + "\n";
  return text;
}

}  // namespace

class RandomRunsTest : public QObject {
  Q_OBJECT

 private slots:
  void every_legal_run_has_a_sound_plan_that_keeps_its_specs() {
    RandomRuns runs(1);
    for (int i = 0; i < run_count; ++i) {
      RunConfig config = runs.next();
      for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
        config.sharding.mode = mode;
        std::string fault;
        try {
          fault = fault_of(compile({config, reference_host()}));
        } catch (const Failure& failure) {
          fault = failure.what();
        }
        QVERIFY2(fault.empty(), (fault + "\n" + write_run_config(config)).c_str());
      }
    }
  }

  void the_same_run_has_the_same_plan() {
    RandomRuns runs(3);
    for (int i = 0; i < 40; ++i) {
      const RunConfig config = runs.next();
      QVERIFY(text_of(compile({config, reference_host()})) == text_of(compile({RunConfig(config), reference_host()})));
    }
  }

  void whatever_differs_in_config_or_machine_differs_in_the_hash() {
    const RunConfig config = preset("parallax_decoder", {4, 2}, LayoutMode::fastest);
    std::vector<uint64_t> hashes{compile({config, reference_host()}).hash};
    auto vary = [&](auto change) {
      RunConfig other = config;
      Machine machine = reference_host();
      change(other, machine);
      hashes.push_back(compile({other, machine}).hash);
    };
    vary([](RunConfig& c, Machine&) { c.seed = 7; });
    vary([](RunConfig& c, Machine&) { c.steps = 11; });
    vary([](RunConfig& c, Machine&) { c.deterministic = false; });
    vary([](RunConfig& c, Machine&) { c.data.options[1].second = int64_t{3}; });
    vary([](RunConfig& c, Machine&) { c.optimizer.options[0].second = 3e-4; });
    vary([](RunConfig& c, Machine&) { c.mesh_devices = {1, 0, 2, 3, 4, 5, 6, 7}; });
    vary([](RunConfig& c, Machine&) { c.mesh_axes[0].size = 8; });
    vary([](RunConfig& c, Machine&) { c.sharding.mode = LayoutMode::as_written; });
    vary([](RunConfig& c, Machine&) { c.sharding.out = {}; });
    vary([](RunConfig& c, Machine&) { c.sharding.parameters.pop_back(); });
    vary([](RunConfig&, Machine& m) { test::product_rate(m) *= 2; });
    vary([](RunConfig&, Machine& m) { test::product_rate(m, Precision::bf16) = 1e12; });
    vary([](RunConfig&, Machine& m) { test::memory_rate(m) *= 2; });
    vary([](RunConfig&, Machine& m) { test::copy_rate(m) *= 2; });
    vary([](RunConfig&, Machine& m) { test::rendezvous_latency(m) *= 2; });
    vary([](RunConfig&, Machine& m) { m.device.instruction_latency *= 2; });
    vary([](RunConfig&, Machine& m) { m = with_hosts(m, {4, 4}); });
    vary([](RunConfig&, Machine& m) { m = with_hosts(m, {5, 3}); });
    vary([](RunConfig&, Machine& m) { (m = with_hosts(m, {4, 4})).levels.back().latency *= 2; });
    vary([](RunConfig&, Machine& m) { m.device.kernels["gelu"].efficiency = 0.5; });
    std::sort(hashes.begin(), hashes.end());
    QVERIFY(std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end());
  }

  void the_name_memory_and_cores_of_the_host_are_not_in_the_hash() {
    const RunConfig config = preset("parallax_decoder", {4, 2}, LayoutMode::fastest);
    Machine machine = reference_host();
    const uint64_t hash = compile({config, machine}).hash;
    machine.name = "another host";
    machine.device.memory_bytes *= 2;
    Plan plan = compile({config, machine});
    QCOMPARE(plan.hash, hash);
    plan.machine.device.cores *= 2;  // more cores may make another plan, but do not make this one another
    QCOMPARE(plan_hash(plan, config), hash);
  }

  void where_rates_and_data_are_from_is_not_in_the_hash() {
    const std::string presets = SHARDSCOPE_SOURCE_DIR "/presets/";
    RunConfig config = load_run_file(presets + "tiny_text.json");
    Machine machine = with_hosts(reference_host(), {1, 1});
    machine.device.products[Precision::f32].efficiency = {{64, 64, 64, 0.5, ""}};
    machine.device.kernels["gelu"].efficiency = 0.5;
    machine.collectives.emplace_back();
    machine.overlap.push_back({"compute", network_name, 1.5, 1.5, ""});
    const uint64_t hash = compile({config, machine}).hash;
    const auto from = [](auto& measured) { measured.source = "2026-01-02, spread 3 %"; };
    from(machine);
    from(machine.device);
    from(machine.device.memory[0]);
    from(machine.device.products[Precision::f32]);
    from(machine.device.products[Precision::f32].efficiency[0]);
    from(machine.device.kernels["gelu"]);
    from(machine.levels[0]);
    from(machine.collectives[0]);
    from(machine.overlap[0]);
    QCOMPARE(compile({config, machine}).hash, hash);
    QTemporaryDir folder;
    QVERIFY(QFile::copy(QString::fromStdString(presets + "tiny_text.txt"), folder.filePath("copy.txt")));
    config = with_data_paths(config, [&](const std::string&) { return folder.filePath("copy.txt").toStdString(); });
    QCOMPARE(compile({config, machine}).hash, hash);
  }

  void operands_axes_and_layouts_are_in_the_hash() {
    const RunConfig config = preset("parallax_decoder", {4, 2}, LayoutMode::fastest);
    const Plan plan = compile({config, reference_host()});
    auto hash_with = [&](auto change) {
      Plan other = plan;
      change(other);
      return plan_hash(other, config);
    };
    auto first_collective = [](Plan& other) -> CollectiveStart& {
      for (Task& task : other.program.tasks) {
        for (Instruction& instruction : task.instructions) {
          if (CollectiveStart* start = instruction.as<CollectiveStart>()) return *start;
        }
      }
      qFatal("no collective");
    };
    std::vector<uint64_t> hashes{plan.hash};
    hashes.push_back(hash_with([&](Plan& p) { first_collective(p).operands.push_back(0); }));
    hashes.push_back(hash_with([&](Plan& p) { first_collective(p).destinations.back() += 1; }));
    hashes.push_back(hash_with([&](Plan& p) { first_collective(p).axes = {}; }));
    hashes.push_back(hash_with([&](Plan& p) { first_collective(p).reduction = Reduction::max; }));
    hashes.push_back(hash_with([&](Plan& p) { first_collective(p).moved.push_back({3, 4, {}}); }));
    hashes.push_back(hash_with([&](Plan& p) { p.program.values[0].sharding.dims[0] = {}; }));
    hashes.push_back(hash_with([&](Plan& p) { p.program.values[1].sharding.partial ^= 1; }));
    hashes.push_back(hash_with([&](Plan& p) { p.arenas[0].buffers[0].offset += 64; }));
    hashes.push_back(
        hash_with([&](Plan& p) { std::swap(p.program.tasks[0].instructions[0], p.program.tasks[0].instructions[1]); }));
    std::sort(hashes.begin(), hashes.end());
    QVERIFY(std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end());
  }

  void meshes_of_many_axes_have_plans_too() {
    for (int axes : {0, 4, 5}) {
      RunConfig config = preset("parallax_decoder", {1, 1}, LayoutMode::fastest);
      config.model.options[3].second = int64_t{1};
      config.mesh_axes.clear();
      config.sharding = {};
      for (int axis = 0; axis < axes; ++axis)
        config.mesh_axes.push_back({std::string(1, static_cast<char>('a' + axis)), 2});
      const std::string fault = fault_of(compile({config, reference_host()}));
      QVERIFY2(fault.empty(), fault.c_str());
    }
  }
};

REGISTER_TEST(RandomRunsTest)

}  // namespace random_runs_test

#include "random_runs_test.moc"
