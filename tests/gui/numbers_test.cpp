#include <QAbstractSpinBox>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QSpinBox>
#include <QTest>
#include <random>

#include "engine/config/strategy.h"
#include "gui/look/fitted_fields.h"
#include "gui/window/presets.h"
#include "gui/window/tool_bar.h"
#include "gui/window/window.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace numbers_test {

using namespace shardscope;

// What a person may type into the fields of numbers of the window, with the real planner.
class NumbersTest : public WindowCase {
  Q_OBJECT

  static RunConfig with_a_strategy() {
    StrategyConfig strategy;
    strategy.data = 2;
    strategy.tensor = 2;
    strategy.pipeline = 2;
    return with_strategy(load_preset("llama_tiny"), strategy);
  }

  static bool is_of_numbers(const QWidget* field) {
    if (qobject_cast<const QAbstractSpinBox*>(field)) return true;
    const auto* line = qobject_cast<const FittedLine*>(field);
    bool is_number = false;
    if (line) line->text().toDouble(&is_number);
    return is_number;
  }

  QWidget* parent_of_fields(const QString& where) {
    auto* tools = window_->findChild<ToolBar*>("toolBar");
    if (where == "strategy") return tools->strategy_bar();
    if (where == "mesh") return window_->mesh_bar();
    auto* dock = window_->findChild<QDockWidget*>("settings");
    dock->show();
    dock->raise();
    return window_->findChild<SettingsPanel*>();
  }

  QStringList fields_of(const QString& where) {
    QStringList names;
    for (const QWidget* field : parent_of_fields(where)->findChildren<QWidget*>())
      if (is_of_numbers(field) && field->isEnabled() && !field->objectName().startsWith("qt_"))
        names << field->objectName();
    return names;
  }

  void type(QWidget* field, const QString& text) {
    field->setFocus();
    QTest::keyClick(field, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(field, text);
    QTest::keyClick(field, Qt::Key_Return);
  }

 private slots:
  void initTestCase() { prepare(); }
  void cleanup() { close_window(); }

  void any_number_in_any_field_gives_a_plan_or_errors_at_places_data() {
    QTest::addColumn<QString>("where");
    for (const char* where : {"strategy", "mesh", "settings"}) QTest::newRow(where) << where;
  }
  void any_number_in_any_field_gives_a_plan_or_errors_at_places() {
    QFETCH(QString, where);
    const RunConfig config = with_a_strategy();
    open_window(compiled_plans(), config);
    std::mt19937 random(20);
    const QStringList fields = fields_of(where);
    QVERIFY2(fields.size() >= 3, qPrintable(fields.join(", ")));
    for (const QString& name : fields) {
      QStringList numbers{"0", "-1", "3", "4", "7", "65536", "2147483647", "9007199254740992", "1e300"};
      numbers << QString::number(random() % 10) << QString::number(random() % 1000);
      for (const QString& number : numbers) {
        auto* field = parent_of_fields(where)->findChild<QWidget*>(name);
        QVERIFY2(field, qPrintable(name));
        type(field, number);
        QTRY_VERIFY2_WITH_TIMEOUT(!planner().is_busy(), qPrintable(name + " = " + number), patience);
        QVERIFY2(planner().is_current() || !planner().errors().empty(), qPrintable(name + " = " + number));
        for (const Error& error : planner().errors())
          QVERIFY2(!error.place.path.empty() && error.code != "internal",
                   qPrintable(name + " = " + number + ": " + QString::fromStdString(error.message)));
        QVERIFY(planner().plan());
        document().reset(config, {});
        QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      }
    }
  }
};

REGISTER_WINDOW_TEST(NumbersTest)

}  // namespace numbers_test

#include "numbers_test.moc"
