#include <QHeaderView>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QTreeView>

#include "engine/export/export_kind.h"
#include "engine/session/hello.h"
#include "gui/export/picture_page.h"
#include "gui/look/appearance.h"
#include "gui/window/page_list.h"
#include "gui/window/page_recorder.h"
#include "gui/window/presets.h"
#include "tests/export/exported.h"
#include "tests/gui/own_settings.h"
#include "tests/gui/painted_texts.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace picture_test {

using namespace shardscope;

namespace {

// Of all of the window, and the curves of a run.
QStringList pages() {
  QStringList names;
  for (const PageKind& kind : page_kinds()) names << name_of(kind).toLower();
  return names << "run";
}

QString name_of(const QWidget& widget) {
  return QString("%1 %2").arg(widget.metaObject()->className(), widget.objectName());
}

}  // namespace

// The pictures of all pages show their content, and all of it.
class PictureTest : public QObject {
  Q_OBJECT

  struct Drawn {
    std::unique_ptr<PageRecorder> recorder;
    QPicture picture;
    QSize size;
  };

  std::unique_ptr<Workspace> workspace_;

  Drawn draw(const QString& page, QSize least) {
    Drawn drawn;
    drawn.recorder = std::make_unique<PageRecorder>(*workspace_, page, least);
    connect(drawn.recorder.get(), &PageRecorder::recorded, this, [&drawn](const QPicture& picture, QSize size) {
      drawn.picture = picture;
      drawn.size = size;
    });
    [&] { QTRY_VERIFY_WITH_TIMEOUT(!drawn.size.isEmpty(), patience); }();
    return drawn;
  }

  void open(const QString& preset) {
    workspace_ = std::make_unique<Workspace>(compiled_plans(), "/nowhere/shardrun");
    workspace_->document.reset(load_preset(preset), {}, preset + ".json");
    QTRY_VERIFY_WITH_TIMEOUT(workspace_->planner.is_current(), patience);
    select_first_array(*workspace_);
  }

  void measure() {
    const Planner& planner = workspace_->planner;
    workspace_->run.begin_replay(planner.plan());
    workspace_->run.receive(hello_of(*planner.plan()));
    for (const Message& message : test::made_messages(*planner.plan())) workspace_->run.receive(message);
    QCoreApplication::processEvents();
  }

  static void verify_no_controls(const QWidget& page, const QString& where) {
    for (const QWidget* widget : page.findChildren<QWidget*>())
      QVERIFY2(!widget->isVisibleTo(&page) || !is_control(*widget), qPrintable(where + ": " + name_of(*widget)));
  }

  static void verify_whole_tables(const QWidget& page, const QString& where) {
    for (const auto* table : page.findChildren<QAbstractItemView*>()) {
      if (!table->isVisibleTo(&page) || qobject_cast<const QHeaderView*>(table)) continue;
      const QAbstractItemModel& model = *table->model();
      const QRect seen = table->viewport()->rect();
      QVERIFY2(page.rect().contains(QRect(table->mapTo(&page, QPoint()), table->size())), qPrintable(where));
      const auto is_hidden = [&](int column) {
        const auto* tree = qobject_cast<const QTreeView*>(table);
        return tree ? tree->isColumnHidden(column) : qobject_cast<const QTableView*>(table)->isColumnHidden(column);
      };
      QVERIFY2(model.rowCount() > 0, qPrintable(where + ": " + name_of(*table)));
      for (int row = 0; row < model.rowCount(); ++row)
        for (int column = 0; column < model.columnCount(); ++column)
          QVERIFY2(
              is_hidden(column) || seen.contains(table->visualRect(model.index(row, column))),
              qPrintable(QString("%1: row %2, column %3 of %4").arg(where).arg(row).arg(column).arg(name_of(*table))));
    }
  }

  static void verify_texts(const Drawn& drawn, const QString& where) {
    const TextsOf texts(drawn.picture);
    QVERIFY2(!texts.list().empty(), qPrintable(where));
    for (const PaintedText& text : texts.list()) {
      const QString what = where + ": " + text.text;
      QVERIFY2(!is_cut(text.text), qPrintable(what));
      QVERIFY2(!is_hint(text.text), qPrintable(what));
      QVERIFY2(text.is_inside(QRectF({}, QSizeF(drawn.size))), qPrintable(what));
      QVERIFY2(text.clip.isEmpty() || text.is_inside(text.clip), qPrintable(what + " is cut"));
    }
  }

 private slots:
  void initTestCase() {
    use_own_settings();
    apply_theme(*qApp, ThemeChoice::light);
  }

  void cleanup() {
    workspace_.reset();
    apply_theme(*qApp, ThemeChoice::light);
  }

  void pictures_can_be_of_every_page_of_the_window() {
    for (const char* form : {"svg", "png", "pdf"}) {
      QStringList offered;
      for (const std::string& page : find_export_kind(form).pages) offered << QString::fromStdString(page);
      QCOMPARE(offered, pages());
    }
  }

  void a_picture_shows_all_of_a_page_and_no_control_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<bool>("is_measured");
    QTest::addColumn<QSize>("least");
    QTest::addColumn<ThemeChoice>("choice");
    const auto add = [](const char* preset, bool is_measured, QSize least, ThemeChoice choice) {
      QTest::addRow("%s%s, %d x %d, %s", preset, is_measured ? " measured" : "", least.width(), least.height(),
                    choice == ThemeChoice::dark ? "dark" : "light")
          << preset << is_measured << least << choice;
    };
    for (const char* preset : {"tiny_lm_fsdp", "workshop_interleaved"})
      for (const ThemeChoice choice : {ThemeChoice::light, ThemeChoice::dark})
        for (const QSize least : {QSize(900, 600), QSize(1600, 1000)}) add(preset, true, least, choice);
    add("parallax_decoder", false, {1, 1}, ThemeChoice::light);
    add("workshop_3d", true, {1, 1}, ThemeChoice::light);
  }
  void a_picture_shows_all_of_a_page_and_no_control() {
    QFETCH(QString, preset);
    QFETCH(bool, is_measured);
    QFETCH(QSize, least);
    QFETCH(ThemeChoice, choice);
    apply_theme(*qApp, choice);
    open(preset);
    if (is_measured) measure();
    for (const QString& page : pages()) {
      if (page == "run" && !is_measured) continue;
      const Drawn drawn = draw(page, least);
      QVERIFY2(drawn.size.expandedTo(least) == drawn.size, qPrintable(page));
      if (page == "layout" && least.width() >= 900) QCOMPARE(drawn.size, least);
      verify_no_controls(drawn.recorder->page(), page);
      verify_whole_tables(drawn.recorder->page(), page);
      verify_texts(drawn, page);
    }
  }

  void what_a_page_was_asked_to_show_is_said() {
    open("workshop_interleaved");
    measure();
    for (const auto& [page, choice] : {std::pair<const char*, const char*>{"timeline", "median step"},
                                       {"timeline", "colour: kind of op"},
                                       {"pipeline", "median step"},
                                       {"flow", "stage 0"},
                                       {"memory", "stage 0"},
                                       {"collectives", "Fastest"},
                                       {"collectives", "As written"}})
      QVERIFY2(TextsOf(draw(page, {900, 600}).picture).has(choice), choice);
  }

  void a_table_is_as_high_as_its_rows() {
    open("workshop_3d");
    const Drawn drawn = draw("collectives", {400, 300});
    const auto* table = drawn.recorder->page().findChild<QTreeView*>("collectives");
    QVERIFY(table->model()->rowCount() > 20);
    QVERIFY(drawn.size.height() > table->model()->rowCount() * 10);
    const TextsOf texts(drawn.picture);
    for (int row = 0; row < table->model()->rowCount(); ++row)
      for (const int column : {CollectivesModel::array_column, CollectivesModel::cause_column}) {
        const QString text = table->model()->index(row, column).data().toString();
        QVERIFY2(texts.has(text), qPrintable(text));
      }
  }
};

REGISTER_WINDOW_TEST(PictureTest)

}  // namespace picture_test

#include "picture_test.moc"
