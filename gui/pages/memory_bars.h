#pragma once

#include <QPainter>
#include <QWidget>
#include <memory>
#include <vector>

#include "gui/look/tip_widget.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// What the colours of the categories mean, and how much each takes; in a pipeline on the devices of the stage that is
// shown.
class MemoryLegend : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryLegend(Workspace& workspace, QWidget* parent = nullptr);
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  // Calls `each` with every category's place and text; gives the height of all.
  template <class Each>
  int arrange(int width, const Each& each) const;

  Workspace& workspace_;
};

// Devices of a stage on which the same was measured, if anything.
struct DeviceRow {
  int stage = 0;
  int64_t measured = 0;      // bytes of the arena; 0: nothing was measured
  std::vector<int> devices;  // ascending
  bool operator==(const DeviceRow&) const = default;
};
// All devices, in the order of the first of each row.
std::vector<DeviceRow> equal_devices(const Plan& plan, const RunRecord* run);

// Memory of the devices by category as stacked bars, with the measured size where a run of this plan is known; devices
// that are alike in one row. A click selects the first of a row, another one the next; arrow keys go from row to row.
class MemoryBars : public TipWidget {
  Q_OBJECT
 public:
  explicit MemoryBars(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  const std::vector<DeviceRow>& rows() const { return rows_; }
  QString title() const;

 signals:
  void rowsChanged();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  void take_rows();
  QRectF bar_place(int row) const;
  const DeviceRow* row_under(const QPointF& point) const;
  int marked_row() const;
  double widest_bytes() const;
  void paint_limit(QPainter& painter, double scale) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;  // of the rows: the planner has another before it is delivered
  std::vector<DeviceRow> rows_;       // the first of them; all in a picture
  bool are_all_ = true;
  int left_ = 0;
};

}  // namespace shardscope
