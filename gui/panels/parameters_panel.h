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

  void focusFilter();
  // Shows and selects an array, and opens its spec for editing where it has one.
  void editSpec(const QString& key);
  QTreeView* tree() const { return tree_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
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
