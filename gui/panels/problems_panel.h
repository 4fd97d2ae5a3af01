#pragma once

#include <QIcon>
#include <QKeySequence>
#include <QLabel>
#include <QTreeWidget>
#include <QWidget>
#include <functional>

#include "gui/workspace/workspace.h"

namespace shardscope {

// Errors of the newest config, warnings of its plan and advice on it, each with its place and what would be right.
// Activating one asks for the field concerned; they are copied as text.
class ProblemsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ProblemsPanel(Workspace& workspace, QWidget* parent = nullptr);

  // Problems that are not of planning: a file that could not be read. Gone with the next edit.
  void show_file_errors(const std::vector<Error>& errors);
  QTreeWidget* list() const { return list_; }

 signals:
  void activated(const QString& place);
  void countChanged(int errors, int warnings);

 private:
  void take_look();
  void refresh();
  void add(const Error& error, bool is_error);
  void add_action(const QString& text, const QString& tip, const QKeySequence& key, std::function<void()> act);
  void copy() const;

  Workspace& workspace_;
  std::vector<Error> file_errors_;
  QTreeWidget* list_;
  QLabel* empty_;
  QIcon error_icon_, warning_icon_;
};

}  // namespace shardscope
