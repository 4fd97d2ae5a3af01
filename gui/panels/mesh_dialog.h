#pragma once

#include <QDialog>
#include <QTableWidget>
#include <vector>

#include "engine/mesh/mesh.h"

class QDialogButtonBox;
class QLabel;

namespace shardscope {

// Adds, removes, renames, resizes and orders the axes of a mesh. Illegal meshes are explained and cannot be accepted.
class MeshDialog : public QDialog {
  Q_OBJECT
 public:
  explicit MeshDialog(const std::vector<MeshAxis>& axes, QWidget* parent = nullptr);
  std::vector<MeshAxis> axes() const;

 private:
  void add_row(const MeshAxis& axis);
  void move_row(int by);
  void check();

  QTableWidget* table_;
  QLabel* verdict_;
  QDialogButtonBox* buttons_;
};

}  // namespace shardscope
