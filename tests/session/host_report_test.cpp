#include "engine/session/host_report.h"

#include <QTest>
#include <random>

#include "engine/base/error.h"
#include "tests/test_program.h"

namespace host_report_test {

using namespace shardscope;

namespace {

HostReport report_of(uint32_t seed) {
  std::mt19937 engine(seed);
  const auto number = [&](int most) { return static_cast<int>(engine() % static_cast<uint32_t>(most + 1)); };
  HostReport report{number(1000), number(1) == 1, {}};
  for (int rank = number(4); rank > 0; --rank) {
    RankReport one;
    one.rank = rank;
    one.observation.process = {number(9999), static_cast<uint64_t>(number(9999))};
    one.observation.process_state = "RSTZ?\0"[number(5)];
    if (number(2) == 0) one.observation.exit_status = static_cast<int32_t>(number(1 << 16));
    one.observation.out_of_memory = number(2) == 0;
    if (number(3) > 0) {
      RankStatus status;
      status.rank = rank;
      status.pid = number(9999);
      status.state = static_cast<RankState>(number(3));
      status.heartbeat_ns = number(99999);
      status.held_ns = number(99);
      status.plan_hash = engine();
      status.error_text = std::string(static_cast<size_t>(number(50)), 'e');
      one.observation.status = status;
    }
    for (int step = number(5); step > 0; --step) {
      StepRecord record{number(999), number(999) / 7.0, {}, {}};
      record.measured.rank = rank;
      record.measured.cpu_ms = {number(99) / 3.0, 2, 3};
      record.metrics[3] = number(99);
      one.steps.push_back(record);
    }
    if (number(1)) one.traces.push_back({TraceChoice::slowest, {number(99), {{1, 2, 3}, {4, 5, number(99)}}}});
    if (number(1)) one.load = RankExpertLoad{number(99), std::vector<float>(static_cast<size_t>(number(9)), 2.5f)};
    report.ranks.push_back(one);
  }
  return report;
}

}  // namespace

class HostReportTest : public QObject {
  Q_OBJECT

 private slots:
  void every_report_survives_the_wire() {
    for (uint32_t seed = 0; seed < 500; ++seed) {
      const HostReport report = report_of(seed);
      QVERIFY(decode_host_report(encode(report)) == report);
    }
  }

  void a_report_that_ends_too_early_or_late_is_refused_with_its_place() {
    const std::string bytes = encode(report_of(7));
    for (size_t size = 0; size < bytes.size(); ++size) {
      try {
        decode_host_report(std::string_view(bytes).substr(0, size));
        QFAIL("read");
      } catch (const Failure& failure) {
        QCOMPARE(failure.errors()[0].code, std::string("bad_report"));
        QVERIFY(failure.errors()[0].place.name.starts_with("byte "));
      }
    }
    QVERIFY_THROWS_EXCEPTION(Failure, decode_host_report(bytes + "x"));
  }

  void damaged_bytes_are_refused_or_another_report_and_nothing_else() {
    std::mt19937 engine(3);
    int refused = 0;
    for (uint32_t seed = 0; seed < 5000; ++seed) {
      std::string bytes = encode(report_of(seed % 50));
      for (int edits = 1 + static_cast<int>(engine() % 3); edits > 0; --edits) {
        bytes[engine() % bytes.size()] = static_cast<char>(engine());
      }
      try {
        const HostReport report = decode_host_report(bytes);
        QCOMPARE(encode(report).size(), bytes.size());
      } catch (const Failure& failure) {
        QCOMPARE(failure.errors()[0].code, std::string("bad_report"));
        ++refused;
      }
    }
    QVERIFY(refused > 500);
  }
};

REGISTER_TEST(HostReportTest)

}  // namespace host_report_test

#include "host_report_test.moc"
