#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QProgressDialog>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QStandardPaths>
#include <QSvgRenderer>
#include <QTabBar>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QXmlStreamReader>

#include "gui/background/worker_threads.h"
#include "gui/export/picture_file.h"
#include "gui/export/picture_page.h"
#include "gui/look/appearance.h"
#include "gui/window/page_list.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "tests/gui/painted_texts.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace export_test {

using namespace shardscope;

namespace {

QByteArray content(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

// A line each.
QString texts_of_svg(const QByteArray& svg) {
  QString texts;
  QXmlStreamReader reader(svg);
  while (!reader.atEnd())
    if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == QLatin1String("text"))
      texts += reader.readElementText().simplified() + '\n';
  return texts;
}

// And of the labels in front of them.
QSet<QString> texts_of_controls(const QWidget& page) {
  QSet<QString> texts;
  for (const QWidget* widget : page.findChildren<QWidget*>()) {
    if (auto* button = qobject_cast<const QAbstractButton*>(widget)) texts << button->text();
    if (auto* box = qobject_cast<const QComboBox*>(widget)) texts << box->currentText();
    if (auto* line = qobject_cast<const QLineEdit*>(widget)) texts << line->text() << line->placeholderText();
    if (auto* bar = qobject_cast<const QTabBar*>(widget))
      for (int i = 0; i < bar->count(); ++i) texts << bar->tabText(i);
    if (auto* label = qobject_cast<const QLabel*>(widget))
      if (label->buddy() && is_control(*label->buddy())) texts << label->text();
  }
  return texts;
}

bool is_xml(const QByteArray& text) {
  QXmlStreamReader reader(text);
  while (!reader.atEnd()) reader.readNext();
  return !reader.hasError();
}

QAction* action(MainWindow& window, const QString& name) { return window.findChild<QAction*>(name); }

}  // namespace

class ExportTest : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;

  Planner& planner() { return window_->workspace().planner; }
  Document& document() { return window_->workspace().document; }

  ExportWish wish(const char* kind, const char* page, const QString& name) {
    ExportWish wish{&find_export_kind(kind), {}, folder_.filePath(name), {900, 600}, 2, false};
    wish.choice.page = page;
    return wish;
  }

  // Does what a person does with the next dialog.
  template <class Dialog, class Act>
  void answer(Act act) {
    QTimer::singleShot(0, this, [this, act] {
      Dialog* dialog = nullptr;
      const auto is_there = [&] { return (dialog = qobject_cast<Dialog*>(QApplication::activeModalWidget())); };
      QVERIFY2(QTest::qWaitFor(is_there, patience), "there is no dialog");
      act(*dialog);
    });
  }

 private slots:
  void initTestCase() {
    QStandardPaths::setTestModeEnabled(true);
    apply_theme(*qApp, ThemeChoice::light);
  }

  void init() {
    window_ = std::make_unique<MainWindow>(compiled_plans(), "/nowhere/shardrun");
    document().reset(load_preset("parallax_decoder"), {}, "parallax_decoder.json");
    window_->show();
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
  }

  void cleanup() {
    document().reset(document().config(), {});
    window_.reset();
  }

  void every_page_becomes_a_picture_of_every_form_data() {
    QTest::addColumn<QString>("page");
    for (const PageKind& kind : page_kinds()) {
      const QString page = name_of(kind).toLower();
      QTest::newRow(qPrintable(page)) << page;
    }
  }
  void every_page_becomes_a_picture_of_every_form() {
    QFETCH(QString, page);
    QSignalSpy reported(&window_->exports(), &Exports::reported);
    for (const char* kind : {"svg", "png", "pdf"}) {
      const ExportWish wanted = wish(kind, page.toUtf8().constData(), page + "." + kind);
      window_->exports().start(wanted);
      QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
      QVERIFY2(QFileInfo(wanted.path).size() > 1000, kind);
    }
    QCOMPARE(reported.size(), 3);
    const QString file = folder_.filePath(page);
    const QByteArray svg = content(file + ".svg");
    QVERIFY(is_xml(svg) && svg.contains("<text"));
    QVERIFY(QSvgRenderer(svg).isValid());
    const QImage png(file + ".png");
    QVERIFY(png.width() >= 1800 && png.height() >= 1200);
    QSet<QRgb> colors;
    for (int y = 0; y < png.height(); y += 7)
      for (int x = 0; x < png.width(); x += 7) colors << png.pixel(x, y);
    QVERIFY(colors.size() > 3);
    QVERIFY(content(file + ".pdf").startsWith("%PDF"));
  }

  void a_picture_can_be_cancelled_while_it_is_painted() {
    QSignalSpy reported(&window_->exports(), &Exports::reported);
    const ExportWish wanted = wish("svg", "flow", "cancelled.svg");
    window_->exports().start(wanted);
    auto* bar = window_->findChild<QProgressDialog*>("exportProgress");
    QVERIFY(bar && window_->exports().is_busy());
    emit bar->canceled();
    QVERIFY(!window_->exports().is_busy());
    WorkerThreads::shared().wait();
    QCoreApplication::processEvents();
    QCOMPARE(reported.size(), 1);
    QVERIFY(reported.front().front().toString().startsWith("Cancelled"));
    QVERIFY(!QFile::exists(wanted.path) && !QFile::exists(wanted.path + ".part"));
  }

  void compare_is_a_picture_of_the_pinned_plans_where_there_are_any() {
    const auto drawn = [&](const char* name) {
      const ExportWish wanted = wish("svg", "compare", name);
      window_->exports().start(wanted);
      [&] { QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience); }();
      return content(wanted.path);
    };
    QVERIFY(drawn("meshes.svg").contains("the one that is shown"));
    action(*window_, "pin")->trigger();
    QVERIFY(!drawn("pinned.svg").contains("the one that is shown"));
  }

  // Numbers of axes follow the size.
  void a_picture_says_all_that_the_page_says_data() { every_page_becomes_a_picture_of_every_form_data(); }
  void a_picture_says_all_that_the_page_says() {
    QFETCH(QString, page);
    if (page == "compare") action(*window_, "pin")->trigger();  // without a pinned plan its meshes are drawn
    window_->show_page(page);
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    QWidget* shown = window_->findChild<QTabWidget*>("pages")->currentWidget();
    ExportWish wanted = wish("svg", page.toUtf8().constData(), page + "_said.svg");
    wanted.size = shown->size();
    window_->exports().start(wanted);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    const QString drawn = texts_of_svg(content(wanted.path));
    const QSet<QString> of_controls = texts_of_controls(*shown);
    QPicture seen;
    QPainter painter(&seen);
    shown->render(&painter);
    painter.end();
    static const QRegularExpression is_said("[a-z]{4}");
    int said = 0;
    const TextsOf texts(seen);
    for (const PaintedText& text : texts.list()) {
      if (is_cut(text.text) || is_hint(text.text) || !text.text.contains(is_said) || of_controls.contains(text.text))
        continue;
      QVERIFY2(drawn.contains(text.text.simplified()), qPrintable(text.text));
      ++said;
    }
    QVERIFY(said > 1);
  }

  void the_dialog_writes_what_was_chosen_where_it_was_said() {
    const QString file = folder_.filePath("chosen.svg");
    answer<ExportDialog>([&](ExportDialog& dialog) {
      auto* kinds = dialog.findChild<QComboBox*>("exportKind");
      kinds->setCurrentIndex(kinds->findData("svg"));
      auto* pages = dialog.findChild<QComboBox*>("exportPage");
      pages->setCurrentText("memory");
      auto* path = dialog.findChild<QLineEdit*>("exportPath");
      QVERIFY2(path->text().endsWith("parallax_decoder_memory.svg"), qPrintable(path->text()));
      path->selectAll();
      QTest::keyClicks(path, file);
      QTest::mouseClick(dialog.findChild<QPushButton*>("exportStart"), Qt::LeftButton);
    });
    action(*window_, "export")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QVERIFY(content(file).contains("<svg"));
  }

  void kinds_of_a_run_are_grey_without_one() {
    answer<ExportDialog>([&](ExportDialog& dialog) {
      auto* kinds = dialog.findChild<QComboBox*>("exportKind");
      for (const ExportKind& kind : export_kinds()) {
        const int at = kinds->findData(QString::fromStdString(kind.name));
        const bool enabled = qobject_cast<QStandardItemModel*>(kinds->model())->item(at)->isEnabled();
        QVERIFY2(enabled == !kind.needs_run, kind.name.c_str());
      }
      dialog.reject();
    });
    action(*window_, "export")->trigger();
  }

  void a_file_that_exists_stays_unless_a_person_agrees() {
    const ExportWish wanted = wish("jax", "program", "there.py");
    QFile file(wanted.path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("mine");
    file.close();
    window_->exports().start(wanted);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<QMessageBox*>("exportFailed"), patience);
    window_->findChild<QMessageBox*>("exportFailed")->close();
    QCOMPARE(content(wanted.path), QByteArray("mine"));
    ExportWish agreed = wanted;
    agreed.overwrite = true;
    window_->exports().start(agreed);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QVERIFY(content(wanted.path).contains("import jax"));
  }

  void no_export_is_written_over_the_run_file_that_is_open() {
    const QString run_file = folder_.filePath("open.json");
    document().save(run_file);
    const QByteArray before = content(run_file);
    for (const char* kind : {"png", "csv", "jax"}) {
      ExportWish wanted = wish(kind, kind == std::string("jax") ? "program" : "memory", "open.json");
      wanted.overwrite = true;
      window_->exports().start(wanted);
      QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
      QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<QMessageBox*>("exportFailed"), patience);
      auto* box = window_->findChild<QMessageBox*>("exportFailed");
      QVERIFY2(box->text().contains("open.json"), qPrintable(box->text()));
      delete box;
      QCOMPARE(content(run_file), before);
    }
  }

  void a_picture_that_is_cancelled_ends_at_once_and_nothing_of_it_is_in_the_way() {
    ExportWish large = wish("png", "layout", "large.png");
    large.size = {3000, 2000};
    large.scale = 4;
    QSignalSpy reported(&window_->exports(), &Exports::reported);
    window_->exports().start(large);
    const auto has_begun = [&] { return !QDir(folder_.path()).entryList({"large.png.part*"}, QDir::Files).isEmpty(); };
    QTRY_VERIFY_WITH_TIMEOUT(has_begun(), patience);
    auto* bar = window_->findChild<QProgressDialog*>("exportProgress");
    QVERIFY(bar);
    bar->findChild<QPushButton*>()->click();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QCOMPARE(reported.takeLast().at(0).toString(), QString("Cancelled; nothing was written."));
    QVERIFY(QDir(folder_.path()).entryList({"large.png*"}).isEmpty());
    ExportWish again = wish("png", "layout", "large.png");
    window_->exports().start(again);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QVERIFY(!QImage(again.path).isNull());
  }

  void a_place_that_cannot_be_written_is_said_and_leaves_nothing() {
    ExportWish wanted = wish("png", "layout", "x.png");
    wanted.path = "/proc/nowhere/x.png";
    window_->exports().start(wanted);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<QMessageBox*>("exportFailed"), patience);
    auto* box = window_->findChild<QMessageBox*>("exportFailed");
    QVERIFY2(box->text().contains("/proc/nowhere/x.png"), qPrintable(box->text()));
    box->close();
  }

  void a_png_has_as_many_pixels_as_it_can_and_one_too_large_is_refused_by_its_name() {
    const auto scale_of = [](const QSize& size) {
      return double(picture_image(QPicture(), size, 2).width()) / size.width();
    };
    QCOMPARE(scale_of({1280, 800}), 2.0);
    QVERIFY(scale_of({2902, 5000}) > 1 && scale_of({2902, 5000}) < 2);
    QCOMPARE(scale_of({2902, 15792}), 1.0);
    ExportWish wanted = wish("png", "layout", "huge.png");
    wanted.size = {largest_picture_side, largest_picture_side};
    window_->exports().start(wanted);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    auto* box = window_->findChild<QMessageBox*>("exportFailed");
    QVERIFY(box);
    QVERIFY2(box->text().contains("huge.png: ") && !box->text().contains(".part"), qPrintable(box->text()));
    box->close();
    QVERIFY(QDir(folder_.path()).entryList({"huge*"}, QDir::Files).isEmpty());
  }

  void a_name_that_was_typed_is_offered_again_until_its_file_is_written() {
    const QString nowhere = "/proc/nowhere/mine.csv", there = folder_.filePath("mine.csv");
    const auto offered = [&](const QString& next) {
      QString path;
      answer<ExportDialog>([&](ExportDialog& dialog) {
        auto* kinds = dialog.findChild<QComboBox*>("exportKind");
        kinds->setCurrentIndex(kinds->findData("csv"));
        auto* field = dialog.findChild<QLineEdit*>("exportPath");
        path = field->text();
        if (next.isEmpty()) return dialog.reject();
        field->selectAll();
        QTest::keyClicks(field, next);
        QTest::mouseClick(dialog.findChild<QPushButton*>("exportStart"), Qt::LeftButton);
      });
      action(*window_, "export")->trigger();
      return path;
    };
    offered(nowhere);
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<QMessageBox*>("exportFailed"), patience);
    delete window_->findChild<QMessageBox*>("exportFailed");
    QCOMPARE(offered(there), nowhere);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy() && QFile::exists(there), patience);
    QVERIFY(offered("") != there);
  }

  void imported_specs_are_one_edit() {
    const QString file = folder_.filePath("specs.json");
    QFile specs(file);
    QVERIFY(specs.open(QIODevice::WriteOnly));
    specs.write(R"({"params/Dense_0/kernel": [null, "model"], "params/Dense_0/bias": ["model"]})");
    specs.close();
    const RunConfig before = document().config();
    window_->exports().import_specs(file);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    const ParameterSpec* spec = find_parameter_spec(document().config().sharding, {"params", "Dense_0", "bias"});
    QVERIFY(spec && spec->spec == (PartitionSpec{{{"model"}}}));
    QCOMPARE(document().undo_stack().count(), 1);
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
  }

  void specs_with_unknown_paths_are_reported_and_change_nothing() {
    const QString file = folder_.filePath("wrong.json");
    QFile specs(file);
    QVERIFY(specs.open(QIODevice::WriteOnly));
    specs.write("{\"params/Dense_0/bias\": [\"model\"],\n\"params/Dense_7/bias\": [\"model\"]}");
    specs.close();
    const RunConfig before = document().config();
    window_->exports().import_specs(file);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<QMessageBox*>("exportFailed"), patience);
    auto* box = window_->findChild<QMessageBox*>("exportFailed");
    QVERIFY2(box->text().contains("wrong.json:2"), qPrintable(box->text()));
    box->close();
    QVERIFY(document().config() == before);
    QCOMPARE(document().undo_stack().count(), 0);
  }

  void the_page_and_the_layout_of_an_array_go_to_the_clipboard() {
    action(*window_, "copyLayout")->trigger();
    QVERIFY2(QApplication::clipboard()->text().contains("CPU"), qPrintable(QApplication::clipboard()->text()));
  }

  void the_copied_picture_is_the_exported_one() {
    QTabWidget& pages = *window_->findChild<QTabWidget*>("pages");
    for (const int page : {0, pages.count() - 1}) {
      pages.setCurrentIndex(page);
      QApplication::clipboard()->clear();
      action(*window_, "copyPicture")->trigger();
      QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
      ExportWish wanted = wish("png", pages.tabText(page).remove('&').toLower().toUtf8().constData(), "copied.png");
      wanted.size = pages.currentWidget()->size();
      wanted.scale = qRound(window_->devicePixelRatioF());
      wanted.overwrite = true;
      window_->exports().start(wanted);
      QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
      const QImage copied = QApplication::clipboard()->image(), exported(wanted.path);
      QVERIFY(!copied.isNull());
      QCOMPARE(copied.convertToFormat(QImage::Format_RGB32), exported.convertToFormat(QImage::Format_RGB32));
    }
  }
};

REGISTER_WINDOW_TEST(ExportTest)

}  // namespace export_test

#include "export_test.moc"
