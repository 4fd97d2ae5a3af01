#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QTreeView>
#include <QWidget>

#include "gui/look/empty_note.h"
#include "gui/panels/parameter_model.h"
#include "gui/panels/spec_actions.h"
#include "gui/panels/spec_delegate.h"

namespace shardscope {

// The parameter tree, the specs beside the names, with its filter line and the switch for optimizer state. F2 edits the
// spec of the chosen row, Shift+F2 as text, Escape clears the filter. An edit is of all selected rows, of a group of
// all arrays below it. A tree of many rows is folded. Columns for which the panel has no room are hidden, the last
// first, until the person has set a width by hand.
class ParametersPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ParametersPanel(Workspace& workspace, QWidget* parent = nullptr);

  void focus_filter();
  // Selects the array whose spec is at a place of the run file, and opens it for editing; false where there is none.
  bool focus_place(const QString& place);
  QTreeView* tree() const { return tree_; }
  SpecActions* spec_actions() const { return actions_; }
  // Those of the selected rows, each once.
  std::vector<ArrayRef> selected_arrays() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void edit_spec(const ArrayRef& array);
  void edit_current();
  void type_spec();
  std::vector<ArrayFacts> edited_with(const QModelIndex& index) const;
  void show_menu(const QPoint& point);
  void filter_by(const QString& text);
  QModelIndex first_array() const;
  void unfold();
  int widest_name() const;
  void fit_columns();        // until the person has set a width by hand, and not under an open editor
  void fit_columns_later();  // once for all calls of an event-loop iteration
  void follow_selection();
  void take_selection();
  void show_facts();

  Workspace& workspace_;
  ParameterModel* model_;
  QLineEdit* filter_;
  QCheckBox* state_;
  QTreeView* tree_;
  SpecDelegate* delegate_;
  SpecActions* actions_;
  QAction *edit_, *type_;
  EmptyNote* nothing_;
  QLabel* summary_;
  bool choosing_ = false;  // one of selections and tree follows the other
  bool fitting_ = false, fits_later_ = false;
  bool by_hand_ = false;
  int bytes_width_ = 78;  // of each of the columns of bytes
};

}  // namespace shardscope
