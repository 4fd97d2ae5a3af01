#pragma once

#include <QPushButton>
#include <QStandardPaths>
#include <QTest>
#include <memory>

#include "gui/look/appearance.h"
#include "gui/window/window.h"
#include "tests/gui/own_settings.h"
#include "tests/patience.h"

namespace shardscope {

// A test of the whole window. Its slots initTestCase, init and cleanup call prepare(), open_window(), close_window().
class WindowCase : public QObject {
 protected:
  std::unique_ptr<MainWindow> window_;

  Workspace& workspace() { return window_->workspace(); }
  Document& document() { return workspace().document; }
  Planner& planner() { return workspace().planner; }
  Selection& selection() { return workspace().selection; }
  const Plan& plan() { return *planner().plan(); }
  QPushButton* button(const char* name) { return window_->findChild<QPushButton*>(name); }

  static void prepare() {
    QStandardPaths::setTestModeEnabled(true);
    use_own_settings();
    apply_theme(*qApp, ThemeChoice::light);
  }

  // The window with the keyboard, and the plan of the config in it.
  void open_window(const PlanSource& source, const RunConfig& config, const QSize& size = {}) {
    window_ = std::make_unique<MainWindow>(source, "/nowhere/shardrun");
    if (size.isValid()) window_->resize(size);
    document().reset(config, {});
    window_->show();
    window_->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(window_.get()));
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
  }

  void close_window() {
    document().reset(document().config(), {});  // so that nothing asks about unsaved edits
    window_.reset();
  }
};

}  // namespace shardscope
