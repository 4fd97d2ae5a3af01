#pragma once

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStandardItemModel>
#include <QTableView>
#include <QWidget>
#include <optional>
#include <vector>

#include "engine/lint/what_next.h"
#include "gui/background/background.h"
#include "gui/look/empty_note.h"
#include "gui/look/footer_note.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// Which setting, changed by one notch, makes the step shorter or saves memory, as `shardrun plan --what-next` says it:
// planned in the background when it is asked for, a row each, and a click takes one (undoable).
class NextTab : public QWidget {
  Q_OBJECT
 public:
  explicit NextTab(Workspace& workspace, QWidget* parent = nullptr);

  bool is_busy() const { return planning_.is_busy(); }
  void start();

  enum Column { setting_column, time_column, time_change_column, memory_column, memory_change_column, state_column };

 private:
  struct Outcome {
    RunConfig config;  // whose changes these are
    std::optional<WhatNext> next;
    std::vector<Error> errors;
  };

  void show_outcome(Outcome outcome);
  void add_row(const Notch& notch);
  void take(const QModelIndex& index);
  void forget();
  void show_state();
  bool is_of_shown_config() const { return shown_.config == workspace_.document.config(); }

  Workspace& workspace_;
  Outcome shown_;
  QStandardItemModel* model_;
  QSortFilterProxyModel* sorted_;
  QPushButton *plan_, *take_;
  QProgressBar* progress_;
  QLabel* now_;
  QTableView* table_;
  FooterNote* note_;
  EmptyNote* none_;
  WorkerThreads thread_{1};  // of its own, as of findings: others do not wait for it
  Background<Outcome> planning_;
};

}  // namespace shardscope
