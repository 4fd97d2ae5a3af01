#include <QTest>
#include <algorithm>
#include <map>

#include "engine/compile/compile.h"
#include "tests/compile/plan_check.h"
#include "tests/compile/preset.h"
#include "tests/test_program.h"

namespace presets_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

struct PresetPlan {
  std::string preset;
  MeshSizes mesh;
  LayoutMode mode;
  Plan plan;

  std::string text() const {
    return preset + " on " + mesh.text() + (mode == LayoutMode::cheapest ? ", cheapest" : ", as written");
  }
};

}  // namespace

class PresetsTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    for (const std::string& name : preset_names) {
      for (MeshSizes mesh : preset_meshes) {
        for (LayoutMode mode : {LayoutMode::as_written, LayoutMode::cheapest}) {
          plans_.push_back({name, mesh, mode, compile(preset(name, mesh, mode), DeviceProfile{})});
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
    const Plan& sound = find(preset_names[0], "4x2", LayoutMode::cheapest);
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
               const std::vector<Step>& steps = initialise(plan).steps;
               std::swap(plan.arenas[0].buffer_of[steps[0].outputs[0]], plan.arenas[0].buffer_of[steps[1].outputs[0]]);
             }).empty());
    QVERIFY(!fault([&](Plan& plan) { initialise(plan).steps.pop_back(); }).empty());
    QVERIFY(!fault([&](Plan& plan) { initialise(plan).steps.push_back(initialise(plan).steps[0]); }).empty());
    QVERIFY(!fault([&](Plan& plan) {
               for (Sequence& sequence : plan.program.sequences) {
                 if (sequence.purpose == Purpose::evaluate) sequence.runs = plan.program.main().runs;
               }
             }).empty());
  }

  void as_written_moves_no_more_than_xla() {
    const std::map<std::string, double> limits{{"1x1", 0},
                                               {"4x2", 251515406},
                                               {"1x2", 576.5 * mebibyte},
                                               {"2x1", 29.3 * mebibyte},
                                               {"2x4", 585.1 * mebibyte},
                                               {"8x1", 51.3 * mebibyte},
                                               {"1x8", 1008.9 * mebibyte}};
    for (const auto& [mesh, limit] : limits) {
      const double moved = find(preset_names[0], mesh, LayoutMode::as_written).totals.wire_bytes_per_device;
      QVERIFY2(moved <= limit, (mesh + ": " + std::to_string(moved)).c_str());
    }
    QVERIFY(find(preset_names[1], "4x2", LayoutMode::as_written).totals.wire_bytes_per_device <= 244835854);
  }

  void cheapest_moves_at_most_half_of_what_xla_does() {
    QVERIFY(find(preset_names[0], "4x2", LayoutMode::cheapest).totals.wire_bytes_per_device <= 57.35 * mebibyte);
    QVERIFY(find(preset_names[0], "4x2", LayoutMode::cheapest).totals.memory_total <= 151345280);
    QVERIFY(find(preset_names[1], "4x2", LayoutMode::cheapest).totals.wire_bytes_per_device <= 244835854 / 2);
  }

  void cheapest_does_no_product_twice() {
    for (const std::string& name : preset_names) {
      const double total = find(name, "1x1", LayoutMode::cheapest).totals.flops_per_device;
      for (const PresetPlan& one : plans_) {
        if (one.preset != name || one.mode != LayoutMode::cheapest) continue;
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
      if (one.mesh.text() == "4x2") QVERIFY2(totals.memory_total <= 241655988, one.text().c_str());
      if (one.mesh.text() == "1x1") QVERIFY2(totals.memory_total <= 1298645140, one.text().c_str());
    }
  }

  void the_arena_of_twelve_layers_is_nearly_full_at_its_peak() {
    for (MeshSizes mesh : {MeshSizes{1, 1}, MeshSizes{4, 2}, MeshSizes{1, 8}}) {
      RunConfig config = preset(preset_names[0], mesh, LayoutMode::cheapest);
      config.model.options[3].second = int64_t{12};
      const PlanTotals totals = compile(config, DeviceProfile{}).totals;
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
