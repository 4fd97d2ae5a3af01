#include <fmt/format.h>

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLabel>
#include <QTest>
#include <QTreeView>

#include "engine/compare/difference_rows.h"
#include "gui/compare/changes_tab.h"
#include "gui/compare/compare_page.h"
#include "gui/document/edits.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace compared_changes_test {

using namespace shardscope;

// The tab Changes of the page Compare, with the real planner.
class ComparedChangesTest : public WindowCase {
  Q_OBJECT

  ComparePage* page() { return window_->findChild<ComparePage*>(); }
  QTreeView* tree() { return window_->findChild<QTreeView*>("changes"); }
  QComboBox* from() { return window_->findChild<QComboBox*>("changesFrom"); }
  QString step() { return window_->findChild<QLabel*>("changesOfStep")->text(); }
  void settle() { QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy() && !page()->is_busy(), patience); }

  // What the tree has, a line a row.
  QStringList shown() {
    QStringList lines;
    const QAbstractItemModel& model = *tree()->model();
    const std::function<void(const QModelIndex&, const QString&)> add = [&](const QModelIndex& parent,
                                                                            const QString& section) {
      for (int row = 0; row < model.rowCount(parent); ++row) {
        QStringList cells = {section};
        for (int column = 0; column < 4; ++column) cells += model.index(row, column, parent).data().toString();
        if (model.hasChildren(model.index(row, 0, parent))) add(model.index(row, 0, parent), section);
        else lines += cells.join(" | ");
      }
    };
    for (int i = 0; i < model.rowCount(); ++i) add(model.index(i, 0), model.index(i, 0).data().toString());
    return lines;
  }

  static QStringList difference(const Plan& before, const Plan& after) {
    QStringList lines;
    for (const DifferenceSection& section : difference_sections(difference_of(before, after)))
      for (const DifferenceRow& row : section.rows)
        lines += QString::fromStdString(
            fmt::format("{} | {} | {} | {} | {}", section.title, row.name, row.before, row.after, row.change));
    return lines;
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(compiled_plans(), made::small_gpt(1, 2, 2), {1280, 800});
    QVERIFY(window_->show_page("compare"));
    page()->setCurrentWidget(window_->findChild<ChangesTab*>());
  }

  void cleanup() { close_window(); }

  void rows_are_the_difference_of_each_pinned_plan_and_the_shown_one() {
    const QAbstractItemModelTester tester(tree()->model());
    QVERIFY(!tree()->isVisible() && !from()->isEnabled());
    std::vector<std::shared_ptr<const Plan>> pinned = {planner().plan()};
    QCOMPARE(page()->pins().pin(), 0);
    settle();
    QVERIFY(!tree()->isVisible());  // nothing differs
    set_axis_size(document(), 0, 1);
    settle();
    QVERIFY(tree()->isVisible());
    QVERIFY(shown().size() > 3);
    QCOMPARE(shown(), difference(*pinned[0], plan()));
    QVERIFY(step().startsWith("Predicted step: "));
    pinned.push_back(planner().plan());
    QCOMPARE(page()->pins().pin(), 1);
    set_microbatches(document(), 2);
    settle();
    for (int place : {1, 0, 1}) {
      from()->setCurrentIndex(place);
      settle();
      QCOMPARE(shown(), difference(*pinned[place], plan()));
    }
    document().undo_stack().undo();
    settle();
    QVERIFY(!tree()->isVisible());  // the shown plan is the pinned one again
  }

  void a_pinned_plan_is_named_and_let_go() {
    page()->pins().pin();
    set_axis_size(document(), 0, 1);
    settle();
    page()->pins().rename(0, "first");
    QCOMPARE(from()->currentText(), QString("first"));
    QCOMPARE(tree()->model()->headerData(1, Qt::Horizontal).toString(), QString("first"));
    page()->pins().unpin(0);
    QVERIFY(!tree()->isVisible() && from()->count() == 0);
  }

  void nothing_is_compared_or_kept_while_it_is_not_seen() {
    page()->pins().pin();
    set_axis_size(document(), 0, 1);
    settle();
    QVERIFY(window_->show_page("layout"));
    set_axis_size(document(), 0, 2);
    settle();
    std::weak_ptr<const Plan> kept = planner().plan();
    set_microbatches(document(), 2);
    settle();
    QTRY_VERIFY_WITH_TIMEOUT(kept.expired(), patience);
    QVERIFY(window_->show_page("compare"));
    settle();
    QCOMPARE(shown(), difference(*page()->pins().at(0)->plan, plan()));
  }
};

REGISTER_WINDOW_TEST(ComparedChangesTest)

}  // namespace compared_changes_test

#include "compared_changes_test.moc"
