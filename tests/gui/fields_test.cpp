#include <qtestspontaneevent.h>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QRadioButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QStandardPaths>
#include <QTest>
#include <QTreeView>
#include <QWheelEvent>
#include <algorithm>

#include "engine/compile/settings.h"
#include "gui/document/edits.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace fields_test {

using namespace shardscope;

// How the fields of the window take the mouse and the keyboard.
class FieldsTest : public WindowCase {
  Q_OBJECT

  QTreeView* tree() { return window_->findChild<QTreeView*>("parameterTree"); }
  SettingsPanel* settings() { return window_->findChild<SettingsPanel*>(); }

  // A notch of the wheel, as the person turns it over a widget.
  static void turn_wheel(QWidget* widget, int notches) {
    const QPoint at = widget->rect().center();
    QWheelEvent wheel(at, widget->mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
    QSpontaneKeyEvent::setSpontaneous(&wheel);
    qApp->notify(widget, &wheel);  // sendEvent() would make it one of the program
  }

  void show_settings() {
    auto* dock = window_->findChild<QDockWidget*>("settings");
    dock->show();
    dock->raise();
    QTRY_VERIFY_WITH_TIMEOUT(settings()->isVisible(), patience);
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(made::source(), made::config());
    window_->workspace().selection.select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
  }

  void cleanup() { close_window(); }

  void a_value_that_the_model_decides_is_shown_as_it_is() {
    document().reset(
        with_settings(load_preset("llama_tiny"), {"model.overrides.torch_dtype=bfloat16", "data.sequence_length=0"}),
        {});
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    QVERIFY(planner().is_current());
    const auto* type = settings()->findChild<QComboBox*>("model.compute_dtype");
    QCOMPARE(type->currentIndex(), -1);
    QVERIFY2(type->placeholderText().startsWith("bf16"), qPrintable(type->placeholderText()));
    const int64_t tokens = array_facts(workspace(), InputRef{})->shape[1];
    const auto* length = settings()->findChild<QDoubleSpinBox*>("data.sequence_length");
    QVERIFY2(length->text().startsWith(QLocale().toString(qlonglong(tokens))), qPrintable(length->text()));
    set_option(document(), OptionGroup::model, "compute_dtype", std::string("f32"));
    QCOMPARE(type->currentText(), QString("f32"));
  }

  void the_wheel_over_a_field_without_the_keyboard_edits_nothing() {
    show_settings();
    QList<QWidget*> fields;
    for (auto* field : window_->findChildren<QAbstractSpinBox*>()) fields << field;
    for (auto* field : window_->findChildren<QComboBox*>()) fields << field;
    QVERIFY(fields.size() >= 10);
    tree()->setFocus();
    const auto* phase = window_->findChild<QComboBox*>("phase");
    for (QWidget* field : fields)
      for (const int notches : {-1, 1, -1}) {
        turn_wheel(field, notches);
        QCOMPARE(phase->currentIndex(), 0);
        QVERIFY2(document().config() == made::config(), qPrintable(field->objectName()));
        QVERIFY2(!field->hasFocus(), qPrintable(field->objectName()));
      }
  }

  void the_wheel_over_a_field_without_the_keyboard_scrolls_its_panel() {
    show_settings();
    window_->resize(900, 600);
    auto* area = settings()->findChild<QScrollArea*>();
    QTRY_VERIFY_WITH_TIMEOUT(area->verticalScrollBar()->isVisible(), patience);
    tree()->setFocus();
    turn_wheel(settings()->findChild<QDoubleSpinBox*>("steps"), -1);
    QVERIFY(area->verticalScrollBar()->value() > 0);
  }

  void the_wheel_over_the_field_that_has_the_keyboard_edits() {
    QSpinBox* data = window_->mesh_bar()->field(0);
    data->setFocus();
    turn_wheel(data, -1);
    QCOMPARE(document().config().mesh_axes[0].size, int64_t{3});
  }

  void undo_and_redo_are_the_documents_while_a_field_has_the_keyboard() {
    show_settings();
    QSpinBox* data = window_->mesh_bar()->field(0);
    auto* steps = settings()->findChild<QDoubleSpinBox*>("steps");
    auto* rate = settings()->findChild<QLineEdit*>("optimizer.learning_rate");
    for (QWidget* field : {static_cast<QWidget*>(data), static_cast<QWidget*>(steps), static_cast<QWidget*>(rate)}) {
      field->setFocus();
      QVERIFY(field->hasFocus());
      QMetaObject::invokeMethod(field, "selectAll");
      QTest::keyClicks(field, "2");
      const RunConfig edited = document().config();
      QVERIFY(edited != made::config());
      QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier);
      QVERIFY2(document().config() == made::config(), qPrintable(field->objectName()));
      QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier);  // nothing more to undo
      QVERIFY2(document().config() == made::config(), qPrintable(field->objectName()));
      QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
      QVERIFY2(document().config() == edited, qPrintable(field->objectName()));
      QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier);
    }
  }

  void options_that_the_file_does_not_name_are_fields_too() {
    show_settings();
    auto* schedule = settings()->findChild<QComboBox*>("optimizer.schedule");
    QVERIFY(schedule && schedule->toolTip().contains("Optax"));
    QCOMPARE(schedule->currentText(), QString("constant"));
    QVERIFY(!settings()->findChild<QWidget*>("optimizer.warmup_steps"));  // nothing to a constant rate
    schedule->setFocus();
    schedule->setCurrentText("warmup_cosine_decay");
    emit schedule->textActivated(schedule->currentText());
    QCOMPARE(*document().config().optimizer.find("schedule"), OptionValue(std::string("warmup_cosine_decay")));
    QTRY_VERIFY_WITH_TIMEOUT(settings()->findChild<QDoubleSpinBox*>("optimizer.warmup_steps"), patience);
    auto* warmup = settings()->findChild<QDoubleSpinBox*>("optimizer.warmup_steps");
    warmup->setValue(7);
    QCOMPARE(*document().config().optimizer.find("warmup_steps"), OptionValue(int64_t{7}));
    QCOMPARE(settings()->findChild<QDoubleSpinBox*>("optimizer.warmup_steps"), warmup);
    while (document().undo_stack().canUndo()) document().undo_stack().undo();
    QVERIFY(document().config() == made::config());
    QTRY_VERIFY_WITH_TIMEOUT(!settings()->findChild<QWidget*>("optimizer.warmup_steps"), patience);
  }

  void a_list_of_texts_is_one_field_and_stays_as_it_is_typed() {
    RunConfig listed = made::config();
    listed.model.options.emplace_back("layers", TextList{"linear 8", "relu"});
    document().reset(listed, {});
    show_settings();
    QTRY_VERIFY_WITH_TIMEOUT(settings()->findChild<QLineEdit*>("model.layers"), patience);
    auto* layers = settings()->findChild<QLineEdit*>("model.layers");
    QCOMPARE(layers->text(), QString("linear 8, relu"));
    layers->setFocus();
    layers->end(false);
    QTest::keyClicks(layers, ", linear 2, ");
    QCOMPARE(layers->text(), QString("linear 8, relu, linear 2, "));
    QCOMPARE(*document().config().model.find("layers"), OptionValue(TextList{"linear 8", "relu", "linear 2"}));
    QTest::keyClick(layers, Qt::Key_Return);
    tree()->setFocus();
    emit layers->editingFinished();
    QCOMPARE(layers->text(), QString("linear 8, relu, linear 2"));
  }

  void what_is_made_again_is_a_list_with_commas_that_stays_as_it_is() {
    for (const auto& [pattern, shown] :
         std::vector<std::pair<std::string, QString>>{{"full", "full"},
                                                      {"{mlp,**/ln1/**}", "mlp, **/ln1/**"},
                                                      {"{a/{b,c},d}", "a/{b,c}, d"},
                                                      {"a,b", "a,b"},
                                                      {"{a, b}", "{a, b}"},
                                                      {"{a,b}/c", "{a,b}/c"}}) {
      RunConfig config = made::config();
      config.schedule.rematerialise = pattern;
      document().reset(config, {});
      show_settings();
      QTRY_VERIFY_WITH_TIMEOUT(settings()->findChild<QComboBox*>("schedule.rematerialise"), patience);
      auto* box = settings()->findChild<QComboBox*>("schedule.rematerialise");
      QTRY_COMPARE_WITH_TIMEOUT(box->currentText(), shown, patience);
      emit box->lineEdit()->editingFinished();
      QVERIFY2(document().config() == config, qPrintable(shown));
      box->setCurrentText(shown + ", **/gelu");
      emit box->lineEdit()->editingFinished();
      if (pattern == "full") QCOMPARE(document().config().schedule.rematerialise, std::string("{full,**/gelu}"));
      if (pattern == "{mlp,**/ln1/**}")
        QCOMPARE(document().config().schedule.rematerialise, std::string("{mlp,**/ln1/**,**/gelu}"));
      QCOMPARE(written_pattern(box->currentText()), document().config().schedule.rematerialise);
    }
  }

  void enter_ends_an_edit() {
    QSpinBox* data = window_->mesh_bar()->field(0);
    data->setFocus();
    for (const char* size : {"2", "1"}) {
      data->selectAll();
      QTest::keyClicks(data, size);
      QTest::keyClick(data, Qt::Key_Return);
    }
    QCOMPARE(document().undo_stack().count(), 2);
    QTest::keyClick(data, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(document().config().mesh_axes[0].size, int64_t{2});
    show_settings();
    auto* steps = settings()->findChild<QDoubleSpinBox*>("steps");
    steps->setFocus();
    for (const char* count : {"7", "9"}) {
      steps->selectAll();
      QTest::keyClicks(steps, count);
      QTest::keyClick(steps, Qt::Key_Return);
    }
    QTest::keyClick(steps, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(document().config().steps, int64_t{7});
  }

  void the_message_below_a_spec_is_that_of_the_text_above_it() {
    auto* field = window_->findChild<QWidget*>("inspector")->findChild<QLineEdit*>("specField");
    const auto* message = window_->findChild<QLabel*>("specError");
    const auto type = [&](const QString& text) {
      field->setFocus();
      field->selectAll();
      QTest::keyClicks(field, text);
    };
    type("P('nowhere', None)");
    QTest::keyClick(field, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(message->isVisible() && message->text().contains("nowhere"), patience);
    for (const char* wrong : {"P('data'", "P('data', ", "x"}) {
      type(wrong);
      QVERIFY2(!message->text().contains("nowhere"), qPrintable(message->text()));
      QVERIFY2(
          message->isVisible() && message->text().contains(spec_fault(wrong).toHtmlEscaped().replace("\n", "<br>")),
          qPrintable(message->text()));
    }
    QTest::keyClick(field, Qt::Key_Escape);
    QVERIFY(message->text().contains("nowhere"));
    document().undo_stack().undo();
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current() && message->isHidden(), patience);
  }

  void choices_that_are_illegal_cannot_be_reached_with_the_keyboard() {
    QComboBox* rows = window_->inspector()->spec_editor()->field(0);
    QCOMPARE(rows->currentText(), QString("'data'"));
    rows->setFocus();
    QSet<QString> reached;
    for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Down, Qt::Key_End, Qt::Key_Home, Qt::Key_Up, Qt::Key_Down}) {
      QTest::keyClick(rows, key);
      reached << rows->currentText();
    }
    QTest::keyClicks(rows, "model");
    reached << rows->currentText();
    QCOMPARE(reached, QSet<QString>({"None", "'data'"}));  // the other dimension has "model"
    QVERIFY(!rows->itemData(rows->findText("'model'"), Qt::ToolTipRole).toString().isEmpty());
    for (const auto& [letter, text] : {std::pair('n', "None"), std::pair('d', "'data'"), std::pair('N', "None")}) {
      QTest::keyClick(rows, letter);
      QCOMPARE(rows->currentText(), QString(text));
    }
  }

  void an_editor_closes_when_another_row_is_chosen_or_the_keyboard_goes_elsewhere() {
    const auto editor = [this] { return tree()->findChild<SpecEditor*>(); };
    const auto open = [&] {
      tree()->setFocus();
      QTest::keyClick(tree(), Qt::Key_F2);
      QVERIFY(editor() && editor()->isVisible());
    };
    open();
    window_->workspace().selection.select_array(ParameterRef{{"params", "Dense_0", "bias"}});
    QTRY_VERIFY_WITH_TIMEOUT(!editor(), patience);
    open();
    window_->mesh_bar()->field(0)->setFocus();
    QTRY_VERIFY_WITH_TIMEOUT(!editor(), patience);
  }

  void shapes_are_seen_beside_names_and_specs_in_a_panel_a_little_wider() {
    close_window();
    open_window(compiled_plans(), load_preset(default_preset), {1280, 800});
    window_->resizeDocks({window_->findChild<QDockWidget*>("parameters")}, {440}, Qt::Horizontal);
    const QHeaderView& header = *tree()->header();
    const auto end_of = [&](int column) { return header.sectionViewportPosition(column) + header.sectionSize(column); };
    QTRY_VERIFY_WITH_TIMEOUT(tree()->viewport()->width() > 400, patience);
    QTRY_VERIFY_WITH_TIMEOUT(end_of(ParameterModel::shape_column) <= tree()->viewport()->width(), patience);
    QVERIFY(!planner().parameters().empty());
    for (const ParameterInfo& parameter : planner().parameters()) {
      workspace().selection.select_array(ParameterRef{parameter.path});
      const QModelIndex name = tree()->currentIndex().siblingAtColumn(ParameterModel::name_column);
      QVERIFY(name.data(Qt::ToolTipRole).toString().endsWith(QString::fromStdString(parameter.path.back())));
      const QString shape = name.siblingAtColumn(ParameterModel::shape_column).data().toString();
      QVERIFY(!shape.isEmpty());
      QVERIFY(tree()->fontMetrics().horizontalAdvance(shape) < tree()->columnWidth(ParameterModel::shape_column));
      const int room = tree()->columnWidth(ParameterModel::name_column) - tree()->visualRect(name).left();
      QVERIFY(room > tree()->fontMetrics().horizontalAdvance("kernel"));
    }
  }

  void the_columns_fit_the_panel_whatever_its_width() {
    close_window();
    open_window(compiled_plans(), load_preset("mixtral_tiny"), {1600, 800});
    auto* dock = window_->findChild<QDockWidget*>("parameters");
    int seen = 0;
    for (const int width : {220, 250, 300, 400, 500, 600, 700, 900}) {
      window_->resizeDocks({dock}, {width}, Qt::Horizontal);
      QTRY_VERIFY_WITH_TIMEOUT(std::abs(dock->width() - width) < 10, patience);
      QTRY_VERIFY_WITH_TIMEOUT(tree()->header()->length() <= tree()->viewport()->width(), patience);
      QCOMPARE(tree()->horizontalScrollBar()->maximum(), 0);
      const int shown = ParameterModel::columns - tree()->header()->hiddenSectionCount();
      QVERIFY(shown >= 2 && shown >= seen);
      QVERIFY(!tree()->isColumnHidden(ParameterModel::name_column));
      QVERIFY(!tree()->isColumnHidden(ParameterModel::spec_column));
      seen = shown;
    }
    QCOMPARE(seen, int{ParameterModel::columns});
    window_->resizeDocks({dock}, {300}, Qt::Horizontal);
    QTRY_VERIFY_WITH_TIMEOUT(tree()->isColumnHidden(ParameterModel::dtype_column), patience);
    tree()->header()->resizeSection(ParameterModel::name_column, 120);  // by hand
    QCOMPARE(tree()->header()->hiddenSectionCount(), 0);
  }

  void names_deep_in_the_tree_are_whole_beside_their_specs_in_a_small_window() {
    close_window();
    open_window(compiled_plans(), load_preset("mixtral_tiny"), {1280, 800});
    const QHeaderView& header = *tree()->header();
    const auto are_whole = [&] {
      for (const ParameterInfo& parameter : planner().parameters()) {
        workspace().selection.select_array(ParameterRef{parameter.path});
        const QRect place = tree()->visualRect(tree()->currentIndex().siblingAtColumn(ParameterModel::name_column));
        const int name = tree()->fontMetrics().horizontalAdvance(QString::fromStdString(parameter.path.back()));
        if (name >= place.width()) return false;
      }
      const int spec = ParameterModel::spec_column;
      return header.sectionViewportPosition(spec) + header.sectionSize(spec) <= tree()->viewport()->width();
    };
    QTRY_VERIFY_WITH_TIMEOUT(are_whole(), patience);
    const int wide = header.sectionSize(ParameterModel::name_column);
    workspace().selection.select_array(InputRef{});
    tree()->collapseAll();
    window_->resize(1280, 780);
    QTRY_VERIFY_WITH_TIMEOUT(header.sectionSize(ParameterModel::name_column) < wide, patience);
    const auto length = [](const ParameterInfo& parameter) { return parameter.path.back().size(); };
    const auto longest = std::ranges::max_element(planner().parameters(), {}, length);
    workspace().selection.select_array(ParameterRef{longest->path});  // expands its groups
    QTRY_COMPARE_WITH_TIMEOUT(header.sectionSize(ParameterModel::name_column), wide, patience);
    QTRY_VERIFY_WITH_TIMEOUT(are_whole(), patience);
  }

  void f2_edits_the_spec_from_any_column_and_its_width_stays_meanwhile() {
    const QModelIndex row = tree()->currentIndex();
    for (const int column : {ParameterModel::name_column, ParameterModel::shape_column, ParameterModel::spec_column}) {
      tree()->setFocus();
      tree()->setCurrentIndex(row.siblingAtColumn(column));
      QTest::keyClick(tree(), Qt::Key_F2);
      auto* editor = tree()->findChild<SpecEditor*>();
      QVERIFY(editor);
      const int width = tree()->columnWidth(ParameterModel::spec_column);
      QTest::keyClick(editor->field(0), column == ParameterModel::shape_column ? Qt::Key_Down : Qt::Key_Up);
      QTRY_VERIFY_WITH_TIMEOUT(window_->workspace().planner.is_current(), patience);
      QCOMPARE(tree()->columnWidth(ParameterModel::spec_column), width);
      tree()->setFocus();
      QTRY_VERIFY_WITH_TIMEOUT(!tree()->findChild<SpecEditor*>(), patience);
    }
  }

  void escape_clears_the_filter_and_no_match_is_said() {
    auto* filter = window_->findChild<QLineEdit*>("filter");
    auto* nothing = window_->findChild<QLabel*>("noMatch");
    for (QWidget* taken : {static_cast<QWidget*>(filter), static_cast<QWidget*>(tree())}) {
      QTest::keySequence(window_.get(), QKeySequence::Find);
      QTRY_VERIFY_WITH_TIMEOUT(filter->hasFocus(), patience);
      QTest::keyClicks(filter, "nowhere");
      QCOMPARE(tree()->model()->rowCount(), 0);
      QVERIFY(nothing->isVisible() && nothing->text().contains("nowhere"));
      taken->setFocus();
      QTest::keyClick(taken, Qt::Key_Escape);
      QVERIFY(filter->text().isEmpty());
      QVERIFY(!nothing->isVisible());
      QCOMPARE(tree()->model()->rowCount(), 5);
      QVERIFY(tree()->currentIndex().isValid());
    }
  }

  void a_click_on_an_empty_place_takes_the_keyboard_from_a_field() {
    show_settings();
    QWidget* form = settings()->findChild<QScrollArea*>()->widget();
    QWidget* inspector = window_->inspector()->findChild<QScrollArea*>()->widget();
    for (QWidget* empty : {form, inspector}) {
      QSpinBox* data = window_->mesh_bar()->field(0);
      data->setFocus();
      QVERIFY(data->hasFocus());
      QTest::mouseClick(empty, Qt::LeftButton, {}, QPoint(empty->width() - 3, empty->height() - 3));
      QVERIFY(!data->hasFocus());
    }
  }

  void keys_of_the_window_are_its_own_while_a_line_of_text_has_the_keyboard() {
    QAction own("own", window_.get());
    int triggered = 0;
    own.setShortcut(QKeySequence::SelectAll);  // which every line takes, as it takes Ctrl+E on X11
    connect(&own, &QAction::triggered, [&] { ++triggered; });
    window_->addAction(&own);
    show_settings();
    const QList<QWidget*> fields{window_->mesh_bar()->field(0), settings()->findChild<QWidget*>("steps"),
                                 window_->findChild<QLineEdit*>("filter"), window_->inspector()->spec_field()};
    for (QWidget* field : fields) {
      window_->findChild<QDockWidget*>(field->objectName() == "filter" ? "parameters" : "settings")->raise();
      QTRY_VERIFY_WITH_TIMEOUT(field->isVisible(), patience);
      field->setFocus();
      QTest::keyClick(field, Qt::Key_A, Qt::ControlModifier);
    }
    QCOMPARE(triggered, fields.size());
  }

  void the_axis_of_the_pipeline_is_not_offered_for_arrays() {
    SpecEditor editor(SpecEditor::Form::compact);
    const std::vector<MeshAxis> axes{{"data", 2}, {"stages", 2}};
    editor.show_specs(axes, "", {{"kernel", {8, 8}, {}, {}, "here"}});
    QVERIFY(editor.field(0)->findText("'stages'") >= 0);
    editor.show_specs(axes, "stages", {{"kernel", {8, 8}, {}, {}, "here"}});
    QCOMPARE(editor.field(0)->findText("'stages'"), -1);
    QVERIFY(editor.field(0)->findText("'data'") >= 0);
  }

  void the_filter_takes_several_words_and_shows_the_first_hit() {
    RunConfig config = load_preset(default_preset);
    close_window();
    open_window(compiled_plans(), config, {900, 600});
    const auto* model = static_cast<const ParameterModel*>(tree()->model());
    selection().select_array(ParameterRef{planner().parameters().back().path});
    auto* filter = window_->findChild<QLineEdit*>("filter");
    filter->setFocus();
    QTest::keyClicks(filter, "kernel 0");
    int hits = 0;
    for (const ParameterInfo& info : planner().parameters()) {
      const QString path = name_of(ParameterRef{info.path});
      const bool is_hit = path.contains("kernel") && path.contains('0');
      hits += is_hit;
      QCOMPARE(model->index_of(ParameterRef{info.path}).isValid(), is_hit);
    }
    QVERIFY(hits > 1);
    QModelIndex first = model->index(0, 0);
    while (first.isValid() && model->rowCount(first) > 0) first = model->index(0, 0, first);
    QVERIFY(tree()->viewport()->rect().contains(tree()->visualRect(first).center()));
    QTest::keyClick(filter, Qt::Key_Return);
    QCOMPARE(tree()->currentIndex(), first);
    QVERIFY(tree()->hasFocus());
  }

  void radio_buttons_are_seen_in_every_theme() {
    for (const ThemeChoice choice : {ThemeChoice::light, ThemeChoice::dark}) {
      apply_theme(*qApp, choice);
      for (const bool checked : {false, true}) {
        QRadioButton button("mode");
        button.setChecked(checked);
        button.resize(button.sizeHint());
        QImage seen(button.size(), QImage::Format_RGB32);
        seen.fill(theme().base);
        button.render(&seen, {}, {}, QWidget::DrawChildren);
        int most = 0;
        for (int y = 0; y < seen.height(); ++y)
          for (int x = 0; x < 16; ++x)
            most = std::max(most, std::abs(qGray(seen.pixel(x, y)) - qGray(theme().base.rgb())));
        QVERIFY2(most > 60, qPrintable(QString("%1 %2").arg(int(choice)).arg(most)));
      }
    }
    apply_theme(*qApp, ThemeChoice::light);
  }
};

REGISTER_WINDOW_TEST(FieldsTest)

}  // namespace fields_test

#include "fields_test.moc"
