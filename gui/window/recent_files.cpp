#include "gui/window/recent_files.h"

#include <QFileInfo>
#include <QSettings>

namespace shardscope {
namespace {

constexpr qsizetype capacity = 8;
const QString key = "recent_files";

}  // namespace

void remember_recent_file(const QString& path) {
  const QString whole = QFileInfo(path).absoluteFilePath();
  QSettings settings;
  QStringList files = settings.value(key).toStringList();
  files.removeAll(whole);
  files.prepend(whole);
  settings.setValue(key, files.mid(0, capacity));
}

RecentFiles::RecentFiles(QMenu* menu) : QObject(menu), menu_(menu) {
  connect(menu, &QMenu::aboutToShow, this, &RecentFiles::refresh);
}

void RecentFiles::refresh() {
  menu_->clear();
  const QStringList files = QSettings().value(key).toStringList();
  for (const QString& file : files) {
    QAction* action = menu_->addAction(QFileInfo(file).fileName(), this, [this, file] { emit chosen(file); });
    action->setToolTip(file);
    action->setStatusTip(file);
  }
  if (files.isEmpty()) menu_->addAction(tr("No files yet"))->setEnabled(false);
}

}  // namespace shardscope
