#pragma once

#include <QDialog>
#include <QTableWidget>
#include <vector>

#include "engine/config/run_config.h"

class QDialogButtonBox;
class QLabel;

namespace shardscope {

// Adds, removes, renames, resizes and orders the axes of a config's mesh. Illegal meshes are explained and cannot be
// accepted; what an edit would take with it is said.
class MeshDialog : public QDialog {
  Q_OBJECT
 public:
  explicit MeshDialog(const RunConfig& config, QWidget* parent = nullptr);
  std::vector<MeshAxis> axes() const;
  // By what name each of them went before; empty for a new one.
  std::vector<std::string> names_before() const;

 private:
  void add_row(const MeshAxis& axis, const std::string& before);
  void move_row(int by);
  void check();

  const RunConfig& config_;
  QTableWidget* table_;
  QLabel* verdict_;
  QDialogButtonBox* buttons_;
};

}  // namespace shardscope
