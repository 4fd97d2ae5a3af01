#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "gui/pages/memory_curve_view.h"

namespace shardscope {

// The ten largest buffers in use at the position of a memory curve, each with the array that is in it, its layout and
// the step that makes it.
class MemoryBuffers : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { name_column, bytes_column, category_column, layout_column, maker_column, use_column, columns };
  enum Role { array_role = Qt::UserRole, step_role };
  static constexpr size_t most = 10;

  MemoryBuffers(Workspace& workspace, const MemoryCurveView& curve, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    BufferUse use;
    std::optional<StepRef> maker;  // of what is in it first; none: it is stored
  };

  void take();
  void learn_makers();
  const Buffer& buffer(const Row& row) const { return curve_.arena().buffers[static_cast<size_t>(row.use.buffer)]; }
  QString text(const Row& row, int column) const;
  ArrayRef array(const Row& row) const;

  Workspace& workspace_;
  const MemoryCurveView& curve_;
  std::vector<Row> rows_;
  std::shared_ptr<const Plan> plan_;            // that they are of, and
  std::vector<std::optional<StepRef>> makers_;  // by value
};

}  // namespace shardscope
