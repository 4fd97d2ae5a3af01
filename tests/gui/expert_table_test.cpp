#include "gui/run/expert_table.h"

#include <QHeaderView>
#include <QTest>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/painted_texts.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace expert_table_test {

using namespace shardscope;

class ExpertTableTest : public QObject {
  Q_OBJECT

  static std::shared_ptr<const Plan> plan(bool with_experts) {
    Plan plan = made::plan(made::config());
    if (with_experts) plan.expert_layers = {{"layers/0/experts", 4, {0}, {0}}};
    return std::make_shared<const Plan>(std::move(plan));
  }
  static HelloMessage hello() {
    HelloMessage hello;
    hello.ranks = 8;
    return hello;
  }
  static bool shows(QWidget& widget, const QString& text) {
    QPicture picture;
    widget.render(&picture);
    return TextsOf(picture).has(text);
  }

 private slots:
  void initTestCase() { apply_theme(*qApp, ThemeChoice::light); }

  void a_row_says_what_each_expert_of_a_layer_got() {
    RunControl run("shardrun");
    ExpertTable table(run);
    table.resize(700, 300);
    table.show();
    run.begin_replay(plan(true));
    run.receive(hello());
    run.receive(
        ExpertsMessage{3, {{"layers/0/experts", {10, 30, 0, 40}, 8}, {"layers/1/experts", {20, 20, 20, 20}, 0}}});
    QTRY_COMPARE_WITH_TIMEOUT(table.rowCount(), 2, patience);
    QCOMPARE(table.item(0, 0)->text(), QString("layers/0/experts"));
    QCOMPARE(table.item(0, 1)->text(), QString("4 experts, from 0 (expert 2) to 40 (expert 3)"));
    QCOMPARE(table.item(0, 2)->text(), QString("2.0000"));
    QCOMPARE(table.item(0, 3)->text(), QString("8 (10.0 %)"));
    QCOMPARE(table.item(1, 2)->text(), QString("1.0000"));
    QCOMPARE(table.item(1, 3)->text(), QString("0"));
    run.receive(ExpertsMessage{4, {{"layers/0/experts", {40, 40, 0, 0}, 0}}});
    QTRY_COMPARE_WITH_TIMEOUT(table.rowCount(), 1, patience);
    QCOMPARE(table.item(0, 3)->text(), QString("0"));
  }

  void bars_are_as_high_as_what_experts_got() {
    RunControl run("shardrun");
    ExpertTable table(run);
    table.resize(700, 300);
    table.show();
    run.begin_replay(plan(true));
    run.receive(ExpertsMessage{0, {{"experts", {0, 40, 20, 40}, 0}}});
    QTRY_COMPARE_WITH_TIMEOUT(table.rowCount(), 1, patience);
    const QRect cell = table.visualItemRect(table.item(0, 1)).adjusted(4, 4, -4, -4);
    const QImage image = table.viewport()->grab().toImage();
    const auto painted = [&](int expert) {
      int count = 0;
      const int x = cell.x() + cell.width() * (2 * expert + 1) / 8;
      for (int y = cell.top(); y <= cell.bottom(); ++y) count += image.pixelColor(x, y) == theme().accent;
      return count;
    };
    QVERIFY(painted(0) == 0);
    QVERIFY(painted(1) > cell.height() - 4 && painted(3) == painted(1));
    QVERIFY(std::abs(2 * painted(2) - painted(1)) <= 4);
  }

  void the_tip_is_of_the_expert_under_the_pointer() {
    const ExpertLoad load{"experts", {10, 30, 0, 40}, 0};
    QCOMPARE(expert_tip(load, 30, 100), QString("expert 1: chosen by 30 tokens, 150.0 % of the mean"));
    QVERIFY(expert_tip(load, 99.9, 100).startsWith("expert 3"));
    QVERIFY(expert_tip(load, 100, 100).isEmpty() && expert_tip(load, -1, 100).isEmpty());
    QVERIFY(expert_tip({}, 1, 100).isEmpty());
  }

  void without_loads_it_says_why_and_what_to_do() {
    RunControl run("shardrun");
    ExpertTable table(run);
    QVERIFY(!table.accessibleName().isEmpty());
    QVERIFY(shows(table, "No run yet"));
    run.begin_replay(plan(true));
    run.receive(hello());
    QVERIFY(shows(table, "Waiting for the first step"));
    run.begin_replay(plan(false));
    run.receive(hello());
    QVERIFY(shows(table, "No experts"));
  }
};

REGISTER_WINDOW_TEST(ExpertTableTest)

}  // namespace expert_table_test

#include "expert_table_test.moc"
