#pragma once

#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMainWindow>

#include "gui/window/commands.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// Everything that the window can do, every setting and every array of the model, by typing some letters of its name. Up
// and Down choose, Enter does it, Escape closes. It is over the window and moves nothing.
class CommandPalette : public QFrame {
  Q_OBJECT
 public:
  CommandPalette(QMainWindow& window, Workspace& workspace);

  void open();

 signals:
  void placeWanted(const QString& place);  // of the run file: its setting was chosen

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Entry {
    QString text, where, keys;
    QPointer<QAction> action;
    QString place;   // of a setting, where there is no action
    ArrayRef array;  // to select, where there is neither
    int score = 0;
  };

  void list_entries();
  void show_matches();
  void show_entry(const Entry& entry);
  void choose(QListWidgetItem* item);
  void close_and_return();

  QMainWindow& window_;
  Workspace& workspace_;
  QLineEdit* line_;
  QListWidget* list_;
  QLabel* nothing_;
  QPointer<QWidget> before_;  // had the keyboard
  std::vector<Entry> entries_;
};

}  // namespace shardscope
