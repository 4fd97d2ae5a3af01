#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QSpinBox>
#include <QToolButton>
#include <QWidget>
#include <vector>

#include "gui/look/marked_label.h"
#include "gui/planning/legal_sizes.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The mesh as fields: "data [4] x model [2] + = 8 devices"; the plus adds an axis. A size that is wrong has a red frame
// and says why, and so has the one that the last edit changed while that cannot be planned. The arrows of a field go
// from one legal size to the next.
class MeshBar : public QWidget {
  Q_OBJECT
 public:
  explicit MeshBar(Workspace& workspace, QWidget* parent = nullptr);

  QSpinBox* field(int axis) const { return fields_.at(axis); }
  int field_count() const { return static_cast<int>(fields_.size()); }
  // Of the config that is shown; asked for when a field is entered, and while there are problems.
  LegalSizes& legal_sizes() { return legal_; }
  // Gives the keyboard to the field of a place of the run file; false where it is not of the mesh.
  bool focus_place(const QString& place);
  // Without the words around the fields, where there is little room.
  void set_compact(bool compact);

 private:
  void show_config();
  void show_errors();
  void make_fields();
  void name_axes();
  void offer_axes();
  void add_axis(const std::string& name);

  Workspace& workspace_;
  LegalSizes legal_;
  QHBoxLayout* layout_;
  QLabel* title_;
  QToolButton* add_;
  QLabel* total_;
  bool compact_ = false;
  std::vector<std::string> names_;
  std::vector<QSpinBox*> fields_;
  std::vector<MarkedLabel*> labels_;
  std::vector<QWidget*> parts_;  // all widgets of the fields
  int editing_axis_ = -1;        // the one that the next edit is of
  int edited_axis_ = -1;         // the one that the last edit was of
};

}  // namespace shardscope
