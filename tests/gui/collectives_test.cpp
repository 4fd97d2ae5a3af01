#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QStandardPaths>
#include <QTest>
#include <map>
#include <set>

#include "engine/base/units.h"
#include "gui/look/appearance.h"
#include "gui/pages/collectives_page.h"
#include "gui/window/window.h"
#include "gui/workspace/array_facts.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace collectives_test {

using namespace shardscope;

// The page Collectives, with the real planner.
class CollectivesTest : public WindowCase {
  Q_OBJECT

  CollectivesPage* page() { return window_->findChild<CollectivesPage*>(); }

  void open(const RunConfig& config) {
    workspace().document.reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(workspace().planner.is_current(), patience);
  }

  // Of the bytes of a cell, "1,234 B", those numbers.
  static double bytes_of(QString exact) { return exact.remove(" B").remove(',').toDouble(); }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(compiled_plans(), made::small_gpt(1, 1, 1), {1280, 800});
    QVERIFY(window_->show_page("collectives"));
  }

  void cleanup() { close_window(); }

  void bytes_and_times_shown_are_those_of_the_whole_step_in_all_microbatches() {
    for (const RunConfig& config :
         {made::small_gpt(2, 2, 2), made::small_gpt(2, 2, 2, 4), made::piped_gpt(4, 2, 1, 4)}) {
      open(config);
      std::vector<double> shown(size_t(plan().program.stages), 0.0), planned = shown, seconds = shown, busy = shown;
      const QAbstractItemModel& rows = *page()->table()->model();
      for (int row = 0; row < rows.rowCount(); ++row) {
        const auto id = rows.index(row, 0).data(CollectivesModel::step_role).value<StepRef>();
        const auto stage = size_t(stage_of(plan(), id));
        shown[stage] += bytes_of(
            rows.index(row, CollectivesModel::wire_column).data(Qt::ToolTipRole).toString().section(" = ", -1));
        seconds[stage] +=
            rows.index(row, CollectivesModel::predicted_column).data(CollectivesModel::number_role).toDouble();
      }
      for (size_t stage = 0; stage < planned.size(); ++stage) {
        planned[stage] = plan().pipeline.totals[stage].wire_bytes_per_device;
        int position = 0;
        for (const Instruction& instruction : plan().instructions(int(stage))) {
          if (is_collective(instruction.kind()) || is_transfer(instruction.kind()))
            busy[stage] += plan().seconds(position, int(stage));
          ++position;
        }
        QVERIFY(planned[stage] > 0);
        QVERIFY2(std::abs(shown[stage] - planned[stage]) < 1 + 1e-9 * planned[stage],
                 qPrintable(QString("%1 shown, %2 planned").arg(shown[stage]).arg(planned[stage])));
        QVERIFY(std::abs(seconds[stage] - busy[stage]) < 1e-9);
      }
    }
  }

  void what_an_array_costs_counts_every_microbatch() {
    open(made::small_gpt(2, 2, 2, 4));
    double costs = 0, wire = 0;
    for (const ParameterPlan& parameter : plan().parameters) {
      const ArrayRef array = ParameterRef{parameter.path};
      workspace().selection.select_array(array);
      auto* list = window_->inspector()->findChild<QTreeWidget*>();
      for (int i = 0; i < list->topLevelItemCount(); ++i) {
        const auto id = list->topLevelItem(i)->data(0, Qt::UserRole).value<StepRef>();
        const double share = wire_share(plan(), *find_step(plan(), id), *array_facts(workspace(), array));
        costs += bytes_of(list->topLevelItem(i)->toolTip(1).section(" sent", 0, 0));
        const Sequence& sequence = plan().program.main();
        wire += share * double(std::ranges::count(sequence.runs, id.task, &TaskRun::task));
      }
    }
    QVERIFY(wire > 0);
    QVERIFY2(std::abs(costs - wire) < 1e-6 * wire + 200, qPrintable(QString("%1 and %2").arg(costs).arg(wire)));
  }

  void groups_sum_up_their_rows_and_every_collective_is_in_one() {
    const QAbstractItemModelTester tester(page()->table()->model());
    open(made::small_gpt(3, 2, 2, 2));
    auto* groups = page()->findChild<QComboBox*>("collectiveGroups");
    const QAbstractItemModel& model = *page()->table()->model();
    const size_t all = workspace().planner.index().collectives.size();
    for (int by = 1; by < groups->count(); ++by) {
      groups->setCurrentIndex(by);
      QVERIFY(model.rowCount() >= 1);
      std::set<StepRef> seen;
      for (int group = 0; group < model.rowCount(); ++group) {
        const QModelIndex above = model.index(group, 0);
        QVERIFY(!above.data(CollectivesModel::step_role).isValid());
        QVERIFY(model.rowCount(above) > 0);
        for (const int column : {CollectivesModel::wire_column, CollectivesModel::predicted_column,
                                 CollectivesModel::times_column, CollectivesModel::payload_column}) {
          double sum = 0;
          for (int row = 0; row < model.rowCount(above); ++row)
            sum += model.index(row, column, above).data(CollectivesModel::number_role).toDouble();
          const double shown = above.siblingAtColumn(column).data(CollectivesModel::number_role).toDouble();
          QVERIFY(std::abs(shown - sum) <= 1e-9 * sum);
        }
        for (int row = 0; row < model.rowCount(above); ++row)
          QVERIFY(seen.insert(model.index(row, 0, above).data(CollectivesModel::step_role).value<StepRef>()).second);
      }
      QCOMPARE(seen.size(), all);
      for (int column = 0; column < CollectivesModel::columns; ++column)
        for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder})
          page()->table()->sortByColumn(column, order);
      QCOMPARE(page()->copied_text().count('\n'), qsizetype(all + 2));
    }
    groups->setCurrentIndex(0);
    QCOMPARE(model.rowCount(), int(all));
  }

  void a_filter_leaves_what_has_all_its_words_and_the_total_is_of_these() {
    const QAbstractItemModelTester tester(page()->table()->model());
    open(made::small_gpt(2, 2, 2));
    const QAbstractItemModel& model = *page()->table()->model();
    const int all = model.rowCount();
    page()->table()->setFocus();
    QTest::keyClick(page()->table(), Qt::Key_Slash);
    auto* filter = page()->findChild<QLineEdit*>("collectiveFilter");
    QTRY_VERIFY_WITH_TIMEOUT(filter->hasFocus(), patience);
    QTest::keyClicks(filter, "ALL-REDUCE batch");
    QVERIFY(model.rowCount() > 0 && model.rowCount() < all);
    double sum = 0;
    for (int row = 0; row < model.rowCount(); ++row) {
      QCOMPARE(model.index(row, CollectivesModel::kind_column).data().toString(), QString("all-reduce"));
      QVERIFY(model.index(row, CollectivesModel::axes_column).data().toString().contains("batch"));
      sum += model.index(row, CollectivesModel::wire_column).data(CollectivesModel::number_role).toDouble();
    }
    const QString totals = page()->findChild<QLabel*>("collectiveTotals")->text();
    QVERIFY(totals.startsWith("Shown: ") && totals.contains(QString::fromStdString(bytes_text(sum))));
    filter->setText("nothing has this");
    QCOMPARE(model.rowCount(), 0);
    QVERIFY(!page()->table()->isVisible());
    filter->clear();
    QCOMPARE(model.rowCount(), all);
  }

  void a_row_names_the_array_that_it_moves_and_its_bar_is_its_share_of_the_longest() {
    open(made::small_gpt(2, 2, 2));
    const QAbstractItemModel& model = *page()->table()->model();
    int named = 0;
    std::map<int, double> longest;
    const auto number = [&](int row, int column) {
      return model.index(row, column).data(CollectivesModel::number_role).toDouble();
    };
    for (int row = 0; row < model.rowCount(); ++row)
      for (const int column : {CollectivesModel::wire_column, CollectivesModel::predicted_column})
        longest[column] = std::max(longest[column], number(row, column));
    for (int row = 0; row < model.rowCount(); ++row) {
      const auto id = model.index(row, 0).data(CollectivesModel::step_role).value<StepRef>();
      const QString shown = model.index(row, CollectivesModel::array_column).data().toString();
      QVERIFY(!shown.isEmpty());
      const ArrayRef array = static_cast<const CollectivesModel&>(model).array_of(id);
      if (const auto* parameter = std::get_if<ParameterRef>(&array)) {
        ++named;
        QVERIFY2(shown.contains(QString::fromStdString(parameter->path.back())), qPrintable(shown));
      }
      for (const auto& [column, most] : longest) {
        const double bar = model.index(row, column).data(CollectivesModel::bar_role).toDouble();
        QVERIFY(std::abs(bar - number(row, column) / most) < 1e-9);
      }
      QVERIFY(!model.index(row, CollectivesModel::times_column).data(CollectivesModel::bar_role).isValid());
    }
    QVERIFY(named > 3);
  }

  void choosing_a_row_selects_its_array_and_following_a_step_does_not() {
    open(made::small_gpt(2, 2, 2));
    const QAbstractItemModel& model = *page()->table()->model();
    int selected = 0;
    for (int row = 0; row < model.rowCount(); ++row) {
      workspace().selection.select_array({});
      page()->table()->setCurrentIndex({});
      page()->table()->setCurrentIndex(model.index(row, 0));
      const auto id = model.index(row, 0).data(CollectivesModel::step_role).value<StepRef>();
      QCOMPARE(workspace().selection.step(), std::optional(id));
      const ArrayRef array = workspace().selection.array();
      if (!is_array(array)) continue;
      ++selected;
      QVERIFY(array_facts(workspace(), array));
      workspace().selection.select_array({});
      workspace().selection.select_step(std::nullopt);
      workspace().selection.select_step(id);
      QVERIFY(!is_array(workspace().selection.array()));
    }
    QVERIFY(selected * 10 >= model.rowCount() * 8);
  }

  // Half a millisecond of exchange after which rank 1 had kept the others waiting for eight.
  void what_was_waited_stands_apart_from_the_exchange_and_the_late_rank_is_named() {
    const QAbstractItemModelTester tester(page()->table()->model());
    open(made::small_gpt(2, 2, 1, 2));
    const StepRef id = workspace().planner.index().collectives.front();
    const int runs = workspace().planner.index().runs(id);
    RunControl& run = workspace().run;
    HelloMessage hello;
    hello.plan_hash = plan().hash;
    hello.ranks = 2;
    hello.plan_steps = plan_step_names(plan());
    TraceMessage trace{TraceChoice::latest, 3, {}};
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<PlanStepTime>& times = trace.ranks.emplace_back();
      const SequenceInstructions steps = plan().instructions();
      for (int position = 0; position < steps.size(); ++position) {
        const int64_t at = int64_t{20'000'000} * steps.start_of(position);
        const int64_t arrive = rank == 1 ? at + 8'000'000 : at;
        if (is_collective(steps[position].kind())) times.push_back({arrive, arrive, arrive});
        else times.push_back({arrive, at + 8'000'000, at + 8'500'000});
      }
    }
    run.begin_replay(workspace().planner.plan());
    run.receive(hello);
    run.receive(trace);
    const QModelIndex row = static_cast<CollectivesModel*>(page()->table()->model())->index_of_step(id);
    const auto seconds = [&](int column) {
      return row.siblingAtColumn(column).data(CollectivesModel::number_role).toDouble();
    };
    QTRY_VERIFY_WITH_TIMEOUT(std::abs(seconds(CollectivesModel::measured_column) - 0.0005 * runs) < 1e-9, patience);
    QVERIFY(std::abs(seconds(CollectivesModel::waited_column) - 0.004 * runs) < 1e-9);  // the mean of 8 and 0
    const QString tip = row.siblingAtColumn(CollectivesModel::waited_column).data(Qt::ToolTipRole).toString();
    QVERIFY2(tip.contains("rank 1 came last of 2, 8.00 ms after the first"), qPrintable(tip));
    QTRY_VERIFY_WITH_TIMEOUT(!page()->table()->isColumnHidden(CollectivesModel::waited_column), patience);
    QVERIFY(page()->findChild<QLabel*>("collectiveTotals")->text().contains("waiting"));
  }

  // Of the four ranks one pair does everything eight milliseconds after the other; within a pair nobody is late.
  void a_rank_is_late_only_to_the_group_that_it_is_of() {
    open(made::small_gpt(2, 2, 2));
    HelloMessage hello;
    hello.plan_hash = plan().hash;
    hello.ranks = 4;
    hello.plan_steps = plan_step_names(plan());
    TraceMessage trace{TraceChoice::latest, 3, std::vector<std::vector<PlanStepTime>>(4)};
    const SequenceInstructions steps = plan().instructions();
    for (int position = 0; position < steps.size(); ++position) {
      const Instruction& instruction = steps[steps.start_of(position)];
      const std::vector<int> first = plan().mesh.group(0, {instruction.axes().begin(), instruction.axes().end()});
      for (int rank = 0; rank < 4; ++rank) {
        const int64_t at = int64_t{20'000'000} * position + (std::ranges::count(first, rank) ? 0 : 8'000'000);
        trace.ranks[size_t(rank)].push_back({at, at, at + 500'000});
      }
    }
    workspace().run.begin_replay(planner().plan());
    workspace().run.receive(hello);
    workspace().run.receive(trace);
    QTRY_VERIFY_WITH_TIMEOUT(!page()->table()->isColumnHidden(CollectivesModel::waited_column), patience);
    int pairs = 0;
    for (const StepRef id : planner().index().collectives) {
      if (find_step(plan(), id)->group_size() != 2) continue;
      const QModelIndex row = static_cast<CollectivesModel*>(page()->table()->model())->index_of_step(id);
      const QString tip = row.siblingAtColumn(CollectivesModel::waited_column).data(Qt::ToolTipRole).toString();
      QVERIFY2(tip.contains("waiting") && !tip.contains("came last"), qPrintable(tip));
      ++pairs;
    }
    QVERIFY(pairs > 0);
  }

  void a_step_that_is_selected_again_after_one_that_has_no_row_is_shown_again() {
    open(made::small_gpt(2, 2, 2));
    const StepRef id = planner().index().collectives.front();
    int position = 0;
    while (plan().instructions()[position].kind() != InstructionKind::compute) ++position;
    const QItemSelectionModel& chosen = *page()->table()->selectionModel();
    for (int i = 0; i < 2; ++i) {
      selection().select_step(id);
      QVERIFY(chosen.hasSelection());
      QCOMPARE(page()->table()->currentIndex().data(CollectivesModel::step_role).value<StepRef>(), id);
      selection().select_step(step_at(plan(), position));
      QVERIFY(!chosen.hasSelection());
    }
    const QModelIndex row = static_cast<CollectivesModel*>(page()->table()->model())->index_of_step(id);
    QTest::mouseClick(page()->table()->viewport(), Qt::LeftButton, {}, page()->table()->visualRect(row).center());
    QCOMPARE(selection().step(), std::optional(id));
  }
};

REGISTER_WINDOW_TEST(CollectivesTest)

}  // namespace collectives_test

#include "collectives_test.moc"
