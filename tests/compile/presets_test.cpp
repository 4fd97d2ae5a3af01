#include <QTest>
#include <algorithm>

#include "engine/compile/compile.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/plan_check.h"
#include "tests/compile/preset.h"
#include "tests/compile/xla_limits.h"
#include "tests/test_program.h"

namespace presets_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct PresetPlan {
  std::string preset;
  MeshSizes mesh;
  LayoutMode mode;
  Plan plan;

  std::string text() const {
    return preset + " on " + mesh.text() + (mode == LayoutMode::fastest ? ", fastest" : ", as written");
  }
};

XlaLimits limits(const std::string& preset, MeshSizes mesh) { return xla_limits(preset, {mesh.data, mesh.model}); }

}  // namespace

class PresetsTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    for (const std::string& name : preset_names) {
      for (MeshSizes mesh : preset_meshes) {
        for (LayoutMode mode : {LayoutMode::as_written, LayoutMode::fastest}) {
          plans_.push_back({name, mesh, mode, compile({preset(name, mesh, mode), reference_host()})});
        }
      }
    }
  }

  void every_plan_executes_soundly_and_counts_truly() {
    for (const PresetPlan& one : plans_) {
      const std::string fault = fault_of(one.plan);
      QVERIFY2(fault.empty(), (one.text() + ": " + fault).c_str());
    }
  }

  void states_that_start_wrongly_or_change_while_evaluating_are_found() {
    const Plan& sound = find(preset_names[0], "4x2", LayoutMode::fastest);
    const auto initialise = [](Plan& plan) -> Task& {
      return *std::ranges::find(plan.program.tasks, Phase::initialise, &Task::phase);
    };
    const auto fault = [&](auto change) {
      Plan plan = sound;
      change(plan);
      for (Sequence& sequence : plan.program.sequences) {
        sequence = make_sequence(sequence.purpose, sequence.runs, plan.program.tasks);
      }
      return fault_of(plan);
    };
    QCOMPARE(fault([](Plan&) {}), std::string());
    QVERIFY(!fault([&](Plan& plan) {
               const std::vector<Instruction>& steps = initialise(plan).instructions;
               std::swap(plan.arenas[0].buffer_of[steps[0].results()[0]],
                         plan.arenas[0].buffer_of[steps[1].results()[0]]);
             }).empty());
    QVERIFY(!fault([&](Plan& plan) { initialise(plan).instructions.pop_back(); }).empty());
    QVERIFY(
        !fault([&](Plan& plan) { initialise(plan).instructions.push_back(initialise(plan).instructions[0]); }).empty());
    QVERIFY(!fault([&](Plan& plan) {
               for (Sequence& sequence : plan.program.sequences) {
                 if (sequence.purpose == Purpose::evaluate) sequence.runs = plan.program.main().runs;
               }
             }).empty());
  }

  void as_written_moves_no_more_than_xla() {
    for (const MeshSizes mesh : {MeshSizes{1, 1}, {4, 2}, {1, 2}, {2, 1}, {2, 4}, {8, 1}, {1, 8}}) {
      const double moved = find(preset_names[0], mesh.text(), LayoutMode::as_written).totals.wire_bytes_per_device;
      QVERIFY2(moved <= limits(preset_names[0], mesh).wire_bytes, (mesh.text() + ": " + std::to_string(moved)).c_str());
    }
    QVERIFY(find(preset_names[1], "4x2", LayoutMode::as_written).totals.wire_bytes_per_device <=
            limits(preset_names[1], {4, 2}).wire_bytes);
  }

  void fastest_moves_at_most_half_of_what_xla_does() {
    const XlaLimits first = limits(preset_names[0], {4, 2}), second = limits(preset_names[1], {4, 2});
    const PlanTotals& totals = find(preset_names[0], "4x2", LayoutMode::fastest).totals;
    QVERIFY(totals.wire_bytes_per_device <= first.wire_bytes * 0.24);
    QVERIFY(static_cast<double>(totals.memory_total) <= first.memory_bytes * 0.63);
    QVERIFY(find(preset_names[1], "4x2", LayoutMode::fastest).totals.wire_bytes_per_device <= second.wire_bytes / 2);
  }

  void fastest_does_no_product_twice() {
    for (const std::string& name : preset_names) {
      const double total = find(name, "1x1", LayoutMode::fastest).totals.flops_per_device;
      for (const PresetPlan& one : plans_) {
        if (one.preset != name || one.mode != LayoutMode::fastest) continue;
        const double share = total / static_cast<double>(one.mesh.data * one.mesh.model);
        const double flops = one.plan.totals.flops_per_device;
        QVERIFY2(flops >= share * 0.999 && flops <= share * 1.05,
                 (one.text() + ": " + std::to_string(flops / share)).c_str());
      }
    }
  }

  void the_arena_is_below_xlas_and_nearly_full_at_its_peak() {
    for (const PresetPlan& one : plans_) {
      const PlanTotals& totals = one.plan.totals;
      const double ratio = static_cast<double>(totals.memory_total) / static_cast<double>(totals.live_lower_bound);
      QVERIFY2(ratio >= 1 && ratio <= 1.02, (one.text() + ": " + std::to_string(ratio)).c_str());
      if (one.mesh.text() == "4x2" || (one.mesh.text() == "1x1" && one.preset == preset_names[0]))
        QVERIFY2(static_cast<double>(totals.memory_total) <= limits(one.preset, one.mesh).memory_bytes,
                 one.text().c_str());
    }
  }

  void the_arena_of_twelve_layers_is_nearly_full_at_its_peak() {
    for (MeshSizes mesh : {MeshSizes{1, 1}, MeshSizes{4, 2}, MeshSizes{1, 8}}) {
      RunConfig config = preset(preset_names[0], mesh, LayoutMode::fastest);
      config.model.options[3].second = int64_t{12};
      const PlanTotals totals = compile({config, reference_host()}).totals;
      QVERIFY2(totals.fragmentation() <= 0.02, std::to_string(totals.fragmentation()).c_str());
    }
  }

  void only_what_a_person_said_is_explained_as_theirs() {
    for (const PresetPlan& one : plans_) {
      for (const ValueLayout& layout : one.plan.layouts) {
        QVERIFY2(!layout.origin.text.empty(), layout.name.c_str());
        const bool source = one.plan.graph->values[layout.value].kind != ValueKind::result;
        const bool logits = layout.value == one.plan.graph->outputs.at("logits");
        QVERIFY2((layout.origin.kind == Origin::Kind::user) == (source || logits), (one.text() + layout.name).c_str());
      }
    }
  }

 private:
  const Plan& find(const std::string& name, const std::string& mesh, LayoutMode mode) const {
    for (const PresetPlan& one : plans_) {
      if (one.preset == name && one.mesh.text() == mesh && one.mode == mode) return one.plan;
    }
    qFatal("no such plan");
  }

  std::vector<PresetPlan> plans_;
};

REGISTER_TEST(PresetsTest)

}  // namespace presets_test

#include "presets_test.moc"
