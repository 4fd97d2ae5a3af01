#include <QProcess>
#include <QScrollArea>
#include <QScrollBar>
#include <QTest>

#include "engine/plan/schedules/schedule.h"
#include "gui/document/new_run.h"
#include "gui/document/text.h"
#include "gui/export/export_dialog.h"
#include "gui/panels/mesh_dialog.h"
#include "gui/window/attach_dialog.h"
#include "gui/window/new_run_dialog.h"
#include "tests/gui/cut_text.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace forms_test {

using namespace shardscope;

// No text of a form is cut: at every size of the window, at every scale of the screen, in every theme.
class FormsTest : public WindowCase {
  Q_OBJECT

  static constexpr QSize sizes[] = {{800, 500}, {1280, 800}, {1600, 1000}};

  SettingsPanel* settings() { return window_->findChild<SettingsPanel*>(); }

  // What a change of the size moves is laid out an event-loop iteration later.
  static void verify_whole(QWidget& form, const QString& where) {
    QTRY_VERIFY2_WITH_TIMEOUT(CutText::of(form).isEmpty(), qPrintable(where + ": " + CutText::of(form).join("; ")),
                              patience);
  }

  void show_settings() {
    auto* dock = window_->findChild<QDockWidget*>("settings");
    dock->show();
    dock->raise();
    QTRY_VERIFY_WITH_TIMEOUT(settings()->isVisible(), patience);
  }

  void resize_window(const QSize& size) {
    window_->resize(size);
    QTRY_COMPARE_WITH_TIMEOUT(window_->size(), size, patience);
    QTest::qWait(0);
  }

  static QString size_text(const QSize& size) { return QString("%1x%2").arg(size.width()).arg(size.height()); }

  static QString widest(const QWidget& form, int room) {
    QStringList wide{QString("%1 in %2:").arg(form.width()).arg(room)};
    for (const QWidget* part : form.findChildren<QWidget*>())
      if (part->minimumSizeHint().width() > room - 20 && !part->objectName().startsWith("qt_"))
        wide << QString("%1 %2").arg(part->objectName()).arg(part->minimumSizeHint().width());
    return wide.join(" ");
  }

  static void add_themes() {
    QTest::addColumn<ThemeChoice>("choice");
    QTest::newRow("light") << ThemeChoice::light;
    QTest::newRow("dark") << ThemeChoice::dark;
  }

  static void take_theme() {
    QFETCH(ThemeChoice, choice);
    apply_theme(*qApp, choice);
  }

  // As wide as its words ask for, and as it opens.
  static void verify_dialog(QDialog& dialog, const QString& name) {
    dialog.show();
    QVERIFY(QTest::qWaitForWindowExposed(&dialog));
    verify_whole(dialog, name);
    dialog.resize(dialog.minimumSizeHint());
    QTest::qWait(0);
    verify_whole(dialog, name + ", as small as it may be");
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() { open_window(made::source(), made::config()); }

  void cleanup() {
    close_window();
    apply_theme(*qApp, ThemeChoice::light);
  }

  void settings_of_every_model_and_optimizer_are_whole_data() { add_themes(); }
  void settings_of_every_model_and_optimizer_are_whole() {
    take_theme();
    show_settings();
    const std::vector<std::string> models = model_names(), optimizers = optimizer_names();
    for (size_t i = 0; i < std::max(models.size(), optimizers.size()); ++i) {
      RunConfig config = new_run(models[i % models.size()], optimizers[i % optimizers.size()], 8);
      config.steps = 1'234'567;
      config.seed = 9'007'199'254'740'992 / 2;
      config.mesh_axes = {{"data", 4}, {"pipeline", 2}};
      config.sharding.zero = {2, {"data"}};
      config.pipeline.axis = "pipeline";
      config.pipeline.schedule = all_schedules()[i % all_schedules().size()].name;
      document().reset(config, {});
      for (const QSize& size : sizes) {
        resize_window(size);
        const auto* area = settings()->findChild<QScrollArea*>();
        QTRY_VERIFY_WITH_TIMEOUT(
            area->verticalScrollBar()->isVisible() || area->widget()->height() <= area->viewport()->height(), patience);
        const int room = area->viewport()->width();
        QTRY_VERIFY2_WITH_TIMEOUT(area->widget()->width() <= room, qPrintable(widest(*area->widget(), room)), patience);
        verify_whole(*settings(), qt(config.model.name) + " at " + size_text(size));
      }
    }
  }

  void the_panels_and_bars_are_whole_data() { add_themes(); }
  void the_panels_and_bars_are_whole() {
    take_theme();
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    selection().select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
    for (const QSize& size : sizes) {
      resize_window(size);
      verify_whole(*window_->inspector(), "inspector at " + size_text(size));
      verify_whole(*window_->mesh_bar(), "mesh bar at " + size_text(size));
      if (size.height() < 600) continue;  // there the bottom panel stays collapsed
      if (size == sizes[1]) window_->findChild<QAction*>("bottomPanel")->trigger();
      for (const char* name : {"run", "problems", "rules"}) {
        auto* dock = window_->findChild<QDockWidget*>(name);
        dock->raise();
        QTest::qWait(0);
        verify_whole(*dock->widget(), QString("%1 at %2").arg(name, size_text(size)));
      }
    }
  }

  void dialogs_are_whole_data() { add_themes(); }
  void dialogs_are_whole() {
    take_theme();
    NewRunDialog new_run;
    verify_dialog(new_run, "new run");
    MeshDialog mesh(made::config());
    verify_dialog(mesh, "mesh axes");
    AttachDialog attach("/tmp/run.socket", nullptr);
    verify_dialog(attach, "attach");
    ExportDialog exports("/tmp", "run", "layout", true, {});
    for (auto* kinds : exports.findChildren<QComboBox*>("exportKind"))
      for (int kind = 0; kind < kinds->count(); ++kind) {
        kinds->setCurrentIndex(kind);
        verify_dialog(exports, "export as " + kinds->currentText());
      }
  }

  // What hints and rounding do to widths at other scales is seen in a process that begins with one.
  void so_it_is_at_every_scale_of_the_screen_data() {
    QTest::addColumn<QString>("scale");
    QTest::addColumn<QString>("theme");  // which changes colours alone
    QTest::newRow("1.5") << "1.5"
                         << "light";
    QTest::newRow("2") << "2"
                       << "dark";
  }
  void so_it_is_at_every_scale_of_the_screen() {
    if (qEnvironmentVariableIsSet("QT_SCALE_FACTOR")) return;
    QFETCH(QString, scale);
    QFETCH(QString, theme);
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_SCALE_FACTOR", scale);
    QProcess process;
    process.setProcessEnvironment(environment);
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(QCoreApplication::applicationFilePath(),
                  {"forms_test", "settings_of_every_model_and_optimizer_are_whole:" + theme,
                   "the_panels_and_bars_are_whole:" + theme, "dialogs_are_whole:" + theme});
    QVERIFY(process.waitForFinished(patience));
    QVERIFY2(process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0, process.readAll().constData());
  }
};

REGISTER_WINDOW_TEST(FormsTest)

}  // namespace forms_test

#include "forms_test.moc"
