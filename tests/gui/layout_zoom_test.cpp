#include <QCompleter>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>
#include <QWheelEvent>

#include "gui/document/edits.h"
#include "gui/look/appearance.h"
#include "gui/pages/layout_page.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace layout_zoom_test {

using namespace shardscope;

// The two pictures of the page Layout, enlarged and moved; pages and constraints.
class LayoutZoomTest : public WindowCase {
  Q_OBJECT

  LayoutPage* page() { return window_->findChild<LayoutPage*>(); }
  LayoutView* view() { return page()->view(); }

  void wheel(const QPointF& at, int notches) {
    QWheelEvent event(at, view()->mapToGlobal(at), {}, {0, notches * 120}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(view(), &event);
  }

  void drag(const QPoint& from, const QPoint& by) {
    QTest::mousePress(view(), Qt::LeftButton, {}, from);
    for (const int part : {1, 2}) {
      QMouseEvent move(QEvent::MouseMove, from + by * part / 2, view()->mapToGlobal(from + by * part / 2), Qt::NoButton,
                       Qt::LeftButton, {});
      QApplication::sendEvent(view(), &move);
    }
    QTest::mouseRelease(view(), Qt::LeftButton, {}, from + by);
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(made::source(), made::config(), {1300, 800});
    window_->show_page("layout");
    selection().select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
  }

  void cleanup() { close_window(); }

  void the_wheel_enlarges_the_picture_under_the_cursor_about_the_cursor_and_the_other_stays() {
    set_mesh_axes(document(), {{"data", 64}, {"model", 8}, {"more", 8}});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const int device = 30 * 64 + 4 * 8 + 4;  // about the middle of both
    for (const bool mesh : {true, false}) {
      const auto mine = [&] { return mesh ? view()->device_rect(device) : view()->shard_rect(device); };
      const auto other = [&] { return mesh ? view()->shard_rect(device) : view()->device_rect(device); };
      const QRectF before = mine(), still = other();
      wheel(before.center(), 3);
      const QRectF after = mine();
      QVERIFY(after.width() > before.width() * 1.5);
      // Where the picture still has room, it stays in the middle.
      const QPointF moved = after.center() - before.center();
      QVERIFY2(std::min(std::abs(moved.x()), std::abs(moved.y())) < 0.01,
               qPrintable(QString("%1, %2").arg(moved.x()).arg(moved.y())));
      QCOMPARE(other(), still);
      wheel(before.center(), -30);
      QCOMPARE(mine(), before);
    }
  }

  void an_enlarged_picture_is_dragged_and_a_drag_selects_nothing() {
    wheel(view()->shard_rect(0).center(), 4);
    const QRectF before = view()->shard_rect(0);
    drag(view()->array_room().center().toPoint(), {-60, -40});
    QVERIFY(view()->shard_rect(0) != before);
    QVERIFY(view()->shard_rect(0).x() < before.x());
    QVERIFY(!selection().device());
    QTest::mouseDClick(view(), Qt::LeftButton, {}, view()->array_room().center().toPoint());
    QVERIFY(view()->array_room().adjusted(-1, -1, 1, 1).contains(view()->shard_rect(0)));
    QVERIFY(!selection().device());
  }

  void an_array_that_goes_while_its_mesh_is_dragged_takes_the_drag_with_it() {
    for (int i = 0; i < 3; ++i) wheel(view()->mesh_room().center(), 2);
    const QPoint from = view()->mesh_room().center().toPoint();
    QTest::mousePress(view(), Qt::LeftButton, {}, from);
    selection().select_array({});
    for (const int by : {10, 20}) {
      const QPoint to = from + QPoint(by, by);
      QMouseEvent move(QEvent::MouseMove, to, view()->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, {});
      QApplication::sendEvent(view(), &move);
    }
    QTest::mouseRelease(view(), Qt::LeftButton, {}, from);
    QVERIFY(!selection().device());
  }

  void hovering_a_device_lights_it_and_selects_none() {
    QSignalSpy selected(&selection(), &Selection::deviceChanged), hovered(&selection(), &Selection::hoverChanged);
    const QImage before = view()->grab().toImage();
    QTest::mouseMove(view(), view()->device_rect(3).center().toPoint());
    QTRY_COMPARE_WITH_TIMEOUT(selection().hovered_device(), std::optional(3), patience);
    QCOMPARE(hovered.count(), 1);
    QCOMPARE(selected.count(), 0);
    QVERIFY(view()->grab().toImage() != before);
  }

  void keys_zoom_pan_and_show_all() {
    view()->setFocus();
    const QRectF whole = view()->device_rect(0);
    QTest::mouseClick(view(), Qt::LeftButton, {}, view()->device_rect(0).center().toPoint());
    QCOMPARE(selection().device(), std::optional(0));
    for (int i = 0; i < 3; ++i) QTest::keyClick(view(), Qt::Key_Plus);
    const QRectF near = view()->device_rect(0);
    QVERIFY(near.width() > whole.width() * 1.8);
    QTest::keyClick(view(), Qt::Key_Down, Qt::ControlModifier);
    QVERIFY(view()->device_rect(0).y() < near.y());
    QTest::keyClick(view(), Qt::Key_Minus);
    QVERIFY(view()->device_rect(0).width() < near.width());
    QTest::keyClick(view(), Qt::Key_0);
    QCOMPARE(view()->device_rect(0), whole);
  }

  void a_device_that_is_walked_to_is_in_sight() {
    set_mesh_axes(document(), {{"data", 64}, {"model", 8}, {"more", 8}});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    view()->setFocus();
    selection().select_device(70);
    const QRectF first = view()->device_rect(70);
    for (int i = 0; i < 12; ++i) QTest::keyClick(view(), Qt::Key_Plus);
    for (int i = 0; i < 30; ++i) QTest::keyClick(view(), Qt::Key_Right);
    const int reached = *selection().device();
    QVERIFY(reached != 70);
    QVERIFY(view()->device_rect(reached).width() > 3 * first.width());
    QVERIFY(view()->mesh_room().adjusted(-1, -1, 1, 1).contains(view()->device_rect(reached)));
    QTest::keyClick(view(), Qt::Key_0);
    QVERIFY(view()->device_rect(reached).x() > first.x() + 20 * first.width());
    QVERIFY(std::abs(view()->device_rect(reached).y() - first.y()) < 1e-6);
  }

  void the_devices_of_any_mesh_use_the_space_that_there_is() {
    for (const std::vector<MeshAxis>& axes : std::vector<std::vector<MeshAxis>>{
             {{"data", 64}, {"model", 8}, {"more", 8}}, {{"data", 64}, {"model", 8}, {"more", 32}}}) {
      set_mesh_axes(document(), axes);
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      QRectF hull;
      for (int device = 0; device < planner().plan()->mesh.device_count(); ++device)
        hull |= view()->device_rect(device);
      QVERIFY(view()->mesh_room().adjusted(-1, -1, 1, 1).contains(hull));
      QVERIFY2(hull.width() > 0.9 * view()->mesh_room().width() || hull.height() > 0.9 * view()->mesh_room().height(),
               "neither side is filled");
      QVERIFY(hull.width() > 150 && hull.height() > 100);
    }
  }

  void a_slider_pins_a_page_of_an_array_of_three_dimensions() {
    document().reset(made::config(), {});
    RunConfig config = made::config();
    config.sharding.parameters[1].spec.dims = {{"data"}, {"model"}, {}};
    document().reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    selection().select_array(ParameterRef{{"params", "Attention_0", "query", "kernel"}});
    QVERIFY(page()->pins()->isVisible());
    for (int device = 0; device < 8; ++device) QVERIFY(!view()->shard_rect(device).isEmpty());
    page()->pins()->slider(0)->setValue(200);  // of 512 over four: the second
    for (int device = 0; device < 8; ++device)
      QCOMPARE(view()->shard_rect(device).isEmpty(), planner().plan()->mesh.coordinate(device, 0) != 1);
    view()->grab();
    page()->pins()->slider(0)->setValue(-1);
    for (int device = 0; device < 8; ++device) QVERIFY(!view()->shard_rect(device).isEmpty());
    selection().select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
    QVERIFY(!page()->pins()->isVisible());
  }

  void an_activation_is_found_by_its_name_and_constrained_in_the_run_file() {
    auto* picker = page()->findChild<LayoutArrayPicker*>();
    picker->setFocus();
    QVERIFY(picker->completer()->model()->rowCount() > 3);
    QVERIFY(picker->pick("tokens"));
    QVERIFY(std::holds_alternative<ValueRef>(selection().array()));
    auto* constraint = page()->findChild<LayoutConstraint*>();
    QVERIFY(constraint->isVisible());
    const auto type = [&](const QString& text) {
      constraint->field()->setFocus();
      constraint->field()->selectAll();
      QTest::keyClicks(constraint->field(), text);
      QTest::keyClick(constraint->field(), Qt::Key_Return);
    };
    type("P('data', 'nonsense'");
    QVERIFY(constraint->field()->property("invalid").toBool());
    QVERIFY(document().config().sharding.constraints.empty());
    type("P('data', None)");
    const std::vector<Constraint> expected{{"tokens", {{{"data"}, {}}}}};
    QVERIFY(document().config().sharding.constraints == expected);
    QVERIFY(!constraint->field()->property("invalid").toBool());
    document().undo_stack().undo();
    QVERIFY(document().config().sharding.constraints.empty());
    document().undo_stack().redo();
    constraint->findChild<QPushButton*>("constraintRemove")->click();
    QVERIFY(document().config().sharding.constraints.empty());
  }

  void what_is_being_typed_stays_when_a_plan_comes_and_escape_gives_it_up() {
    QVERIFY(page()->findChild<LayoutArrayPicker*>()->pick("tokens"));
    QLineEdit* field = page()->findChild<LayoutConstraint*>()->field();
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, "P('da");
    set_axis_size(document(), 0, 2);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(field->text(), QString("P('da"));
    QTest::keyClicks(field, "ta')");
    QTest::keyClick(field, Qt::Key_Return);
    const std::vector<Constraint> expected{{"tokens", {{{"data"}}}}};
    QVERIFY(document().config().sharding.constraints == expected);
    QTest::keyClicks(field, "x");
    QTest::keyClick(field, Qt::Key_Escape);
    QCOMPARE(field->text(), QString("P('data',)"));
    field->selectAll();
    QTest::keyClick(field, Qt::Key_Delete);
    QTest::keyClick(field, Qt::Key_Return);
    QVERIFY(document().config().sharding.constraints.empty());
  }
};

REGISTER_WINDOW_TEST(LayoutZoomTest)

}  // namespace layout_zoom_test

#include "layout_zoom_test.moc"
