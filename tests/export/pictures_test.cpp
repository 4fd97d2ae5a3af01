#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/export/exported.h"
#include "tests/test_program.h"

namespace pictures_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int tallest_control = 32;  // buttons and marks are pictures

QByteArray content(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

// Pictures are drawn by the program shardscope beside this one, without a display.
class PicturesTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  ExportSource source_;
  std::vector<double> reported_;

  QString draw(const char* kind, const std::string& page, std::stop_token stop = {}) {
    return draw(source_, kind, {page}, std::move(stop));
  }
  QString draw(const ExportSource& source, const char* kind, const ExportChoice& choice, std::stop_token stop = {}) {
    const QString path = folder_.filePath(QString("%1.%2").arg(QString::fromStdString(choice.page), kind));
    ExportTarget::Options options;
    options.existing = Existing::overwrite;
    options.stop = std::move(stop);
    options.on_progress = [this](double share) { reported_.push_back(share); };
    export_source(find_export_kind(kind), source, choice, path.toStdString(), std::move(options));
    return path;
  }

 private slots:
  void initTestCase() {
    qunsetenv("DISPLAY");
    qunsetenv("WAYLAND_DISPLAY");
    const RunConfig config = system_run("tiny_lm_fsdp", system_preset("tiny_lm_fsdp").small);
    source_.plan = std::make_shared<Plan>(compile({config, reference_host()}));
  }

  void a_time_line_says_how_hidden_communication_looks_where_there_is_some() {
    const QByteArray words("hidden behind work");
    QVERIFY(!content(draw("svg", "timeline")).contains(words));
    const RunConfig config = system_run("tiny_lm_fsdp", {});
    ExportSource on_hosts;
    on_hosts.plan = std::make_shared<Plan>(compile({config, with_hosts(reference_host(), {4, 4})}));
    QVERIFY(on_hosts.plan->simulation.communication.at(0).hidden > 0);
    QVERIFY(content(draw(on_hosts, "svg", {"timeline"})).contains(words));
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
    QTest::newRow("compare") << "compare" << QByteArray("the one that is shown");
    QTest::newRow("machine") << "machine" << QByteArray("Link rate");
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

  void a_plan_has_no_search_to_be_drawn() {
    QCOMPARE(failure_code([&] { draw("svg", "search"); }), std::string("no_search"));
    for (const ExportKind& kind : export_kinds()) {
      const std::vector<std::string> pages = kind.pages_of_a_plan();
      QCOMPARE(std::ranges::count(kind.pages, "search"), std::ptrdiff_t{kind.is_picture});
      QCOMPARE(std::ranges::count(pages, "search"), std::ptrdiff_t{0});
      QCOMPARE(pages.size() + kind.window_pages.size(), kind.pages.size());
    }
  }

  void other_forms_are_whole_files() {
    QVERIFY(content(draw("png", "layout")).endsWith(QByteArray("IEND\xAE\x42\x60\x82", 8)));
    const QByteArray pdf = content(draw("pdf", "layout"));
    QVERIFY(pdf.startsWith("%PDF") && pdf.trimmed().endsWith("%%EOF"));
  }

  void a_picture_of_a_recorded_run_shows_what_was_measured_of_the_chosen_step() {
    const std::string folder = folder_.filePath("record").toStdString();
    record(*source_.plan, folder);
    const ExportSource recorded = recorded_source(folder);
    QVERIFY(!content(draw("svg", "timeline")).contains(" step</text>"));
    for (TraceChoice choice : {TraceChoice::median, TraceChoice::slowest, TraceChoice::latest}) {
      const QByteArray svg = content(draw(recorded, "svg", {"timeline", choice}));
      const std::string chosen = std::string(name(choice)) + " step</text>";
      QVERIFY2(svg.contains(chosen.c_str()), chosen.c_str());
    }
    QVERIFY(content(draw(recorded, "svg", {"collectives"})) != content(draw("svg", "collectives")));
  }

  void the_curves_of_a_recorded_run_are_a_page_of_their_own() {
    const std::string folder = folder_.filePath("curves").toStdString();
    record(*source_.plan, folder);
    const ExportSource recorded = recorded_source(folder);
    const QByteArray svg = content(draw(recorded, "svg", {"run"}));
    QVERIFY(svg.contains(">Loss") && svg.contains("<path"));
    QVERIFY(content(draw(recorded, "pdf", {"run"})).startsWith("%PDF"));
    QCOMPARE(failure_code([&] { draw("svg", "run"); }), std::string("no_run"));
  }

  void how_far_a_picture_is_is_reported() {
    reported_.clear();
    draw("svg", "flow");
    QVERIFY(!reported_.empty() && std::ranges::is_sorted(reported_));
  }

  void a_cancelled_picture_leaves_nothing() {
    std::stop_source stop;
    stop.request_stop();
    QVERIFY_EXCEPTION_THROWN(draw("pdf", "memory", stop.get_token()), Cancelled);
    QVERIFY(!QFile::exists(folder_.filePath("memory.pdf")));
    QVERIFY(!QFile::exists(folder_.filePath("memory.pdf.part")));
  }
};

REGISTER_TEST(PicturesTest)

}  // namespace pictures_test

#include "pictures_test.moc"
