#pragma once

#include <QMenu>
#include <QObject>

namespace shardscope {

// The "Open recent" menu; the list is kept in the user's settings, newest first.
class RecentFiles : public QObject {
  Q_OBJECT
 public:
  explicit RecentFiles(QMenu* menu);
  void add(const QString& path);

 signals:
  void chosen(const QString& path);

 private:
  void refresh();
  QMenu* menu_;
};

}  // namespace shardscope
