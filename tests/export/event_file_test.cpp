#include "engine/export/event_file.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/export/tensorboard.h"
#include "tests/export/event_reader.h"
#include "tests/export/exported.h"
#include "tests/test_program.h"

namespace event_file_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

QByteArray hex(const std::string& bytes) { return QByteArray::fromStdString(bytes).toHex(); }

}  // namespace

class EventFileTest : public QObject {
  Q_OBJECT

 private slots:
  // RFC 3720, B.4, and the check value of the polynomial's catalogue.
  void the_sum_is_crc_32c() {
    QCOMPARE(crc32c("123456789"), 0xe3069283u);
    QCOMPARE(crc32c(std::string(32, '\0')), 0x8a9136aau);
    QCOMPARE(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
    QCOMPARE(crc32c(""), 0u);
  }

  // Those of tensorboard.summary.writer.record_writer and event_pb2, version 2.21.
  void records_have_known_bytes() {
    QCOMPARE(hex(file_version_record(1)),
             QByteArray("1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a"));
    QCOMPARE(hex(scalars_record(2.5, 300, {{"loss", 0.25f}})),
             QByteArray("1b000000000000001a0d9e1309000000000000044010ac022a0d0a0b0a046c6f7373150000803e205d3896"));
    QCOMPARE(hex(restart_record(3, 7)), QByteArray("0f000000000000006d532b0909000000000000084010073a02080167edf0c3"));
  }

  void what_is_written_is_read_again() {
    const std::string bytes = file_version_record(1.5) + scalars_record(2.5, 300, {{"loss", 0.25f}, {"x/rank_0", -1}}) +
                              restart_record(3, 7) + scalars_record(4, int64_t{1} << 40, {});
    const std::vector<Event> events = read_events(bytes);
    QCOMPARE(events.size(), 4u);
    QCOMPARE(events[0].file_version, std::string("brain.Event:2"));
    QCOMPARE(events[0].wall_time, 1.5);
    QCOMPARE(events[1].step, 300);
    QCOMPARE(events[1].scalars, (std::map<std::string, float>{{"loss", 0.25f}, {"x/rank_0", -1.0f}}));
    QVERIFY(events[2].restarts && events[2].step == 7 && !events[1].restarts);
    QCOMPARE(events[3].step, int64_t{1} << 40);
  }

  void a_flipped_bit_anywhere_is_noticed() {
    const std::string whole = scalars_record(2.5, 3, {{"loss", 0.25f}});
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      QVERIFY_THROWS_EXCEPTION(std::runtime_error, read_events(bytes));
    }
  }

  void a_recorded_run_gives_each_step_with_its_metrics_and_voids_what_was_done_anew() {
    for (const char* preset : {"tiny_lm_dp", "workshop_1f1b"}) {
      const ExportSource source = made_source(preset);
      const std::vector<Event> events = read_events(exported_text(source, "tensorboard"));
      std::vector<int64_t> steps;
      double last = 1e9;
      for (const Event& event : events) {
        QVERIFY(event.wall_time >= last);
        last = event.wall_time;
        if (event.restarts) steps.push_back(-event.step);
        if (event.scalars.empty()) continue;
        steps.push_back(event.step);
        for (const Metric& metric : source.plan->metrics)
          QCOMPARE(event.scalars.at(metric.name), static_cast<float>(1.0 / static_cast<double>(event.step + 2)));
        QCOMPARE(event.scalars.at("step_ms"), 10.5f + static_cast<float>(event.step));
        for (int rank = 0; rank < source.plan->mesh.device_count(); ++rank) {
          QCOMPARE(event.scalars.at("busy_ms/rank_" + std::to_string(rank)), 3.5f);
          QCOMPARE(event.scalars.at("moved_bytes/rank_" + std::to_string(rank)),
                   1000.0f + static_cast<float>(rank + event.step));
        }
      }
      QCOMPARE(steps, (std::vector<int64_t>{0, 1, -1, 1, 2}));
    }
  }

  void what_is_reported_live_is_in_the_folder_at_once() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("new/logs").toStdString();
    const std::shared_ptr<const Plan> plan = preset_plan("tiny_lm_dp");
    TensorboardLog log(path), other(path);
    log.begin();
    other.begin();
    for (int64_t step = 0; step < 3; ++step) {
      log.add(made_step(*plan, step));
      log.add(LogMessage{0, "said"});
      size_t events = 0, files = 0;
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        QVERIFY(entry.path().filename().string().starts_with("events.out.tfevents."));
        events += read_events(text_of(entry.path())).size();
        ++files;
      }
      QCOMPARE(files, 2u);
      QCOMPARE(events, static_cast<size_t>(step) + 3);
    }
  }

  void a_name_that_tensorboard_would_not_find_is_refused_with_ones_that_it_finds() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("run.log").toStdString();
    const ExportSource source = made_source("tiny_lm_dp");
    const ExportKind& kind = find_export_kind("tensorboard");
    const Error error = failure_of([&] { export_source(kind, source, {}, path, {}); });
    QCOMPARE(error.code, std::string("wrong_name"));
    QVERIFY2(error.hint.find("run.tfevents'") != std::string::npos, error.hint.c_str());
    QVERIFY(std::filesystem::is_empty(folder.path().toStdString()));
    QCOMPARE(export_source(kind, source, {}, folder.filePath("run.tfevents").toStdString(), {}).path,
             folder.filePath("run.tfevents").toStdString());
    QVERIFY(!export_source(find_export_kind("jsonl"), source, {}, path, {}).path.empty());
  }

  void tensorboard_reads_the_same_numbers() {
    const QString python = qEnvironmentVariable("SHARDSCOPE_PYTHON", "python3");
    QProcess asked;
    asked.start(python, {"-c", "import tensorboard"});
    if (!asked.waitForFinished(120'000) || asked.exitCode() != 0) QSKIP("Python has no package tensorboard");
    const QTemporaryDir folder;
    const ExportSource source = made_source("tiny_lm_dp");
    const Exported exported =
        export_source(find_export_kind("tensorboard"), source, {}, folder.path().toStdString(), {});
    QVERIFY(exported.path != folder.path().toStdString());
    QProcess reader;
    reader.start(python, {"-c",
                          "import sys\n"
                          "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
                          "events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0}).Reload()\n"
                          "for tag in sorted(events.Tags()['scalars']):\n"
                          "  print(tag, *(f'{e.step}:{e.value:.6f}' for e in events.Scalars(tag)))\n",
                          folder.path()});
    QVERIFY(reader.waitForFinished(120'000));
    QCOMPARE(reader.exitCode(), 0);
    const QString read = QString::fromUtf8(reader.readAllStandardOutput());
    QVERIFY2(read.contains("loss 0:0.500000 1:0.333333 2:0.250000\n"), qPrintable(read));
    QVERIFY2(read.contains("step_ms 0:10.500000 1:11.500000 2:12.500000\n"), qPrintable(read));
    QVERIFY2(read.contains("busy_ms/rank_1 0:3.500000"), qPrintable(read));
  }
};

REGISTER_CORE_TEST(EventFileTest)

}  // namespace event_file_test

#include "event_file_test.moc"
