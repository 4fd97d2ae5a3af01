#include <QComboBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <tuple>

#include "engine/config/strategy.h"
#include "engine/search/conclusion.h"
#include "gui/compare/compare_page.h"
#include "gui/document/edits.h"
#include "gui/export/export_dialog.h"
#include "gui/search/search_form.h"
#include "gui/search/search_page.h"
#include "gui/window/presets.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace search_page_test {

using namespace shardscope;

// The page Search, with real searches and real events.
class SearchPageTest : public WindowCase {
  Q_OBJECT

  QTemporaryDir folder_;

  template <class Widget>
  Widget* find(const char* name) {
    return window_->findChild<Widget*>(name);
  }
  SearchPage& page() { return *find<SearchPage>("searchPage"); }
  const StrategySearch& search() { return page().search(); }
  FoundChart& chart() { return *find<FoundChart>("searchChart"); }
  QTableView& table() { return *find<QTableView>("searchTable"); }
  PinnedPlans& pins() { return window_->findChild<ComparePage*>()->pins(); }

  static RunConfig small_run() {
    RunConfig config = load_preset("llama_tiny");
    config.machine = "\"dgx_h100\"";
    config.mesh_axes = {{"data", 2}, {"model", 2}};
    return config;
  }

  void type(const char* field, const QString& text) {
    auto* line = find<QLineEdit>(field);
    QVERIFY2(line, field);
    line->setFocus();
    line->selectAll();
    QTest::keyClick(line, Qt::Key_Delete);
    QTest::keyClicks(line, text);
  }

  // Some dozen candidates.
  void fix_some() {
    type("search_pipeline", "1");
    type("search_microbatch_size", "2");
    auto* recompute = find<QComboBox>("search_recompute");
    recompute->setCurrentText("none");
  }

  void click_start() { QTest::mouseClick(find<QPushButton>("searchStart"), Qt::LeftButton); }

  void search_some() {
    fix_some();
    click_start();
    QTRY_VERIFY_WITH_TIMEOUT(!search().is_running() && search().result(), patience);
    QVERIFY2(search().errors().empty(), qPrintable(find<QLabel>("searchNone")->text()));
    QTRY_VERIFY_WITH_TIMEOUT(chart().isVisible(), patience);
    QTest::qWait(0);
  }

  int row_of(const QModelIndex& index) {
    return qobject_cast<QSortFilterProxyModel*>(table().model())->mapToSource(index).row();
  }
  const Found& found(int row) { return search().found().at(static_cast<size_t>(row)); }

  static QPoint at(const FoundChart& chart, int row) { return chart.place_of(row).toPoint(); }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(compiled_plans(), small_run(), {1280, 800});
    QVERIFY(window_->show_page("search"));
  }

  void cleanup() { close_window(); }

  void numbers_are_typed_as_one_as_lists_and_as_ranges() {
    const auto allows = [](const QString& text, std::initializer_list<int64_t> numbers) {
      const AllowedNumbers allowed = allowed_numbers(text);
      std::vector<int64_t> all;
      for (int64_t number = 0; number <= 20; ++number)
        if (allowed.allows(number)) all.push_back(number);
      return allowed.fault.isEmpty() && all == std::vector<int64_t>(numbers);
    };
    QVERIFY(allowed_numbers("").is_any() && allowed_numbers(" ").is_any());
    QVERIFY(allows("8", {8}));
    QVERIFY(allows("1, 2,4", {1, 2, 4}));
    QVERIFY(allows("2..4", {2, 3, 4}));
    QVERIFY(allows("..2, 19..", {0, 1, 2, 19, 20}));
    for (const char* wrong : {"x", "4..2", "1,,2", "..", "-1", "1.5", "99999999999"})
      QVERIFY2(!allowed_numbers(wrong).fault.isEmpty() && allowed_numbers(wrong).is_any(), wrong);
  }

  void the_front_is_that_of_the_search_and_nothing_else_changes() {
    const RunConfig before = document().config();
    const uint64_t hash = plan().hash;
    QSignalSpy planned(&planner(), &Planner::delivered);
    search_some();
    SearchRequest request;
    request.plan = plan_request(before);
    request.devices = 4;
    for (const char* text : {"pipeline=1", "microbatch_size=2", "recompute=none"}) fix(request.fixed, text);
    const SearchResult expected = shardscope::search(request);
    QVERIFY(expected.front.size() > 1);
    QCOMPARE(search().result()->gap, 0.0);
    QCOMPARE(search().front().size(), expected.front.size());
    for (size_t i = 0; i < expected.front.size(); ++i) {
      const Found& on_front = found(search().front()[i]);
      QVERIFY(on_front.candidate == expected.front[i].candidate);
      QCOMPARE(on_front.seconds, expected.front[i].seconds);
    }
    QCOMPARE(table().model()->rowCount(), static_cast<int>(search().found().size()));
    QCOMPARE(chart().shown().size(), search().found().size());
    QCOMPARE(planned.size(), 0);
    QCOMPARE(plan().hash, hash);
    QVERIFY(document().config() == before && !document().is_modified());
    QVERIFY(find<QLabel>("searchNote")->text().contains("Exact"));
  }

  void each_choice_of_the_form_is_a_value_of_fix_with_candidates() {
    const auto form = window_->findChild<SearchForm*>();
    int choices = 0;
    for (QComboBox* box : form->findChildren<QComboBox*>(QRegularExpression("^search_"))) {
      const std::string key = box->objectName().mid(7).toStdString();
      for (int choice = 0; choice < box->count(); ++choice) {
        box->setCurrentIndex(choice);
        const SearchRequest request = search_request(document().config(), form->wish());
        QCOMPARE(request.fixed.contains(key), choice > 0);
        QVERIFY(!candidates(model_limits(request.plan.config), 4, request.fixed).empty());
        for (const std::string& value : choice > 0 ? request.fixed.at(key) : std::vector<std::string>()) {
          FixedNumbers fixed;
          fix(fixed, key + "=" + value);
          ++choices;
        }
      }
      box->setCurrentIndex(0);
    }
    QCOMPARE(choices, static_cast<int>(recompute_policies().size()) + 2 + 3 + 2 + 3);
  }

  void a_click_selects_and_pins_a_second_one_takes_and_undo_gives_it_back() {
    const RunConfig before = document().config();
    search_some();
    const int row = search().front().back();
    QTest::mouseMove(chart().viewport(), at(chart(), row));
    QTRY_VERIFY_WITH_TIMEOUT(find<QLabel>("searchDetail")->text().contains(found_text(found(row)).left(20)), patience);
    const auto* click = chart().findChild<QTimer*>("click");  // until it cannot become a double click
    QTest::mouseClick(chart().viewport(), Qt::LeftButton, {}, at(chart(), row));
    QCOMPARE(row_of(table().currentIndex()), row);
    QVERIFY(click->isActive());
    QTRY_VERIFY_WITH_TIMEOUT(pins().any(), patience);
    QCOMPARE(pins().at(0)->plan->totals.seconds_per_step, found(row).seconds);
    QCOMPARE(pins().name(0), QString::fromStdString(text_of(found(row).candidate)));
    QVERIFY(document().config() == before);

    const int other = search().front().front();
    QTest::mouseDClick(chart().viewport(), Qt::LeftButton, {}, at(chart(), other));
    QVERIFY(document().config().strategy == found(other).candidate.strategy);
    QCOMPARE(document().undo_stack().count(), 1);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(plan().totals.seconds_per_step, found(other).seconds);
    QVERIFY(table().isEnabled());  // what was found still holds
    QVERIFY(!click->isActive() && !pins().at(1));
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
  }

  void keys_walk_the_points_pin_and_take() {
    search_some();
    chart().setFocus();
    QTest::keyClick(&chart(), Qt::Key_Right);
    const int fastest = row_of(table().currentIndex());
    for (const Found& each : search().found()) QVERIFY(each.seconds >= found(fastest).seconds);
    QTest::keyClick(&chart(), Qt::Key_Right);
    const int second = row_of(table().currentIndex());
    QVERIFY(second != fastest && found(second).seconds >= found(fastest).seconds);
    QTest::keyClick(&chart(), Qt::Key_Left);
    QCOMPARE(row_of(table().currentIndex()), fastest);
    QTest::keyClick(&chart(), Qt::Key_Down);
    QVERIFY(found(row_of(table().currentIndex())).memory_bytes <= found(fastest).memory_bytes);
    QTest::keyClick(&chart(), Qt::Key_P);
    QTRY_VERIFY_WITH_TIMEOUT(pins().any(), patience);
    table().setFocus();
    QTest::keyClick(&table(), Qt::Key_Home, Qt::ControlModifier);
    QTest::keyClick(&table(), Qt::Key_Return);
    QVERIFY(document().config().strategy == found(row_of(table().currentIndex())).candidate.strategy);
  }

  void plans_that_were_pinned_by_hand_are_never_let_go() {
    for (const int64_t steps : {11, 12}) {
      set_steps(document(), steps);
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      QVERIFY(pins().pin() >= 0);
    }
    search_some();
    for (const int row : {search().front().front(), search().front().back()}) {
      QTest::mouseClick(chart().viewport(), Qt::LeftButton, {}, at(chart(), row));
      const QString title = QString::fromStdString(text_of(found(row).candidate));
      QTRY_COMPARE_WITH_TIMEOUT(pins().name(2), title, patience);
    }
    QCOMPARE(pins().at(0)->plan->training.steps, int64_t{11});
    QCOMPARE(pins().at(1)->plan->training.steps, int64_t{12});
    pins().unpin(2);
    set_steps(document(), 13);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(pins().pin() >= 0);
    set_steps(document(), 14);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const PlanIndex index(plan());
    QVERIFY(pins().pin_found(planner().plan(), index, "x") == PinnedPlans::Pinning::full);
  }

  void tab_goes_from_field_to_field_in_their_order() {
    find<QWidget>("searchDevices")->setFocus();
    for (const char* next : {"search_data", "search_fsdp", "search_tensor"}) {
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
      QCOMPARE(QApplication::focusWidget()->objectName(), QString(next));
    }
  }

  void an_edit_marks_what_was_found_as_out_of_date() {
    search_some();
    table().setCurrentIndex(table().model()->index(0, 1));
    QVERIFY(find<QPushButton>("searchTake")->isEnabled());
    set_seed(document(), 77);
    set_option(document(), OptionGroup::data, "batch_size", int64_t{16});
    const RunConfig edited = document().config();
    QVERIFY(find<QLabel>("searchNote")->text().contains("Out of date"));
    QVERIFY(!find<QPushButton>("searchTake")->isEnabled());
    QTest::mouseDClick(chart().viewport(), Qt::LeftButton, {}, at(chart(), search().front().front()));
    QVERIFY(document().config() == edited);
    document().undo_stack().undo();
    document().undo_stack().undo();
    QVERIFY(!find<QLabel>("searchNote")->text().contains("Out of date"));
    set_rematerialisation(document(), "full");
    set_microbatches(document(), 2);
    QVERIFY2(!find<QLabel>("searchNote")->text().contains("Out of date"), "strategies have their own");
    QVERIFY(find<QPushButton>("searchTake")->isEnabled());
  }

  void stop_keeps_what_was_found() {
    click_start();
    QTRY_VERIFY_WITH_TIMEOUT(!search().found().empty(), patience);
    QCOMPARE(find<QPushButton>("searchStart")->text(), QString("&Stop"));
    click_start();
    QTRY_VERIFY_WITH_TIMEOUT(!search().is_running(), patience);
    QVERIFY(search().is_stopped() && search().result() && !search().found().empty());
    const SearchResult& result = *search().result();
    QVERIFY(result.stopped && result.space.open > 0 && result.gap >= 0 && result.gap <= 1);
    QCOMPARE(result.front.size(), search().front().size());
    const QString note = find<QLabel>("searchNote")->text();
    QVERIFY(note.contains("Stopped. " + QString::fromStdString(conclusion_of(result, search().wish().objective))));
    QCOMPARE(table().model()->rowCount(), static_cast<int>(search().found().size()));
  }

  void another_file_forgets_what_was_found() {
    search_some();
    document().reset(load_preset("nnx_gpt2"), {});
    QVERIFY(!search().any());
    QVERIFY(find<QLabel>("searchNone")->isVisible() && !chart().isVisible());
  }

  void what_cannot_be_searched_says_why() {
    type("search_tensor", "2..x");
    QVERIFY(find<QLineEdit>("search_tensor")->property("invalid").toBool());
    click_start();
    QVERIFY(!search().is_running() && !search().any());
    type("search_tensor", "");
    document().reset(load_preset("tensor_parallel_mlp"), {});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    click_start();
    QTRY_VERIFY_WITH_TIMEOUT(search().any() && !search().is_running(), patience);
    const QString said = find<QLabel>("searchNone")->text();
    QVERIFY2(said.contains("heads, mlp, length or experts"), qPrintable(said));
  }

  void a_number_that_no_strategy_has_is_marked_and_says_why_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("why");
    const std::tuple<const char*, const char*, const char*> numbers[] = {
        {"zero", "9", "0, 1, 2 and 3"},        {"zero", "4..", "0, 1, 2 and 3"},
        {"virtual_stages", "0", "1 or more"},  {"microbatch_size", "0", "1 or more"},
        {"tensor", "3", "4 devices: 1, 2, 4"}, {"pipeline", "7", "4 devices: 1, 2, 4"},
        {"data", "8..", "4 devices: 1, 2, 4"}, {"expert", "2", "possible: 1"},
        {"expert", "2..", "possible: 1"},      {"microbatch_size", "1000", "possible: 1, "}};
    for (const auto& [key, text, why] : numbers) QTest::addRow("%s %s", key, text) << key << text << why;
  }
  void a_number_that_no_strategy_has_is_marked_and_says_why() {
    QFETCH(QString, key);
    QFETCH(QString, text);
    QFETCH(QString, why);
    auto* field = find<QLineEdit>(qPrintable("search_" + key));
    type(qPrintable("search_" + key), text);
    click_start();
    QTRY_VERIFY_WITH_TIMEOUT(!search().is_running(), patience);
    QVERIFY(field->property("invalid").toBool());
    QVERIFY2(field->toolTip().contains(why), qPrintable(field->toolTip()));
    QVERIFY(search().found().empty());
    type(qPrintable("search_" + key), "");
    QVERIFY(!field->property("invalid").toBool());
  }

  void devices_that_nothing_can_be_split_over_are_what_is_wrong() {
    find<QSpinBox>("searchDevices")->setValue(10007);
    click_start();
    QTRY_VERIFY_WITH_TIMEOUT(!search().is_running() && !search().errors().empty(), patience);
    QVERIFY(find<QSpinBox>("searchDevices")->property("invalid").toBool());
    QVERIFY2(find<QLabel>("searchNone")->text().contains("10007 devices"),
             qPrintable(find<QLabel>("searchNone")->text()));
    find<QSpinBox>("searchDevices")->setValue(4);
    QVERIFY(!find<QSpinBox>("searchDevices")->property("invalid").toBool());
  }

  void what_was_found_stays_until_another_search_has_found_something() {
    search_some();
    const size_t before = search().found().size();
    const SearchWish wish = search().wish();
    for (const auto& [key, text] : {std::pair("search_expert", "2"), std::pair("search_zero", "9")}) {
      type(key, text);
      click_start();
      QTRY_VERIFY_WITH_TIMEOUT(!search().is_running(), patience);
      QVERIFY(find<QLineEdit>(key)->property("invalid").toBool());
      QVERIFY(chart().isVisible() && search().result());
      QCOMPARE(search().found().size(), before);
      QCOMPARE(table().model()->rowCount(), static_cast<int>(before));
      QVERIFY(search().wish() == wish);
      type(key, "");
    }
    type("search_tensor", "1");
    connect(&search(), &StrategySearch::advanced, this,
            [&] { QCOMPARE(table().model()->rowCount(), static_cast<int>(search().found().size())); });
    click_start();
    QTRY_VERIFY_WITH_TIMEOUT(!search().is_running() && !(search().wish() == wish), patience);
    for (const Found& each : search().found()) QCOMPARE(each.candidate.strategy.tensor, int64_t{1});
    QVERIFY(!find<QLineEdit>("search_expert")->property("invalid").toBool());
  }

  void limits_that_nothing_meets_say_what_is_nearest() {
    fix_some();
    find<QDoubleSpinBox>("searchTime")->setValue(0.001);
    set_option(document(), OptionGroup::data, "batch_size", int64_t{4096});
    type("search_microbatch_size", "64");
    click_start();
    QTRY_VERIFY_WITH_TIMEOUT(search().any() && !search().is_running(), patience);
    if (search().found().empty()) {
      QVERIFY(find<QLabel>("searchNone")->text().contains("Nothing is within the limits"));
      return;
    }
    for (const Found& each : search().found()) QVERIFY(each.seconds <= 0.001);
  }

  void what_was_found_is_exported_as_table_document_and_picture() {
    search_some();
    table().sortByColumn(FoundModel::memory_column, Qt::DescendingOrder);
    const std::vector<ExportKind> kinds = page().export_kinds();
    QCOMPARE(kinds.size(), size_t{2});
    for (const char* last : {"", "csv", "svg"}) {
      ExportWish before;
      if (*last) before.kind = &find_export_kind(last);
      const ExportDialog dialog(folder_.path(), "run", "search", false, before, kinds);
      const bool is_picture = QString(last) == "svg";
      QCOMPARE(QString::fromStdString(dialog.wish().kind->name), QString(is_picture ? "svg" : "search-csv"));
      QCOMPARE(dialog.wish().path, folder_.filePath(is_picture ? "run_search.svg" : "run_search.csv"));
    }
    for (const ExportKind& kind : kinds) {
      ExportWish wish;
      wish.kind = &kind;
      wish.path = folder_.filePath(QString::fromStdString("found." + kind.extension));
      window_->exports().start(wish);
      QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    }
    QFile csv(folder_.filePath("found.csv")), json(folder_.filePath("found.json"));
    QVERIFY(csv.open(QIODevice::ReadOnly) && json.open(QIODevice::ReadOnly));
    QStringList lines = QString::fromUtf8(csv.readAll()).split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), static_cast<qsizetype>(search().found().size()) + 1);
    const auto memory = lines.takeFirst().split(',').indexOf("memory_bytes");
    for (int row = 0; row < lines.size(); ++row)
      QCOMPARE(lines[row].split(',')[memory].toDouble(), found(row_of(table().model()->index(row, 0))).memory_bytes);
    const QJsonObject document = QJsonDocument::fromJson(json.readAll()).object();
    QCOMPARE(document["front"].toArray().size(), static_cast<qsizetype>(search().front().size()));
    QCOMPARE(document["gap"].toDouble(), 0.0);

    ExportWish picture;
    picture.kind = &find_export_kind("svg");
    picture.choice.page = "search";
    picture.path = folder_.filePath("found.svg");
    window_->exports().start(picture);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QFile svg(picture.path);
    QVERIFY(svg.open(QIODevice::ReadOnly));
    const QByteArray drawn = svg.readAll();
    QVERIFY(drawn.contains("tensor 2") && drawn.contains("Exact"));
    QVERIFY2(!drawn.contains("click"), "a hint of the mouse is no part of a picture");
  }

  void of_some_thousand_points_the_front_and_one_in_each_place_are_drawn() {
    std::vector<QPointF> points;
    for (int i = 0; i < 9000; ++i) points.emplace_back((i * 37) % 911, (i * 53) % 787);
    const QRectF area(0, 0, 911, 787);
    const auto keeps = [](int i) { return i % 1000 == 999; };
    const std::vector<int> shown = thinned(points, area, 2000, keeps);
    QVERIFY(shown.size() <= 2009 && shown.size() > 1000);
    for (int i = 999; i < 9000; i += 1000) QVERIFY(std::ranges::count(shown, i) == 1);
    QCOMPARE(thinned({points.begin(), points.begin() + 2000}, area, 2000, keeps).size(), size_t{2000});
  }

  void the_page_fits_a_small_window() {
    window_->resize(800, 500);
    search_some();
    QVERIFY(window_->width() == 800 && window_->height() == 500);
    QVERIFY(chart().height() >= 90 && table().height() >= 50);
    for (const char* name : {"searchStart", "searchTake", "searchPin"}) {
      const auto* button = find<QPushButton>(name);
      QVERIFY2(button->width() >= button->minimumSizeHint().width() &&
                   page().rect().contains(QRect(button->mapTo(&page(), QPoint()), button->size())),
               name);
    }
  }
};

REGISTER_WINDOW_TEST(SearchPageTest)

}  // namespace search_page_test

#include "search_page_test.moc"
