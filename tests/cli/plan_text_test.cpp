#include <QTest>
#include <regex>
#include <sstream>

#include "engine/cli/plan_report.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace plan_text_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Of the tables "Parameter" and "Collective": lines, and how many arrays and collectives they stand for.
struct Rows {
  int lines = 0, things = 0;
  bool operator==(const Rows&) const = default;
};

Rows rows_of(const std::string& text, const std::string& heading) {
  Rows rows;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) inside = false;
    if (inside) {
      std::smatch times;
      ++rows.lines;
      rows.things += std::regex_search(line, times, std::regex(" x (\\d+)( |$)")) ? std::stoi(times[1]) : 1;
    }
    if (line.starts_with(heading)) inside = true;
  }
  return rows;
}

}  // namespace

class PlanTextTest : public QObject {
  Q_OBJECT

 private slots:
  void layers_that_are_alike_share_lines_and_nothing_is_left_out() {
    int shorter = 0;
    for (const SystemPreset& preset : system_presets()) {
      const Plan plan =
          compile({system_run(preset.name, preset.small, meshes_of(preset.mesh_axes).back()), reference_host()});
      const std::string brief = plan_text(plan, false), whole = plan_text(plan, true);
      for (const char* heading : {"Parameter ", "Collective "}) {
        const Rows shown = rows_of(brief, heading), all = rows_of(whole, heading);
        QCOMPARE(shown.things, all.things);
        QVERIFY(shown.lines <= all.lines);
        shorter += shown.lines < all.lines;
      }
      QCOMPARE(rows_of(whole, "Parameter "),
               (Rows{static_cast<int>(plan.parameters.size()), static_cast<int>(plan.parameters.size())}));
    }
    QVERIFY(shorter > 4);
  }
};

REGISTER_TEST(PlanTextTest)

}  // namespace plan_text_test

#include "plan_text_test.moc"
