#include <QTest>
#include <algorithm>
#include <map>

#include "engine/compile/document_of.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/deciding_pins.h"
#include "engine/shard/spec_rules.h"
#include "gui/window/presets.h"
#include "gui/workspace/reshard_edits.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace deciding_pins_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct Case {
  std::string name;
  RunConfig config;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const std::string& name, RunConfig config) {
    for (const LayoutMode mode : {LayoutMode::as_written, LayoutMode::fastest}) {
      config.sharding.mode = mode;
      if (validate(config).empty())
        list.push_back({name + " " + (mode == LayoutMode::fastest ? "fastest" : "as written"), config});
    }
  };
  for (const SystemPreset& preset : system_presets()) {
    const std::vector<int64_t> mesh = preset.mesh_axes == 1 ? std::vector<int64_t>{4} : std::vector<int64_t>{2, 2};
    std::vector<int64_t> axes = mesh;
    axes.resize(static_cast<size_t>(preset.mesh_axes), 1);
    RunConfig config = system_run(preset.name, preset.small, axes);
    add(preset.name, config);
    config.sharding.out.dims.clear();
    add(preset.name + " without out", config);
    config.sharding.zero.stage = 3;
    add(preset.name + " zero 3", config);
  }
  return list;
}

const Case& case_of(int index) {
  static const std::vector<Case> all = cases();
  return all[static_cast<size_t>(index)];
}

// What stands in the run file at the places of a table, by place.
std::map<std::string, RulePlacement> placements(const ShardingConfig& sharding) {
  std::map<std::string, RulePlacement> found;
  for (const SpecLine line : spec_lines(sharding)) {
    const SpecLineFacts facts = facts_of(sharding, line);
    found.emplace(facts.place.toStdString(), facts.placement);
  }
  return found;
}

// Whether an edit has another spec than the plan's file where a pin stands, or adds the one that is missing there.
bool changes(const SpecEdit& edit, const Plan& plan, const std::string& pin) {
  const ShardingConfig now = document_of(plan).sharding, &then = edit.config.sharding;
  if (pin == zero_place) return now.zero != then.zero;
  const auto before = placements(now), after = placements(then);
  const auto on_line = std::ranges::find_if(before, [&](const auto& one) {
    return pin == one.first || pin.starts_with(one.first + ".axes") || pin.starts_with(one.first + ".largest");
  });
  const std::string place = on_line == before.end() ? pin : on_line->first;
  const auto a = before.find(place), b = after.find(place);
  if ((a == before.end()) != (b == after.end())) return true;
  return a != before.end() && a->second != b->second;
}

struct Reshard {
  StepRef id;
  const Instruction* instruction;
};

std::vector<Reshard> reshards(const Plan& plan) {
  std::vector<Reshard> list;
  for (int task = 0; task < std::ssize(plan.program.tasks); ++task) {
    const std::vector<Instruction>& steps = plan.program.tasks[static_cast<size_t>(task)].instructions;
    for (int step = 0; step < std::ssize(steps); ++step) {
      const Instruction& one = steps[static_cast<size_t>(step)];
      if (is_collective(one.kind()) && !one.moved().empty()) list.push_back({{task, step}, &one});
    }
  }
  return list;
}

}  // namespace

class DecidingPinsTest : public QObject {
  Q_OBJECT

  static void list_cases() {
    QTest::addColumn<int>("index");
    const std::vector<Case> list = cases();
    for (size_t i = 0; i < list.size(); ++i) QTest::newRow(list[i].name.c_str()) << static_cast<int>(i);
  }

 private slots:
  void of_every_pin_that_decides_a_collective_another_spec_is_tried_data() { list_cases(); }
  void of_every_pin_that_decides_a_collective_another_spec_is_tried() {
    QFETCH(int, index);
    const Plan plan = compile({case_of(index).config, reference_host()});
    for (const auto& [id, step] : reshards(plan)) {
      const std::vector<std::string> pins = deciding_pins(plan, *step);
      const std::vector<SpecEdit> edits = candidate_edits(plan, {{id}});
      for (const std::string& pin : pins) {
        QVERIFY2(std::ranges::any_of(edits, [&](const SpecEdit& edit) { return changes(edit, plan, pin); }),
                 (plan.instruction_name(*step) + ": " + pin).c_str());
      }
    }
  }

  void the_spec_of_a_parameter_decides_also_where_it_is_cast() {
    RunConfig config = load_preset("llama_tiny");
    config.model.options.emplace_back("compute_dtype", std::string("bf16"));
    config.sharding.mode = LayoutMode::as_written;
    config.sharding.keep = {"model"};
    config.sharding.parameters = {
        {{"params", "model", "layers", "*", "mlp", "down_proj", "weight"}, {{{"model"}, {}}}}};
    const Plan plan = compile({config, reference_host()});
    int gathers = 0;
    for (const auto& [id, step] : reshards(plan)) {
      const std::string name = plan.instruction_name(*step);
      if (step->kind() != InstructionKind::all_gather || step->phase != Phase::forward ||
          name.find("down_proj/einsum") == std::string::npos)
        continue;
      ++gathers;
      const std::vector<std::string> pins = deciding_pins(plan, *step);
      QVERIFY2(std::ranges::any_of(pins, [](const std::string& pin) { return pin.starts_with("sharding.parameters"); }),
               name.c_str());
    }
    QVERIFY(gathers > 0);
  }

  // As written no layout is chosen: whatever is communicated, some line or default of the file is the reason.
  void as_written_every_collective_is_decided_by_a_pin_data() { list_cases(); }
  void as_written_every_collective_is_decided_by_a_pin() {
    QFETCH(int, index);
    const RunConfig config = case_of(index).config;
    if (config.sharding.mode != LayoutMode::as_written) return;
    const Plan plan = compile({config, reference_host()});
    for (const auto& [id, step] : reshards(plan))
      QVERIFY2(!deciding_pins(plan, *step).empty(), plan.instruction_name(*step).c_str());
  }
};

REGISTER_TEST(DecidingPinsTest)

}  // namespace deciding_pins_test

#include "deciding_pins_test.moc"
