#include <QAbstractItemModelTester>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QStandardPaths>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>

#include "engine/machine/host_machine.h"
#include "gui/document/new_run.h"
#include "gui/look/appearance.h"
#include "gui/look/key_help.h"
#include "gui/window/command_palette.h"
#include "gui/window/commands.h"
#include "gui/window/fuzzy_match.h"
#include "gui/window/new_run_dialog.h"
#include "gui/window/shortcut_list.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace commands_test {

using namespace shardscope;

// The palette, the list of shortcuts, and new run files.
class CommandsTest : public WindowCase {
  Q_OBJECT

  CommandPalette* palette() { return window_->findChild<CommandPalette*>(); }
  QLineEdit* line() { return palette()->findChild<QLineEdit*>("commandLine"); }
  QListWidget* list() { return palette()->findChild<QListWidget*>("commandList"); }
  void open() {
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+P"));
    QTRY_VERIFY_WITH_TIMEOUT(palette()->isVisible() && line()->hasFocus(), patience);
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() { open_window(made::source(), made::config()); }

  void cleanup() { close_window(); }

  void letters_in_order_fit_and_begins_of_words_fit_best() {
    QCOMPARE(match_score("", "anything"), 0);
    QCOMPARE(match_score("xyz", "Open preset"), -1);
    QCOMPARE(match_score("ts", "st"), -1);
    QVERIFY(match_score("op", "Open preset") > match_score("op", "Stop"));
    QVERIFY(match_score("cp", "Command palette") > match_score("cp", "Escape"));
    QVERIFY(match_score("LAYOUT", "Layout mode: fastest") > 0);
    QVERIFY(match_score("undo", "Undo") > match_score("undo", "Undo something that has a long name"));
  }

  void every_entry_of_every_menu_is_a_command_once() {
    const QList<Command> commands = commands_of(*window_);
    QSet<QAction*> seen;
    for (const Command& command : commands) {
      QVERIFY2(!seen.contains(command.action), qPrintable(command.text));
      seen << command.action;
    }
    for (const QMenu* menu : window_->menuBar()->findChildren<QMenu*>())
      for (QAction* action : menu->actions())
        if (!action->isSeparator() && !action->menu() && action->isVisible())
          QVERIFY2(seen.contains(action), qPrintable(action->text()));
    QStringList texts;
    for (const Command& command : commands) texts << command.text;
    for (const char* text : {"Add rule", "Copy spec", "parallax_decoder", "Layout mode: fastest"})
      QVERIFY2(texts.contains(text), text);
  }

  void no_key_is_that_of_two_commands_of_the_whole_window() {
    QMap<QString, QString> taken;
    for (const Command& command : commands_of(*window_)) {
      if (command.keys.isEmpty() || command.action->shortcutContext() != Qt::WindowShortcut) continue;
      QVERIFY2(!taken.contains(command.keys),
               qPrintable(command.keys + ": " + taken[command.keys] + ", " + command.text));
      taken[command.keys] = command.text;
    }
    QVERIFY(taken.size() > 15);
  }

  void a_command_is_done_by_some_letters_of_it_and_enter() {
    open();
    QTest::keyClicks(line(), "aswritten");
    QTest::keyClick(line(), Qt::Key_Return);
    QVERIFY(document().config().sharding.mode == LayoutMode::as_written);
    QVERIFY(!palette()->isVisible());
  }

  void an_array_is_selected_by_its_name_and_the_arrows_choose() {
    open();
    QTest::keyClicks(line(), "dense_0/bias");
    QTest::keyClick(line(), Qt::Key_Return);
    QVERIFY(window_->workspace().selection.array() == ArrayRef(ParameterRef{{"params", "Dense_0", "bias"}}));
    open();
    QCOMPARE(list()->currentRow(), 0);
    QTest::keyClick(line(), Qt::Key_Down);
    QCOMPARE(list()->currentRow(), 1);
    QTest::keyClick(line(), Qt::Key_Up);
    QCOMPARE(list()->currentRow(), 0);
  }

  void escape_closes_it_and_gives_the_keyboard_back() {
    QSpinBox* data = window_->mesh_bar()->field(0);
    data->setFocus();
    open();
    const QSize size = window_->centralWidget()->size();
    QTest::keyClick(line(), Qt::Key_Escape);
    QVERIFY(!palette()->isVisible() && data->hasFocus());
    QCOMPARE(window_->centralWidget()->size(), size);  // it is over the window
    open();
    QTest::keyClicks(line(), "qqqqqq");
    QCOMPARE(list()->count(), 0);
    QTest::keyClick(line(), Qt::Key_Return);  // nothing to do
    QVERIFY(palette()->isVisible());
  }

  void what_cannot_be_done_now_is_grey_and_is_not_done() {
    open();
    QTest::keyClicks(line(), "Redo");
    QVERIFY(list()->count() > 0);
    bool found = false;
    for (int row = 0; row < list()->count(); ++row)
      found |= list()->item(row)->flags() == Qt::NoItemFlags &&
               list()->item(row)->data(Qt::AccessibleTextRole).toString().contains("Redo");
    QVERIFY(found);
  }

  void the_list_of_shortcuts_has_every_key_and_filters() {
    ShortcutList shortcuts(*window_);
    auto* tree = shortcuts.findChild<QTreeWidget*>("shortcuts");
    QStringList keys;
    for (int i = 0; i < tree->topLevelItemCount(); ++i)
      for (int j = 0; j < tree->topLevelItem(i)->childCount(); ++j) keys << tree->topLevelItem(i)->child(j)->text(1);
    for (const Command& command : commands_of(*window_))
      if (!command.keys.isEmpty()) QVERIFY2(keys.contains(command.keys), qPrintable(command.keys));
    for (const KeyHelpGroup& group : key_help_of(*window_))
      for (const KeyHelp& key : group.keys) QVERIFY2(keys.contains(key.keys), qPrintable(key.keys));
    shortcuts.findChild<QLineEdit*>()->setText("command palette");
    int seen = 0;
    for (int i = 0; i < tree->topLevelItemCount(); ++i)
      for (int j = 0; j < tree->topLevelItem(i)->childCount(); ++j)
        seen += !tree->topLevelItem(i)->isHidden() && !tree->topLevelItem(i)->child(j)->isHidden();
    QCOMPARE(seen, 1);
  }

  void a_new_run_file_of_every_model_and_optimizer_is_legal() {
    std::vector<std::string> optimizers = optimizer_names();
    optimizers.push_back("");
    for (const std::string& model : model_names()) {
      for (const std::string& optimizer : optimizers) {
        const RunConfig config = new_run(model, optimizer, 8);
        QVERIFY2(!config.data.name.empty(), model.c_str());
        std::string errors;
        for (const Error& error : validate(config)) errors += to_string(error) + "\n";
        QVERIFY2(errors.empty(), (model + " with " + optimizer + ": " + errors).c_str());
      }
    }
    QVERIFY(model_names().size() >= 9);
  }

  // Its output, logits say, is split as its input: nothing is gathered for it.
  void of_a_new_run_file_no_output_is_gathered() {
    for (const std::string& model : model_names()) {
      const Plan plan = compile({new_run(model, "adam", 8), reference_host()});
      for (const Task& task : plan.program.tasks) {
        for (const Instruction& instruction : task.instructions) {
          if (instruction.kind() != InstructionKind::all_gather) continue;
          for (const int moved : instruction.operands()) {
            const ValueId value = plan.program.values[static_cast<size_t>(moved)].graph_value;
            const auto is_it = [&](const auto& output) { return output.second == value; };
            QVERIFY2(std::ranges::none_of(plan.graph->outputs, is_it),
                     (model + ": " + plan.instruction_name(instruction)).c_str());
          }
        }
      }
    }
  }

  void file_new_begins_a_draft_of_the_chosen_model() {
    QTimer timer;
    bool chosen = false;
    connect(&timer, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<NewRunDialog*>(QApplication::activeModalWidget());
      if (!dialog || chosen) return;
      chosen = true;
      auto* models = dialog->findChild<QListWidget*>("newModel");
      models->setCurrentItem(models->findItems("tiny_lm", Qt::MatchExactly).front());
      dialog->findChild<QSpinBox*>("newDevices")->setValue(4);
      dialog->accept();
    });
    timer.start(5);
    window_->findChild<QAction*>("new")->trigger();
    QVERIFY(chosen);
    QCOMPARE(document().config().model.name, std::string("tiny_lm"));
    QCOMPARE(document().config().mesh_axes.at(0).size, int64_t{4});
    QCOMPARE(document().title(), QString("tiny_lm.json"));
    QVERIFY(!document().is_modified() && document().path().isEmpty());
  }

  void file_new_asks_about_unsaved_changes() {
    set_steps(document(), 3);
    QTimer timer;
    int asked = 0;
    connect(&timer, &QTimer::timeout, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box || asked++) return;
      box->button(QMessageBox::Cancel)->click();
    });
    timer.start(5);
    window_->findChild<QAction*>("new")->trigger();
    QCOMPARE(asked, 1);
    QCOMPARE(document().config().steps, int64_t{3});
  }

  void settings_are_found_and_get_the_keyboard() {
    auto* line = window_->findChild<QLineEdit*>("commandLine");
    for (const auto& [typed, field] :
         {std::pair("learning rate", "optimizer.learning_rate"), std::pair("microbatches", "schedule.microbatches")}) {
      QTest::keyClick(window_.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
      QTRY_VERIFY_WITH_TIMEOUT(line->isVisible(), patience);
      QTest::keyClicks(line, typed);
      QTest::keyClick(line, Qt::Key_Return);
      QTRY_COMPARE_WITH_TIMEOUT(QApplication::focusWidget() ? QApplication::focusWidget()->objectName() : QString(),
                                QString(field), patience);
    }
  }
};

REGISTER_WINDOW_TEST(CommandsTest)

}  // namespace commands_test

#include "commands_test.moc"
