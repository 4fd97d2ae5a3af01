#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QWidget>

#include "gui/panels/parameter_model.h"

namespace shardscope {

// The parameter tree, the specs beside the names, with its filter line and the switch for optimizer state.
class ParametersPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ParametersPanel(Workspace& workspace, QWidget* parent = nullptr);

  void focus_filter();
  // Selects the array whose spec is at a place of the run file, and opens it for editing; false where there is none.
  bool focus_place(const QString& place);
  QTreeView* tree() const { return tree_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void edit_spec(const ArrayRef& array);
  void fit_columns();  // until the person has set a width by hand
  void follow_selection();
  void take_selection(const QModelIndex& index);
  void show_facts();

  Workspace& workspace_;
  ParameterModel* model_;
  QSortFilterProxyModel* proxy_;
  QLineEdit* filter_;
  QCheckBox* state_;
  QTreeView* tree_;
  QLabel* summary_;
  bool fitting_ = false;
  bool by_hand_ = false;
};

}  // namespace shardscope
