#include <QAbstractItemModelTester>
#include <QAction>
#include <QClipboard>
#include <QSlider>
#include <QStandardPaths>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include "gui/look/appearance.h"
#include "gui/pages/layout_page.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace replay_test {

using namespace shardscope;

// Who sends which piece to whom, from real plans.
class ReplayTest : public WindowCase {
  Q_OBJECT

  LayoutPage* page() { return window_->findChild<LayoutPage*>(); }
  ReplayView* replay() { return page()->replay(); }

  void plan_preset(const QString& name, const std::function<void(RunConfig&)>& change = {}) {
    RunConfig config = load_preset(name);
    if (change) change(config);
    window_->workspace().document.reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
  }

  // The first step of a kind among so many devices, or more.
  std::optional<StepRef> step_of(InstructionKind kind, int64_t least = 2) {
    for (const StepRef id : planner().index().collectives)
      if (find_step(plan(), id)->kind() == kind && find_step(plan(), id)->group_size() >= least) return id;
    return std::nullopt;
  }

  void open(StepRef step) {
    window_->workspace().select_step(step);
    window_->show_page("collectives");
    for (QAction* action : window_->findChildren<QAction*>())
      if (action->shortcut() == QKeySequence("Ctrl+Shift+R")) action->trigger();
    QVERIFY(replay()->isVisible());
    QVERIFY(replay()->replay());
  }

  void key(int key) { QTest::keyClick(replay(), Qt::Key(key)); }

 private slots:
  void initTestCase() { prepare(); }

  void init() { open_window(compiled_plans(), load_preset(default_preset), {1200, 800}); }

  void cleanup() { window_.reset(); }

  void every_step_that_communicates_can_be_replayed_and_its_pieces_are_the_bytes_of_the_plan() {
    QSet<int> kinds;
    for (const char* preset : {"parallax_decoder", "mintext_transformer", "tiny_lm_fsdp", "workshop_gpipe"})
      for (const LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
        plan_preset(preset, [mode](RunConfig& config) { config.sharding.mode = mode; });
        for (const StepRef id : planner().index().collectives) {
          const Instruction& instruction = *find_step(plan(), id);
          QVERIFY(can_replay(instruction));
          double sent = 0, devices = 0;
          for (int operand = 0;
               operand < std::ssize(instruction.kind() == InstructionKind::receive ? instruction.results()
                                                                                   : instruction.operands());
               ++operand) {
            const std::optional<Replay> made = make_replay(planner().plan(), id, operand);
            QVERIFY2(made, plan().instruction_name(instruction).c_str());
            const ReplayLeg& leg = made->legs[static_cast<size_t>(made->chosen_leg)];
            if (instruction.kind() != InstructionKind::receive) QVERIFY(leg.step == id);
            for (size_t next = 1; next < made->legs.size(); ++next)
              QVERIFY(made->legs[next].moves.move().before == made->legs[next - 1].moves.move().after);
            devices = 0;
            for (const int device : leg.devices) {
              devices += leg.moves.holds_before(device);
              for (int round = 0; round < leg.moves.rounds(); ++round)
                for (const MovedPiece& piece : leg.moves.out_of(device, round))
                  if (piece.to != device) sent += double(piece.elements() * byte_size(made->dtype));
            }
          }
          kinds.insert(int(instruction.kind()));
          const double said = instruction.kind() == InstructionKind::receive ? double(instruction.payload_bytes())
                                                                             : instruction.wire_bytes();
          if (instruction.kind() == InstructionKind::collective_permute) QVERIFY(sent <= said * devices + 1);
          else
            QVERIFY2(std::abs(sent - said * devices) <= 1e-6 * sent + 1, plan().instruction_name(instruction).c_str());
        }
      }
    for (const InstructionKind kind :
         {InstructionKind::all_gather, InstructionKind::all_reduce, InstructionKind::reduce_scatter,
          InstructionKind::send, InstructionKind::receive})
      QVERIFY2(kinds.contains(int(kind)), name(kind).data());
  }

  void a_narrow_page_shows_the_pieces_beneath_the_picture_and_the_picture_larger() {
    open(*step_of(InstructionKind::all_gather));
    auto* pieces = replay()->findChild<QTableView*>("replayPieces");
    const auto shares = [&](const QSize& size) {
      window_->resize(size);
      QCoreApplication::processEvents();
      const QRect picture = replay()->canvas()->geometry(), table = pieces->geometry();
      const bool is_beneath = table.top() > picture.bottom();
      const int drawn = is_beneath ? picture.height() : picture.width();
      return std::pair(is_beneath, drawn > (is_beneath ? table.height() : table.width()));
    };
    QCOMPARE(shares({1700, 1000}), std::pair(false, true));
    QCOMPARE(shares({900, 600}), std::pair(true, true));
    QCOMPARE(shares({1700, 1000}), std::pair(false, true));
  }

  void a_collective_selected_on_any_page_is_replayed_on_layout() {
    const std::optional<StepRef> step = step_of(InstructionKind::all_gather);
    QVERIFY(step);
    open(*step);
    const Replay& shown = *replay()->replay();
    QVERIFY(shown.legs[static_cast<size_t>(shown.chosen_leg)].step == *step);
    QVERIFY(replay()->findChild<QLabel*>("replayTitle")->text().startsWith("all-gather over"));
    key(Qt::Key_Escape);
    QVERIFY(page()->view()->isVisible());
    QVERIFY(!replay()->replay());
  }

  void what_moves_the_selected_array_is_offered_beside_it_and_without_it_the_offer_is_grey() {
    window_->show_page("layout");
    auto* offer = page()->findChild<QToolButton*>("replayOffer");
    const std::optional<StepRef> step = step_of(InstructionKind::all_gather);
    const ValueId moved = plan().program.values[find_step(plan(), *step)->operands()[0]].graph_value;
    bool is_offered = false, is_grey = false;
    for (const ParameterInfo& info : planner().parameters()) {
      selection().select_array(ParameterRef{info.path});
      const std::optional<ArrayFacts> facts = array_facts(window_->workspace(), selection().array());
      QCOMPARE(offer->isEnabled(), !collectives_of(planner(), *facts).empty());
      is_grey |= !offer->isEnabled();
      if (std::ranges::count(facts->graph_values, moved) == 0) continue;
      is_offered = true;
      offer->click();
      QVERIFY(replay()->isVisible());
    }
    QVERIFY(is_offered || is_grey);
  }

  void keys_step_play_and_go_to_the_ends() {
    open(*step_of(InstructionKind::all_gather, 4));
    QCOMPARE(replay()->tick(),
             double(replay()->replay()->legs[static_cast<size_t>(replay()->replay()->chosen_leg)].first_tick));
    key(Qt::Key_Home);
    QCOMPARE(replay()->tick(), 0.0);
    key(Qt::Key_Right);
    QCOMPARE(replay()->tick(), 1.0);
    key(Qt::Key_Right);
    key(Qt::Key_Left);
    QCOMPARE(replay()->tick(), 1.0);
    key(Qt::Key_End);
    QCOMPARE(replay()->tick(), double(replay()->replay()->ticks));
    key(Qt::Key_Space);  // from the beginning again
    QVERIFY(replay()->is_playing());
    QVERIFY(replay()->tick() < 1);
    replay()->advance(0.4);
    QVERIFY(replay()->tick() > 0);
    replay()->advance(1000);
    QVERIFY(!replay()->is_playing());
    QCOMPARE(replay()->tick(), double(replay()->replay()->ticks));
    auto* slider = replay()->findChild<QSlider*>("replaySlider");
    slider->setValue(slider->maximum() / 2);
    QVERIFY(std::abs(replay()->tick() - replay()->replay()->ticks / 2.0) < 0.02);
  }

  void the_film_runs_by_itself_and_stops_where_it_is_paused() {
    open(*step_of(InstructionKind::all_gather, 4));
    const QAbstractItemModelTester tester(replay()->list());
    key(Qt::Key_Home);
    key(Qt::Key_Space);
    QVERIFY(replay()->is_playing());
    QTRY_VERIFY_WITH_TIMEOUT(replay()->tick() > 0.05, patience);
    const double first = replay()->tick();
    QTRY_VERIFY_WITH_TIMEOUT(replay()->tick() > first, patience);
    key(Qt::Key_Space);
    QVERIFY(!replay()->is_playing());  // its timer alone moves the film
    for (int i = 0; i < 5; ++i) key(Qt::Key_BracketRight);
    key(Qt::Key_Space);
    QTRY_COMPARE_WITH_TIMEOUT(replay()->tick(), double(replay()->replay()->ticks), patience);
    QVERIFY(!replay()->is_playing());
    selection().select_device(1);
  }

  void a_faster_film_goes_farther_in_the_same_time() {
    open(*step_of(InstructionKind::all_gather));
    double before = 0;
    for (int speed = 0; speed < 4; ++speed) {
      key(Qt::Key_Home);
      for (int i = 0; i < 5; ++i) key(Qt::Key_BracketLeft);
      for (int i = 0; i < speed; ++i) key(Qt::Key_BracketRight);
      replay()->advance(0.1);
      QVERIFY(replay()->tick() > before);
      before = replay()->tick();
    }
  }

  void the_list_has_each_piece_that_moves_and_is_copied_with_exact_bytes() {
    open(*step_of(InstructionKind::all_gather));
    const Replay& shown = *replay()->replay();
    const ReplayLeg& leg = shown.legs[static_cast<size_t>(shown.chosen_leg)];
    int pieces = 0;
    for (const int device : leg.devices)
      for (int round = 0; round < leg.moves.rounds(); ++round)
        for (const MovedPiece& piece : leg.moves.into(device, round)) pieces += piece.from != device;
    QCOMPARE(replay()->list()->rowCount(), pieces);
    QTest::keySequence(replay(), QKeySequence::Copy);
    const QStringList lines = QGuiApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), pieces + 1);
    QCOMPARE(lines.front().split('\t').size(), int(ReplayList::columns));
    QVERIFY(lines[1].endsWith(" B"));
    selection().select_device(leg.devices.front());
    for (int row = 0; row < replay()->list()->rowCount(); ++row) {
      const auto number = [&](int column) { return replay()->list()->index(row, column).data().toInt(); };
      QVERIFY(number(ReplayList::from_column) == leg.devices.front() ||
              number(ReplayList::to_column) == leg.devices.front());
    }
    QVERIFY(replay()->list()->rowCount() < pieces);
  }

  void the_picture_changes_from_the_first_tick_to_the_last_and_comes_back() {
    open(*step_of(InstructionKind::all_gather));
    QList<QImage> seen;
    for (int tick = 0; tick <= replay()->replay()->ticks; ++tick) {
      replay()->set_tick(tick + 0.5 * (tick < replay()->replay()->ticks));
      const QImage image = replay()->canvas()->grab().toImage();
      QVERIFY(!seen.contains(image));
      seen << image;
    }
    replay()->set_tick(0.5);
    QCOMPARE(replay()->canvas()->grab().toImage(), seen.front());
  }

  void a_double_click_shows_all_and_chooses_no_other_device() {
    open(*step_of(InstructionKind::all_gather));
    ReplayCanvas* canvas = replay()->canvas();
    const auto device_at = [&](const QPoint& point) {
      for (int device = 0; device < plan().mesh.device_count(); ++device)
        if (canvas->device_rect(device).contains(point)) return device;
      return -1;
    };
    std::vector<std::pair<QPoint, int>> whole;
    for (int x = 0; x < canvas->width(); x += 5)
      for (int y = 0; y < canvas->height(); y += 5)
        if (const int device = device_at({x, y}); device >= 0) whole.emplace_back(QPoint(x, y), device);
    canvas->zoom(1.4);
    const auto is_other = [&](const auto& place) {
      const int near = device_at(place.first);
      return near >= 0 && near != place.second;
    };
    const auto found = std::ranges::find_if(whole, is_other);
    QVERIFY(found != whole.end());
    const QPoint at = found->first;
    QTest::mouseClick(canvas, Qt::RightButton, {}, at);
    QVERIFY(!selection().device());
    QTest::mouseClick(canvas, Qt::LeftButton, {}, at);
    const std::optional<int> chosen = selection().device();
    QVERIFY(chosen && *chosen != found->second);
    QTest::mouseDClick(canvas, Qt::LeftButton, {}, at);
    QCOMPARE(device_at(at), found->second);
    QTest::mouseRelease(canvas, Qt::LeftButton, {}, at);
    QCOMPARE(selection().device(), chosen);
  }

  void a_replay_of_16384_devices_shows_what_one_of_them_gives_and_gets() {
    plan_preset(default_preset, [](RunConfig& config) {
      config.mesh_axes = {{"data", 64}, {"model", 2}, {"more", 128}};
    });
    for (const StepRef id : planner().index().collectives) {
      const std::optional<Replay> made = make_replay(planner().plan(), id, 0);
      QVERIFY(made);
      for (const ReplayLeg& leg : made->legs) {
        const std::vector<TimedPiece> pieces = pieces_of(leg, 7);
        QVERIFY(!pieces.empty());
        QVERIFY(std::ssize(pieces) <= 4 * std::max(4096, plan().mesh.device_count()));
        for (const TimedPiece& piece : pieces) QVERIFY(piece.turn < leg.turns && piece.round < leg.moves.rounds());
      }
    }
    open(planner().index().collectives.front());
    replay()->set_tick(0.5);
    replay()->canvas()->grab();
  }

  void another_array_or_plan_ends_a_replay() {
    open(*step_of(InstructionKind::all_gather));
    set_axis_size(window_->workspace().document, 0, 2);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(!replay()->replay());
    open(*step_of(InstructionKind::all_gather));
    window_->show_page("memory");
    QVERIFY(!replay()->replay());
  }
};

REGISTER_WINDOW_TEST(ReplayTest)

}  // namespace replay_test

#include "replay_test.moc"
#include "tests/gui/window_case.h"
