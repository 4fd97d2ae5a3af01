#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/compile/compile.h"
#include "engine/export/export_kind.h"
#include "tests/compile/system_preset.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int tallest_control = 32;  // buttons and marks are pictures

QByteArray content(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

// Pictures are drawn by the program shardscope that lies beside this one, without a display.
class PicturesTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  ExportSource source_;

  QString draw(const char* kind, const std::string& page, std::stop_token stop = {}) {
    const QString path = folder_.filePath(QString("%1.%2").arg(QString::fromStdString(page), kind));
    ExportTarget::Options options;
    options.stop = stop;
    export_source(find_export_kind(kind), source_, {page}, path.toStdString(), std::move(options));
    return path;
  }

 private slots:
  void initTestCase() {
    qunsetenv("DISPLAY");
    qunsetenv("WAYLAND_DISPLAY");
    const RunConfig config = system_run("tiny_lm_fsdp", system_preset("tiny_lm_fsdp").small);
    source_.plan = std::make_shared<Plan>(compile(config, DeviceProfile{}));
  }

  void each_page_can_be_drawn_data() {
    QTest::addColumn<QString>("page");
    QTest::addColumn<QByteArray>("word");
    QTest::newRow("layout") << "layout" << QByteArray("tok_emb/embedding");
    QTest::newRow("flow") << "flow" << QByteArray("<text");
    QTest::newRow("memory") << "memory" << QByteArray("<text");
    QTest::newRow("collectives") << "collectives" << QByteArray("all-gather");
    QTest::newRow("timeline") << "timeline" << QByteArray("<text");
    QTest::newRow("pipeline") << "pipeline" << QByteArray("No pipeline");
  }
  void each_page_can_be_drawn() {
    QFETCH(QString, page);
    QFETCH(QByteArray, word);
    const QByteArray svg = content(draw("svg", page.toStdString()));
    QVERIFY(svg.contains("<svg") && svg.contains("</svg>"));
    QVERIFY2(svg.contains(word), word.constData());
    if (page == "timeline") return;  // in pixels, for the sake of a million instructions
    static const QRegularExpression image("<image [^>]* height=\"([0-9]+)");
    for (auto found = image.globalMatch(svg); found.hasNext();)
      QVERIFY2(found.next().captured(1).toInt() < tallest_control, "pixels where shapes should be");
  }

  void other_forms_are_whole_files() {
    QVERIFY(content(draw("png", "layout")).endsWith(QByteArray("IEND\xAE\x42\x60\x82", 8)));
    const QByteArray pdf = content(draw("pdf", "layout"));
    QVERIFY(pdf.startsWith("%PDF") && pdf.trimmed().endsWith("%%EOF"));
  }

  void a_cancelled_picture_leaves_nothing() {
    std::stop_source stop;
    stop.request_stop();
    QVERIFY_EXCEPTION_THROWN(draw("pdf", "memory", stop.get_token()), Cancelled);
    QVERIFY(!QFile::exists(folder_.filePath("memory.pdf")));
    QVERIFY(!QFile::exists(folder_.filePath("memory.pdf.part")));
  }
};

QTEST_APPLESS_MAIN(PicturesTest)
#include "pictures_test.moc"
