#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>
#include <algorithm>
#include <cmath>

#include "engine/base/units.h"
#include "engine/compile/file_paths.h"
#include "engine/export/export_kind.h"
#include "engine/export/html_page.h"
#include "engine/lint/rules/axis_use.h"
#include "engine/machine/chosen_machine.h"
#include "engine/plan/utilisation.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace html_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

QString report_of(const ExportSource& source) {
  QTemporaryDir folder;
  const std::string path = folder.filePath("report.html").toStdString();
  export_source(find_export_kind("html"), source, {}, path, {});
  QFile file(QString::fromStdString(path));
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

ExportSource source_of(const char* preset) {
  return {std::make_shared<const Plan>(compile({system_run(preset, {}), reference_host()})), {}, {}, {}};
}

// Every tag is closed, attributes are quoted, and text is escaped.
QString fault_of(QString text) {
  text.remove("<!DOCTYPE html>").replace("<meta charset=\"utf-8\">", "<meta charset=\"utf-8\"/>");
  QXmlStreamReader reader(text);
  while (!reader.atEnd()) reader.readNext();
  return reader.hasError() ? QString("%1: %2").arg(reader.lineNumber()).arg(reader.errorString()) : QString();
}

}  // namespace

class HtmlTest : public QObject {
  Q_OBJECT

 private slots:
  void a_report_is_one_page_that_needs_nothing_else() {
    for (const char* preset : {"parallax_decoder", "workshop_1f1b", "mixtral_tiny", "mintext_mlp"}) {
      const QString text = report_of(source_of(preset));
      QVERIFY2(fault_of(text).isEmpty(), qPrintable(QString(preset) + " " + fault_of(text)));
      static const QRegularExpression outside("<script|<link|<img|<iframe|src=|href=|url\\(|@import");
      QVERIFY2(!text.contains(outside), preset);
      for (const char* chapter : {"Strategy", "Memory", "Time", "Findings", "Parameters", "Evidence", "Run file"})
        QVERIFY2(text.contains(QString("<h2>%1</h2>").arg(chapter)), chapter);
      QVERIFY(text.count("<svg ") >= 3);
    }
  }

  void a_name_is_cut_between_its_characters() {
    for (const char* name : {"\u00e9", "\u4e16", "a\u00e9"}) {
      for (size_t count = 25; count < 36; ++count) {
        std::string label;
        for (size_t i = 0; i < count; ++i) label += name;
        const std::string bars = svg_bars({{label, {{"part", 1}}}}, seconds_text);
        const QString read = QString::fromStdString(bars);
        QVERIFY2(!read.contains(QChar::ReplacementCharacter), bars.c_str());
        const bool is_cut = QString::fromStdString(label).size() > 32;
        QCOMPARE(read.contains(QChar(0x2026)), is_cut);
        QCOMPARE(read.count(">" + QString::fromStdString(label) + "</text>"), is_cut ? 0 : 1);
      }
    }
  }

  void communication_that_a_stack_hides_is_on_its_lane_and_among_the_causes() {
    RunConfig config = system_run("mixtral_tiny", {"sharding.mode=as_written", "sharding.zero.stage=1"});
    config.machine = R"({"name": "dgx_h100", "levels": {"nvlink": {"bytes_per_second": 1e9}}})";
    config.stack = "\"megatron\"";
    const QString text = report_of({std::make_shared<const Plan>(compile(plan_request(config))), {}, {}, {}});
    for (const char* words : {"nvlink", "hidden transfer", " behind a forward pass"})
      QVERIFY2(text.contains(words), words);
  }

  // Of a plan with one axis these are the numbers of the summary.
  void an_axis_has_the_time_that_devices_wait_for_it_and_what_they_send_over_it() {
    int hidden = 0;
    for (const char* preset : {"tiny_lm_dp", "tiny_lm_fsdp", "workshop_1f1b", "workshop_3d", "mixtral_tiny"}) {
      RunConfig config = system_run(preset, {"sharding.mode=as_written"});
      config.machine = machine_choice("dgx_h100");
      config.stack = "\"megatron\"";
      const auto plan = std::make_shared<const Plan>(compile(plan_request(config)));
      const QString text = report_of({plan, {}, {}, {}});
      for (const AxisUse& axis : axis_uses(*plan)) {
        double waited = 0, sent = 0;
        bool has_messages = false;
        for (int stage = 0; stage < plan->program.stages; ++stage) {
          double of_stage = 0, bytes = 0;
          for (const ExposedAxes& group : exposed_by_axes(*plan, stage))
            of_stage += std::ranges::count(group.axes, axis.name) > 0 ? group.seconds : 0;
          const SequenceInstructions instructions = plan->instructions(stage);
          for (int position = 0; position < instructions.size(); ++position) {
            const Instruction& one = instructions[position];
            const bool is_message = axis.is_pipeline && is_transfer(one.kind());
            if (is_message || (one.as<CollectiveStart>() && one.axes().contains(axis.axis))) bytes += one.wire_bytes();
            has_messages |= is_message && one.wire_bytes() > 0;
          }
          waited = std::max(waited, of_stage);
          sent = std::max(sent, bytes);
        }
        QVERIFY2(std::abs(axis.wire_bytes - sent) <= 1e-9 * sent, preset);
        QCOMPARE(has_messages, axis.is_pipeline);
        QVERIFY(axis.is_pipeline ? axis.exposed_seconds >= waited
                                 : std::abs(axis.exposed_seconds - waited) <= 1e-9 * waited);
        QVERIFY(axis.exposed_seconds <= (1 + 1e-9) * plan->simulation.seconds);
        hidden += axis.exposed_seconds < axis.seconds;
        const std::string cells = "<td class=\"n\">" + seconds_text(axis.exposed_seconds) + "</td><td class=\"n\">" +
                                  bytes_text(axis.wire_bytes) + "</td></tr>";
        QVERIFY2(text.contains(QString::fromStdString(cells)), cells.c_str());
      }
      if (plan->mesh.axis_count() == 1 && plan->program.stages == 1)
        QCOMPARE(axis_uses(*plan)[0].exposed_seconds, plan->simulation.most_exposed());
    }
    QVERIFY(hidden > 0);
    const std::vector<AxisUse> of_host = axis_uses(compile({system_run("workshop_gpipe", {}), reference_host()}));
    const auto stages = std::ranges::find(of_host, true, &AxisUse::is_pipeline);
    QVERIFY(stages != of_host.end() && stages->exposed_seconds > 0 && stages->exposed_seconds <= stages->seconds);
  }

  void it_has_the_numbers_of_the_plan() {
    const ExportSource source = source_of("parallax_decoder");
    const QString text = report_of(source);
    QVERIFY(text.contains(QString("%1").arg(source.plan->hash, 16, 16, QChar('0'))));
    for (const ParameterPlan& parameter : source.plan->parameters)
      QVERIFY(text.contains(QString::fromStdString(parameter.path.back())));
    for (const MeshAxis& axis : source.plan->mesh.axes())
      QVERIFY(text.contains(QString("<td>%1</td>").arg(QString::fromStdString(axis.name))));
    QVERIFY(text.contains("it is a prediction"));
  }

  void what_a_run_measured_is_its_evidence() {
    ExportSource source = source_of("mintext_mlp");
    source.run.emplace();
    source.run->replay = [](const std::function<void(const Message&)>& take) {
      for (int64_t step = 0; step < 9; ++step) take(StepMessage{step, {{"loss", 2.0 - 0.1 * step}}, 5.0 + step, {}});
    };
    const QString text = report_of(source);
    QVERIFY2(fault_of(text).isEmpty(), qPrintable(fault_of(text)));
    QVERIFY(text.contains("<td>Steps</td><td class=\"n\">9</td>"));
    QVERIFY(text.contains("<td>Median step</td><td class=\"n\">10.0 ms</td>"));
    QCOMPARE(text.count("<polyline "), 2);
  }
};

REGISTER_TEST(HtmlTest)

}  // namespace html_test

#include "html_test.moc"
