#pragma once

#include <QChartView>
#include <QLineSeries>
#include <QScatterSeries>
#include <QValueAxis>
#include <optional>
#include <vector>

#include "viz/paint/curve.h"

namespace shardscope {

// A chart of curves over training steps, which share a scale, redrawn from all their points with as many as there are
// pixels. Its axes have round marks. Several curves have a legend in place of the title. Ctrl and the wheel zoom into
// the steps about the cursor, a double click shows all.
class RunCurve : public QChartView {
  Q_OBJECT
 public:
  explicit RunCurve(const QString& name, QWidget* parent = nullptr);

  struct Line {
    QString label;
    std::vector<CurvePoint> points;  // of ascending step
  };
  // Where `expected` is given, a dashed line at that height. `unit` stands behind each mark of the vertical axis.
  struct Content {
    QString title;
    QString unit;
    std::vector<Line> lines;
    std::optional<double> expected;
    double last_x = 1;
    double first_x = 0;
  };
  void show_content(const Content& content);
  void take_theme();

 signals:
  void zoomed(double factor, double about);
  void wholeWanted();

 protected:
  void wheelEvent(QWheelEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;

 private:
  struct Curve {
    QLineSeries* line;
    QScatterSeries* dots;  // few points are seen one by one
  };

  void add(QXYSeries* series);
  void set_curve_count(size_t count);
  void show_legend();

  std::vector<Curve> curves_;
  QLineSeries* expected_;
  QValueAxis* x_;
  QValueAxis* y_;
};

}  // namespace shardscope
