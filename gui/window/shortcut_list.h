#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QMainWindow>
#include <QTreeWidget>

namespace shardscope {

// All keys of the window: those of its actions, by menu and panel, and those that its pages take themselves. A line
// filters them.
class ShortcutList : public QDialog {
  Q_OBJECT
 public:
  explicit ShortcutList(QMainWindow& window);

 private:
  void add(const QString& group, const QString& keys, const QString& meaning);
  void filter(const QString& text);

  QLineEdit* line_;
  QTreeWidget* tree_;
};

}  // namespace shardscope
