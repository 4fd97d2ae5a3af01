#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTest>
#include <QTreeWidget>
#include <set>

#include "engine/base/units.h"
#include "engine/machine/chosen_machine.h"
#include "gui/look/appearance.h"
#include "gui/pages/memory_bars.h"
#include "gui/pages/memory_curve_view.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/memory_ways_out.h"
#include "gui/pages/stage_box.h"
#include "gui/search/search_page.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "tests/gui/painted_texts.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace memory_test {

using namespace shardscope;

namespace {

std::string dgx_h100_of(int64_t bytes) {
  return R"({"name": "dgx_h100", "device": {"memory_bytes": )" + std::to_string(bytes) + "}}";
}

}  // namespace

// The page Memory, with the real planner.
class MemoryTest : public WindowCase {
  Q_OBJECT

  MemoryPage* page() { return window_->findChild<MemoryPage*>(); }
  MemoryCurveView* curve() { return page()->curve(); }
  MemoryBars* bars() { return window_->findChild<MemoryBars*>(); }
  QString cell(int row, int column) { return page()->buffers()->model()->index(row, column).data().toString(); }

  void open(const RunConfig& config) {
    workspace().document.reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(workspace().planner.is_current(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(curve()->plan() == workspace().planner.plan() && curve()->is_settled(), patience);
  }

  void measure(const std::vector<int64_t>& arena_bytes) {
    HelloMessage hello;
    hello.plan_hash = plan().hash;
    hello.ranks = plan().mesh.device_count();
    hello.plan_steps = plan_step_names(plan());
    workspace().run.begin_replay(workspace().planner.plan());
    workspace().run.receive(hello);
    StepMessage step;
    step.metrics = {{"loss", 1.0}};
    for (size_t rank = 0; rank < arena_bytes.size(); ++rank) {
      RankMeasurement& measured = step.ranks.emplace_back();
      measured.rank = static_cast<int64_t>(rank);
      measured.arena_bytes = arena_bytes[rank];
    }
    workspace().run.receive(step);
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(compiled_plans(), made::small_gpt(1, 1, 1), {1280, 800});
    QVERIFY(window_->show_page("memory"));
  }

  void cleanup() { close_window(); }

  void the_ten_largest_buffers_are_those_at_the_peak_and_choosing_one_selects_array_and_step() {
    const QAbstractItemModelTester tester(page()->buffers()->model());
    open(made::small_gpt(2, 2, 2));
    const ArenaLayout& arena = plan().arenas[0];
    QVERIFY(curve()->is_at_peak());
    const std::vector<BufferUse> largest =
        largest_in_use(curve()->curve(), arena, curve()->curve().peak, MemoryBuffers::most);
    QCOMPARE(page()->buffers()->model()->rowCount(), 10);
    std::set<QString> kinds;
    bool array = false, step = false;
    for (int row = 0; row < 10; ++row) {
      const Buffer& buffer = arena.buffers[largest[size_t(row)].buffer];
      QCOMPARE(cell(row, MemoryBuffers::bytes_column),
               QString::fromStdString(bytes_text(double(largest[size_t(row)].bytes))));
      kinds.insert(cell(row, MemoryBuffers::category_column));
      workspace().selection.select_array({});
      workspace().selection.select_step(std::nullopt);
      page()->buffers()->setCurrentIndex({});
      page()->buffers()->setCurrentIndex(page()->buffers()->model()->index(row, 0));
      if (const Instruction* made = find_step(plan(), workspace().selection.step())) {
        QVERIFY(std::ranges::count(made->destinations(), buffer.value) == 1 || buffer.value < 0);
        step = true;
      } else {
        QVERIFY(buffer.persistent);
        QCOMPARE(cell(row, MemoryBuffers::maker_column), QString("stored"));
      }
      array |= is_array(workspace().selection.array());
    }
    QVERIFY(kinds.size() > 1 && array && step);
  }

  void no_label_of_the_curve_hides_another() {
    RunConfig config = made::small_gpt(2, 2, 2);
    config.machine = dgx_h100_of(int64_t{80} << 30);
    open(config);
    const double held = double(plan().totals.device_bytes);
    MemoryCurveView view(workspace());
    for (const double share : {0.6, 0.9, 0.98, 1.0, 1.02, 1.1, 1.6}) {
      config.machine = dgx_h100_of(int64_t(held * share));
      open(config);
      view.show();
      QTRY_VERIFY_WITH_TIMEOUT(view.plan() == workspace().planner.plan() && view.is_settled(), patience);
      for (const QSize size : {QSize(240, 120), QSize(380, 160), QSize(640, 300), QSize(1400, 260)}) {
        view.resize(size);
        for (const double span : {1.0, 0.3, 0.05}) {
          const double peak = view.curve().peak + 0.5, seen = span * view.seconds();
          view.show_window(peak - 0.2 * seen, peak + 0.8 * seen);
          QPicture picture;
          QPainter painter(&picture);
          view.render(&painter, {}, {}, QWidget::DrawChildren);
          painter.end();
          const TextsOf texts(picture);
          const QString where =
              QString("%1 of it, %2 x %3, %4").arg(share).arg(size.width()).arg(size.height()).arg(span);
          if (size.width() >= 640)
            QVERIFY2(texts.has("peak ") && texts.has("a device has ") && texts.has("arena "), qPrintable(where));
          for (const PaintedText& label : texts.list()) {
            for (const PaintedText& other : texts.list()) {
              const QRectF both = label.place.adjusted(1, 3, -1, -3) & other.place.adjusted(1, 3, -1, -3);
              QVERIFY2(&label == &other || both.isEmpty(), qPrintable(where + ": " + label.text + ", " + other.text));
            }
          }
        }
      }
    }
  }

  void a_position_that_is_cut_ends_in_an_ellipsis_and_its_tip_has_all_of_it() {
    open(made::small_gpt(2, 2, 2));
    auto* position = page()->findChild<QLabel*>("memoryPosition");
    for (const int width : {60, 2000}) {
      position->resize(width, position->height());
      QPicture picture;
      QPainter painter(&picture);
      position->render(&painter, {}, {}, QWidget::DrawChildren);
      painter.end();
      const TextsOf texts(picture);
      QCOMPARE(texts.list().size(), size_t{1});
      const PaintedText& shown = texts.list().front();
      QVERIFY(shown.place.right() <= width);
      QCOMPARE(is_cut(shown.text), width < 2000);
      QCOMPARE(shown.text == position->text(), width == 2000);
      QVERIFY(position->toolTip().startsWith("The largest at the peak: instruction "));
      QCOMPARE(position->toolTip(), position->text());
    }
  }

  void the_peak_is_marked_where_it_is() {
    open(made::small_gpt(2, 2, 2));
    const QRectF body = curve()->body();
    const double at = (curve()->curve().peak + 0.5 - curve()->begin()) / (curve()->end() - curve()->begin());
    const double peak = body.x() + at * body.width();
    const QImage image = curve()->grab().toImage();
    int marked = 0, elsewhere = 0, highest = image.height();
    for (int y = int(body.top()); y < int(body.bottom()); ++y)
      for (int x = int(body.left()); x < int(body.right()); ++x) {
        if (image.pixelColor(x, y) != theme().error) continue;
        if (std::abs(x + 0.5 - peak) > 6) {
          ++elsewhere;
          continue;
        }
        ++marked;
        highest = std::min(highest, y);
      }
    QVERIFY2(marked > 25, qPrintable(QString::number(marked)));
    QCOMPARE(elsewhere, 0);
    const auto [least, most] = std::ranges::minmax(curve()->curve().totals);
    QVERIFY(curve()->curve().totals[size_t(curve()->curve().peak)] == most && least < most);
  }

  void rows_are_said_to_be_the_first_only_where_there_are_more() {
    for (const int64_t devices : {64, 65, 128}) {
      RunConfig config = made::small_gpt(1, devices, 1);
      for (auto& [name, value] : config.data.options)
        if (name == "batch_size") value = devices;
      open(config);
      std::vector<int64_t> measured;
      for (int64_t device = 0; device < devices; ++device) measured.push_back(1000 + device);
      measure(measured);
      QTRY_COMPARE_WITH_TIMEOUT(bars()->rows().size(), size_t{64}, patience);
      QCOMPARE(bars()->title().contains("the first 64 rows"), devices > 64);
    }
  }

  void at_least_five_of_the_largest_buffers_are_seen_at_1280_by_800() {
    open(made::small_gpt(2, 2, 2));
    QTableView* table = page()->buffers();
    QTRY_VERIFY2_WITH_TIMEOUT(
        table->rowAt(table->viewport()->height() - 1) < 0 || table->rowAt(table->viewport()->height() - 1) >= 5,
        qPrintable(QString::number(table->viewport()->height())), patience);
  }

  void a_click_in_the_curve_chooses_its_step_and_p_goes_back_to_the_peak() {
    open(made::small_gpt(2, 2, 2));
    const QRectF body = curve()->body();
    QTest::mouseClick(curve(), Qt::LeftButton, {}, QPointF(body.x() + body.width() * 0.9, body.center().y()).toPoint());
    QVERIFY(!curve()->is_at_peak());
    const int position = curve()->position();
    QVERIFY(std::abs(position / double(plan().instructions().size()) - 0.9) < 0.01);
    QCOMPARE(workspace().selection.step(), std::optional(step_at(plan(), position)));
    QCOMPARE(cell(0, MemoryBuffers::bytes_column),
             QString::fromStdString(
                 bytes_text(double(largest_in_use(curve()->curve(), plan().arenas[0], position, 1).front().bytes))));
    QVERIFY(window_->findChild<QToolButton*>("memoryPeak")->isVisible());
    QTest::keyClick(curve(), Qt::Key_P);
    QVERIFY(curve()->is_at_peak());
    QVERIFY(!window_->findChild<QToolButton*>("memoryPeak")->isVisible());
  }

  void dragging_the_life_of_the_arena_pans_and_a_click_selects() {
    open(made::small_gpt(2, 2, 2));
    page()->show_arena(true);
    auto* life = window_->findChild<MemoryLife*>();
    const QPoint from = life->body().center().toPoint(), to = from - QPoint(60, 0);
    for (int i = 0; i < 6; ++i) QTest::keyClick(life, Qt::Key_Plus);
    QTest::mousePress(life, Qt::LeftButton, {}, from);
    QMouseEvent move(QEvent::MouseMove, to, life->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, {});
    QApplication::sendEvent(life, &move);
    QTest::mouseRelease(life, Qt::LeftButton, {}, to);
    QVERIFY(!selection().step());
    QTest::mouseClick(life, Qt::LeftButton, {}, from);
    const std::optional<StepRef> chosen = selection().step();
    QVERIFY(chosen);
    QTest::mouseDClick(life, Qt::LeftButton, {}, from - QPoint(200, 0));
    QTest::mouseRelease(life, Qt::LeftButton, {}, from - QPoint(200, 0));
    QCOMPARE(selection().step(), chosen);
  }

  void the_curve_of_a_pipeline_runs_through_every_microbatch_of_the_stage_that_is_shown() {
    open(made::piped_gpt(4, 1, 1, 4));
    for (const int device : {0, 1}) {
      workspace().selection.select_device(device);
      QTRY_VERIFY_WITH_TIMEOUT(curve()->is_settled(), patience);
      QCOMPARE(curve()->stage(), device);
      QCOMPARE(std::ssize(curve()->curve().totals), qsizetype(plan().instructions(device).size()));
      QVERIFY(plan().instructions(device).size() > plan().arenas[size_t(device)].length);
    }
    QVERIFY(page()->findChild<StageBox*>()->isVisible());
  }

  void devices_that_are_alike_are_one_row_and_one_that_measures_otherwise_has_its_own() {
    open(made::small_gpt(2, 4, 2));
    QCOMPARE(bars()->rows().size(), size_t{1});
    QCOMPARE(bars()->rows()[0].devices.size(), size_t{8});
    measure({100, 100, 100, 100, 100, 300, 100, 100});
    QTRY_COMPARE_WITH_TIMEOUT(bars()->rows().size(), size_t{2}, patience);
    QCOMPARE(bars()->rows()[1].devices, std::vector<int>({5}));
    QTest::keyClick(bars(), Qt::Key_Down);
    QTest::keyClick(bars(), Qt::Key_Down);
    QCOMPARE(workspace().selection.device(), std::optional(5));
    open(made::piped_gpt(4, 2, 1, 4));
    QCOMPARE(bars()->rows().size(), size_t{2});
    size_t devices = 0;
    for (const DeviceRow& row : bars()->rows()) {
      devices += row.devices.size();
      for (const int device : row.devices) QCOMPARE(plan().stage_of(device), row.stage);
    }
    QCOMPARE(devices, size_t{4});
  }

  void the_arena_is_a_click_away_and_the_legend_counts_the_same_bytes() {
    open(made::small_gpt(2, 2, 2));
    QTest::mouseClick(window_->findChild<QToolButton*>("memoryArena"), Qt::LeftButton);
    QVERIFY(window_->findChild<MemoryLife*>()->isVisible() && !curve()->isVisible());
    QTest::mouseClick(window_->findChild<QToolButton*>("memoryInUse"), Qt::LeftButton);
    QVERIFY(curve()->isVisible());
  }

  void a_run_file_with_a_stack_has_curve_and_buffers_of_the_stack() {
    RunConfig config = made::small_gpt(2, 2, 2);
    config.machine = machine_choice("dgx_h100");
    config.stack = "\"torchtitan\"";
    open(config);
    const PlanTotals& totals = plan().totals;
    QVERIFY(totals.allocator_bytes > 0);
    QCOMPARE(curve()->arena().bytes, totals.device_bytes);
    QCOMPARE(curve()->curve().totals[size_t(curve()->curve().peak)], totals.device_bytes - totals.allocator_bytes);
    const std::vector<BufferUse> largest =
        largest_in_use(curve()->curve(), curve()->arena(), curve()->curve().peak, MemoryBuffers::most);
    QCOMPARE(page()->buffers()->model()->rowCount(), int(largest.size()));
    for (int row = 0; row < std::ssize(largest); ++row) {
      QCOMPARE(cell(row, MemoryBuffers::bytes_column),
               QString::fromStdString(bytes_text(double(largest[size_t(row)].bytes))));
      QVERIFY(!cell(row, MemoryBuffers::name_column).isEmpty());
    }
    QVERIFY(!curve()->grab().isNull());
  }

  void a_plan_that_does_not_fit_offers_ways_out_each_of_which_is_one_undoable_edit() {
    RunConfig config = made::small_gpt(4, 1, 1);
    open(config);
    auto* ways = page()->findChild<MemoryWaysOut*>();
    QVERIFY(!ways->isVisible());
    config.machine = machine_choice("dgx_h100");
    open(config);
    const int64_t needed = plan().totals.device_bytes;
    config.machine = dgx_h100_of(needed - needed / 8);
    open(config);
    QVERIFY(ways->isVisible());
    QVERIFY2(ways->text().contains("Does not fit"), qPrintable(ways->text()));
    QTRY_VERIFY_WITH_TIMEOUT(workspace().findings.is_priced(), patience);
    QCOMPARE(window_->findChild<QTreeWidget*>("problems")->findItems("the heaviest device", Qt::MatchContains).size(),
             1);
    const auto& findings = workspace().findings.list();
    const auto found = std::ranges::find(findings, "memory", &Finding::rule);
    QVERIFY(found != findings.end() && found->fix && found->other_fixes.size() == 2);
    double last = 0;
    for (const Fix& other : found->other_fixes) {
      QCOMPARE(other.after.excess_bytes, int64_t{0});
      QVERIFY(other.after.seconds >= last);
      last = other.after.seconds;
    }
    const RunConfig chosen = found->other_fixes[1].config, before = document().config();
    emit ways->linkActivated("2");
    QVERIFY(document().config() == chosen);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(plan().totals.device_bytes <= plan().memory_limit_bytes);
    QVERIFY(!ways->isVisible());
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
  }

  void a_plan_that_does_not_fit_leads_to_a_search_on_enough_devices() {
    RunConfig config = load_preset("llama_tiny");
    config.machine = machine_choice("dgx_h100");
    open(config);
    const int64_t needed = plan().totals.device_bytes, devices = plan().mesh.device_count();
    config.machine = dgx_h100_of(needed / 3);
    open(config);
    auto* ways = page()->findChild<MemoryWaysOut*>();
    static const QRegularExpression link("href=\"(search:[0-9]+)\"");
    QStringList searches;
    for (auto match = link.globalMatch(ways->text()); match.hasNext();) searches << match.next().captured(1);
    QCOMPARE(searches, (QStringList{QString("search:%1").arg(devices), QString("search:%1").arg(4 * devices)}));
    const RunConfig before = document().config();
    emit ways->linkActivated(searches.last());
    const auto* search = window_->findChild<SearchPage*>();
    QVERIFY(search->isVisible() && search->search().is_running());
    QCOMPARE(search->search().wish().devices, 4 * devices);
    QVERIFY(document().config() == before);
  }
};

REGISTER_WINDOW_TEST(MemoryTest)

}  // namespace memory_test

#include "memory_test.moc"
