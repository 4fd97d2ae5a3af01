#pragma once

#include <QIcon>
#include <QKeySequence>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>
#include <QWidget>
#include <functional>

#include "gui/look/line_label.h"
#include "gui/look/shared_columns.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// Errors of the newest config, warnings of its plan and what lint finds in it, each with its place, what would be right
// and what it costs. Activating one asks for the field concerned; they are copied as text. Findings with a fix are
// fixed by a button, one or all of them, each time one step of undo; their rules are turned off with a reason.
class ProblemsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ProblemsPanel(Workspace& workspace, QWidget* parent = nullptr);

  // Problems that are not of planning: a file that could not be read. Gone with the next edit.
  void show_file_errors(const std::vector<Error>& errors);
  QTreeWidget* list() const { return list_; }
  // Goes to the place of the problem behind the current one, or before it, around the ends of the list; its text, empty
  // where there is no problem.
  QString go(int by);

 signals:
  void activated(const QString& place);
  void countChanged(int errors, int warnings);

 private:
  void take_look();
  void refresh();
  QTreeWidgetItem* add(const Error& error, bool is_error);
  void add_findings();
  void refresh_buttons();
  void show_none();
  void turn_off();
  void add_action(const QString& text, const QString& tip, const QKeySequence& key, std::function<void()> act);
  void copy() const;

  Workspace& workspace_;
  std::vector<Error> file_errors_;
  QTreeWidget* list_;
  QLabel* empty_;
  LineLabel* state_;
  QPushButton *fix_, *fix_all_, *off_;
  QWidget* bar_;
  SharedColumns* columns_;
  QIcon error_icon_, warning_icon_;
};

}  // namespace shardscope
