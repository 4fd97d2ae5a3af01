#pragma once

#include <QCategoryAxis>
#include <QChartView>
#include <QLineSeries>
#include <QScatterSeries>
#include <QTimer>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "gui/look/legend.h"
#include "gui/search/strategy_search.h"

namespace shardscope {

// Numbers of the points that are drawn: all where they are at most `most`; else those to keep, and of each place of a
// grid over `area` the first, which are at most `most`, too.
std::vector<int> thinned(const std::vector<QPointF>& points, const QRectF& area, int most,
                         const std::function<bool(int)>& keeps);

// The candidates of a search as points: time of a step across, memory of the heaviest device up, both logarithmic. The
// colour says the tensor degree, the shape the pipeline degree; the front is a line. Of some thousand points those of
// the front, the current one, and one in each place of a fine grid are drawn. A click, or an arrow key, makes a point
// current.
class FoundChart : public QChartView {
  Q_OBJECT
 public:
  static constexpr int most_points = 2000;

  explicit FoundChart(const StrategySearch& search, QWidget* parent = nullptr);

  void set_current(std::optional<int> row);  // of StrategySearch::found()
  std::optional<int> row_at(const QPointF& place) const;
  QPointF place_of(int row) const;
  const std::vector<int>& shown() const { return shown_; }  // rows that are drawn
  bool is_settled() const { return !later_.isActive(); }

 signals:
  void pointed(std::optional<int> row);  // by the mouse
  void chosen(int row);                  // it is current
  void pinWanted(int row);
  void takeWanted(int row);

 protected:
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  using Class = std::pair<int, int>;  // of tensor and of pipeline degree

  void refresh();
  void refresh_later();
  void show_axes();
  void show_points();
  void show_legend();
  void take_theme();
  QXYSeries* add(QXYSeries* series);
  QScatterSeries* points_of(Class of);
  void step(int by, double Found::*order);
  QPointF point(int row) const;

  const StrategySearch& search_;
  QCategoryAxis *x_, *y_;
  QLineSeries* front_;
  QScatterSeries* current_;
  std::map<Class, QScatterSeries*> points_;
  std::vector<LegendEntry> legend_;
  std::vector<int> shown_;
  std::optional<int> row_, pressed_;
  QTimer later_, click_{this};
};

}  // namespace shardscope
