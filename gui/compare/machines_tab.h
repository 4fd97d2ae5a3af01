#pragma once

#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTableView>
#include <QWidget>

#include "gui/compare/machines_model.h"
#include "gui/look/footer_note.h"

namespace shardscope {

// The shown strategy on its own machine and on others that a person names, planned in the background: a machine a
// column. Which they are is kept between starts of the program. A machine that is taken stays where it is in the table,
// and so does the one that it replaces.
class MachinesTab : public QWidget {
  Q_OBJECT
 public:
  explicit MachinesTab(Workspace& workspace, QWidget* parent = nullptr);

  bool is_busy() const { return sweep_.is_running(); }
  void start();

 private:
  void add();
  void remove();
  void set_others(const QStringList& names, const QString& removed = {});
  void take(int column);
  bool edit_price(const QModelIndex& cell);  // false: it is not of that
  void show_columns(const QString& removed = {});
  void say_fault(const QString& fault);  // of the name that is typed; empty: it has none
  void show_state();
  bool is_of_shown_config() const;
  QString shown_machine() const;  // that of the plan
  bool is_other(int column) const;
  RunConfig config_of(int column) const;  // of the document, on the column's machine
  int column() const;                     // the selected one, or -1

  Workspace& workspace_;
  PlanSweep sweep_;
  RunConfig swept_;  // what was planned, the machine aside
  QString fault_;    // why a machine cannot be added
  MachinesModel* model_;
  QStringList others_;
  QComboBox* names_;
  QPushButton *add_, *remove_, *plan_, *take_;
  QProgressBar* progress_;
  QTableView* table_;
  FooterNote* note_;
};

}  // namespace shardscope
