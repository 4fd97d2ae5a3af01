#include <QtTest>
#include <cmath>
#include <cstdlib>
#include <map>

#include "engine/export/sharded_arrays.h"
#include "engine/export/table_pages.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/chosen_machine.h"
#include "engine/plan/blocking_groups.h"
#include "tests/export/exported.h"
#include "tests/test_program.h"

namespace table_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

using Row = std::map<std::string, std::string>;

// RFC 4180.
std::vector<std::vector<std::string>> cells_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string cell;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] != '"') cell += text[i];
      else if (i + 1 < text.size() && text[i + 1] == '"') cell += text[++i];
      else quoted = false;
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == ',' || text[i] == '\n') {
      row.push_back(std::move(cell));
      cell.clear();
      if (text[i] == '\n') rows.push_back(std::exchange(row, {}));
    } else {
      cell += text[i];
    }
  }
  return rows;
}

std::vector<Row> table_of(const ExportSource& source, const std::string& page) {
  const auto cells = cells_of(exported_text(source, "csv", {page}));
  std::vector<Row> rows;
  for (size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].size() != cells[0].size()) throw std::runtime_error("a row has more or fewer cells than headings");
    Row& row = rows.emplace_back();
    for (size_t c = 0; c < cells[i].size(); ++c) row[cells[0][c]] = cells[i][c];
  }
  return rows;
}

double number(const Row& row, const std::string& column) {
  char* end = nullptr;
  const std::string& cell = row.at(column);
  const double value = std::strtod(cell.c_str(), &end);
  if (cell.empty() || *end != '\0') throw std::runtime_error("'" + cell + "' is no number, in " + column);
  return value;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

}  // namespace

class TableTest : public QObject {
  Q_OBJECT

  static void each_preset() {
    QTest::addColumn<std::string>("preset");
    for (const std::string& name : all_presets()) QTest::newRow(name.c_str()) << name;
  }

 private slots:
  void sums_are_the_totals_of_the_plan_data() { each_preset(); }
  void sums_are_the_totals_of_the_plan() {
    QFETCH(std::string, preset);
    const ExportSource source = made_source(preset, false);
    const Plan& plan = *source.plan;
    const auto stages = static_cast<size_t>(plan.program.stages);
    std::vector<double> sent(stages), flow_sent(stages), flops(stages), seconds(stages), alive(stages);
    std::vector<std::map<std::string, double>> categories(stages);
    const auto stage_of = [](const Row& row) { return static_cast<size_t>(number(row, "stage")); };
    for (const Row& row : table_of(source, "collectives"))
      sent[stage_of(row)] += number(row, "wire_bytes") * number(row, "count");
    for (const Row& row : table_of(source, "flow")) {
      flow_sent[stage_of(row)] += number(row, "wire_bytes") * number(row, "count");
      flops[stage_of(row)] += number(row, "flops") * number(row, "count");
      seconds[stage_of(row)] += number(row, "predicted_seconds") * number(row, "count");
    }
    for (const Row& row : table_of(source, "memory")) {
      if (row.at("at_peak") == "no") continue;
      alive[stage_of(row)] += number(row, "bytes");
      categories[stage_of(row)][row.at("category")] += number(row, "bytes");
    }
    for (size_t stage = 0; stage < stages; ++stage) {
      const PlanTotals& totals = plan.pipeline.totals[stage];
      QVERIFY(near(sent[stage], totals.wire_bytes_per_device));
      QVERIFY(near(flow_sent[stage], totals.wire_bytes_per_device));
      QVERIFY(near(flops[stage], totals.flops_per_device));
      QVERIFY(near(seconds[stage], totals.seconds_per_step));
      QCOMPARE(alive[stage], static_cast<double>(totals.live_lower_bound));
      for (int i = 0; i < memory_category_count; ++i) {
        const auto category = static_cast<MemoryCategory>(i);
        QCOMPARE(categories[stage][std::string(name(category))], static_cast<double>(totals.memory[i]));
      }
    }
  }

  void the_pipeline_has_a_row_for_each_stage_data() { each_preset(); }
  void the_pipeline_has_a_row_for_each_stage() {
    QFETCH(std::string, preset);
    const ExportSource source = made_source(preset, false);
    const Plan& plan = *source.plan;
    const std::vector<Row> rows = table_of(source, "pipeline");
    QCOMPARE(std::ssize(rows), plan.program.stages);
    double devices = 0;
    for (size_t stage = 0; stage < rows.size(); ++stage) {
      devices += number(rows[stage], "devices");
      QCOMPARE(number(rows[stage], "memory_bytes"), static_cast<double>(plan.pipeline.totals[stage].memory_total));
      if (plan.pipeline.axis)
        QVERIFY(near(number(rows[stage], "seconds_at_work") + number(rows[stage], "seconds_waiting"),
                     plan.totals.seconds_per_step));
    }
    QCOMPARE(devices, static_cast<double>(plan.mesh.device_count()));
  }

  void layouts_are_those_of_the_plan_data() { each_preset(); }
  void layouts_are_those_of_the_plan() {
    QFETCH(std::string, preset);
    const ExportSource source = made_source(preset, false);
    const Plan& plan = *source.plan;
    const std::vector<ShardedArray> arrays = sharded_arrays(plan);
    const std::vector<Row> rows = table_of(source, "layout");
    QCOMPARE(rows.size(), arrays.size());
    double stored = 0;
    bool is_of_a_stage = false;
    size_t states = 0;
    for (const ParameterPlan& parameter : plan.parameters) states += 1 + parameter.state_names.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      QCOMPARE(row.at("array"), arrays[i].name);
      double devices = 0;
      for (const QString& stage : QString::fromStdString(row.at("stages")).split(','))
        devices += static_cast<double>(plan.devices_of_stage(stage.toInt()).size());
      QCOMPARE(number(row, "shards") * number(row, "copies"), devices);
      is_of_a_stage |= devices < plan.mesh.device_count();
      QVERIFY(near(number(row, "bytes_per_device") * number(row, "shards"), number(row, "bytes")));
      if (row.at("kind") == "parameter" || row.at("kind") == "optimizer state") ++stored;
    }
    QCOMPARE(stored, static_cast<double>(states));
    QCOMPARE(is_of_a_stage, plan.program.stages > 1);
    for (size_t i = 0; i < plan.parameters.size(); ++i) {
      const int stage = plan.program.values[static_cast<size_t>(plan.parameters[i].value)].stage;
      QVERIFY(QString::fromStdString(rows[i].at("stages")).split(',').contains(QString::number(stage)));
    }
  }

  void the_time_line_has_each_step_predicted_for_stages_and_measured_for_ranks() {
    for (const char* preset : {"tiny_lm_dp", "workshop_zero_bubble"}) {
      const ExportSource source = made_source(preset);
      const Plan& plan = *source.plan;
      std::map<std::string, std::pair<int, double>> lanes;  // rows, and the end of the last
      for (const Row& row : table_of(source, "timeline")) {
        auto& [rows, end] = lanes[row.at("source") + " " + row.at("stage") + " " + row.at("rank")];
        QCOMPARE(number(row, "position"), static_cast<double>(rows++));
        QVERIFY(number(row, "arrive_seconds") >= end - 1e-12);
        QVERIFY(number(row, "start_seconds") >= number(row, "arrive_seconds"));
        end = number(row, "end_seconds");
      }
      QCOMPARE(std::ssize(lanes), plan.program.stages + plan.mesh.device_count());
    }
  }

  void a_timeline_has_what_a_stack_hides_behind_passes() {
    RunConfig config = load_run_file(preset_path("tiny_lm_dp"));
    config.machine = machine_choice("dgx_h100");
    config.stack = "\"megatron\"";
    ExportSource source;
    source.plan = std::make_shared<const Plan>(compile(plan_request(config)));
    double hidden = 0;
    for (const Row& row : table_of(source, "timeline")) {
      if (row.at("source") != "hidden") continue;
      QCOMPARE(row.at("phase"), std::string("update"));
      hidden += number(row, "end_seconds") - number(row, "start_seconds");
    }
    const double expected = hidden_of_stages(source.plan->program, source.plan->hidden_seconds).at(0);
    QVERIFY(expected > 0);
    QVERIFY(std::abs(hidden - expected) < 1e-6 * expected);
  }

  void a_timeline_names_the_operator_of_each_computation_and_of_nothing_else() {
    const auto kind_of_work = [](const Instruction& instruction) {
      return instruction.kind() == InstructionKind::slice ? "data movement" : name(instruction.kind());
    };
    for (const char* preset : {"parallax_decoder", "workshop_zero_bubble"}) {
      const ExportSource source = made_source(preset);
      int computations = 0;
      for (const Row& row : table_of(source, "timeline")) {
        const auto steps = source.plan->instructions(static_cast<int>(number(row, "stage")));
        const Instruction& instruction = steps[static_cast<int>(number(row, "position"))];
        const bool computes = instruction.kind() == InstructionKind::compute;
        computations += computes;
        const OpDefinition* op = computes ? source.plan->graph->ops[instruction.op].definition : nullptr;
        QCOMPARE(row.at("operator"), std::string(op ? op->name() : ""));
        QCOMPARE(row.at("work"), std::string(op ? op->work_kind() : kind_of_work(instruction)));
      }
      QVERIFY(computations > 0);
    }
  }

  void measured_collectives_tell_waiting_from_transfer() {
    const std::vector<Row> rows = table_of(made_source("tiny_lm_fsdp"), "collectives");
    QVERIFY(!rows.empty());
    for (const Row& row : rows) {
      QVERIFY(near(number(row, "waited_seconds"), 5e-6));
      QVERIFY(number(row, "measured_seconds") >= 7e-6);
    }
    for (const Row& row : table_of(made_source("tiny_lm_fsdp", false), "collectives"))
      QVERIFY(!row.contains("measured_seconds"));
  }

  void a_run_has_a_row_for_each_step_also_where_one_was_done_anew() {
    const std::vector<Row> rows = table_of(made_source("tiny_lm_dp"), "run");
    QCOMPARE(rows.size(), size_t{3});
    for (size_t step = 0; step < 3; ++step) {
      QCOMPARE(number(rows[step], "step"), static_cast<double>(step));
      QCOMPARE(number(rows[step], "step_ms"), 10.5 + static_cast<double>(step));
      QCOMPARE(number(rows[step], "loss"), 1.0 / static_cast<double>(step + 2));
      double sent = 0, moved = 0;
      for (const RankMeasurement& rank : made_step(*preset_plan("tiny_lm_dp"), static_cast<int64_t>(step)).ranks) {
        sent += rank.wire_bytes;
        moved += static_cast<double>(rank.moved_bytes);
      }
      QVERIFY(sent > 0 && moved > sent);
      QCOMPARE(number(rows[step], "wire_bytes_sent"), sent);
      QCOMPARE(number(rows[step], "moved_bytes"), moved);
    }
    QCOMPARE(failure_code([] { exported_text(made_source("tiny_lm_dp", false), "csv", {"run"}); }),
             std::string("no_run"));
  }

  void cells_of_any_text_are_read_as_they_were() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("t").toStdString();
    const std::vector<std::string> texts = {"plain", "a,b", "say \"so\"", "two\nlines", "", "\"", "tab\there"};
    {
      ExportTarget target(path, ExportTarget::Form::file, {});
      TableWriter table(target, TableWriter::Format::csv);
      table.headings(texts);
      table.row(0.1, 1e300, std::nan(""), int64_t{-7}, "x", std::string("y"), size_t{3});
      QCOMPARE(table.rows(), 1);
      target.keep();
    }
    const auto rows = cells_of(text_of(path));
    QCOMPARE(rows.at(0), texts);
    QCOMPARE(rows.at(1), (std::vector<std::string>{"0.1", "1e+300", "", "-7", "x", "y", "3"}));
  }

  void a_table_with_tabs_has_as_many_cells_in_every_line() {
    for (const TablePage& page : table_pages()) {
      const std::string text = exported_text(made_source("workshop_3d"), "tsv", {page.name});
      QStringList lines = QString::fromStdString(text).split('\n');
      QVERIFY(lines.takeLast().isEmpty());
      for (const QString& line : lines) QCOMPARE(line.count('\t'), lines.front().count('\t'));
    }
  }
};

REGISTER_CORE_TEST(TableTest)

}  // namespace table_test

#include "table_test.moc"
