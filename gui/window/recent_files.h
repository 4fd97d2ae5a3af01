#pragma once

#include <QMenu>
#include <QObject>

namespace shardscope {

// The run files that were opened or saved last, newest first, in the user's settings.
void remember_recent_file(const QString& path);

// Fills the "Open recent" menu with them.
class RecentFiles : public QObject {
  Q_OBJECT
 public:
  explicit RecentFiles(QMenu* menu);

 signals:
  void chosen(const QString& path);

 private:
  void refresh();
  QMenu* menu_;
};

}  // namespace shardscope
