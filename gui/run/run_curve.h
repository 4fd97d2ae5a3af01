#pragma once

#include <QCategoryAxis>
#include <QChartView>
#include <QLineSeries>
#include <QScatterSeries>
#include <QValueAxis>
#include <functional>
#include <optional>
#include <vector>

#include "viz/paint/curve.h"

namespace shardscope {

// A chart of curves over training steps, which share a scale, redrawn from all their points with as many as there are
// pixels. Its axes have round marks, the vertical one perhaps logarithmic. Several curves have a legend in place of the
// title. Under the pointer stands what each curve is at that step. Ctrl and the wheel zoom into the steps about the
// cursor, a double click shows all.
class RunCurve : public QChartView {
  Q_OBJECT
 public:
  explicit RunCurve(const QString& name, QWidget* parent = nullptr);

  struct Line {
    QString label;
    std::vector<CurvePoint> points;  // of ascending step
    int color = 0, style = 0;        // curve_color, and how it is dotted
    QString name = {};               // what the readout calls it; empty: as the label
  };
  // Where `expected` is given, a dashed line at that height. `unit` stands behind each mark of the vertical axis.
  // `text` writes a value for the readout.
  struct Content {
    QString title;
    QString unit;
    std::vector<Line> lines;
    std::optional<double> expected;
    double last_x = 1;
    double first_x = 0;
    bool without_first_outlier = false;  // the scale disregards a first point that would flatten the rest
    bool is_logarithmic = false;
    double smoothing = 0;  // 0 to 1, see smoothed()
    std::function<QString(double)> text;
  };
  void show_content(Content content);
  void take_theme();
  // Marks a step and what the curves are there; nothing: none.
  void point_at(std::optional<double> step);
  QStringList readout() const;  // its lines; empty where none is marked

 signals:
  void zoomed(double factor, double about);
  void wholeWanted();
  void pointed(std::optional<double> step);

 protected:
  void wheelEvent(QWheelEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;

 private:
  struct Curve {
    QLineSeries* line;
    QScatterSeries* dots;  // few points are seen one by one
  };

  void add(QXYSeries* series);
  void set_curve_count(size_t count);
  void set_vertical_axis(QAbstractAxis* axis);
  int least_width() const;
  void show_range(std::vector<double> heights);
  void show_legend();
  double drawn(double y) const;
  QPointF position_of(const CurvePoint& point) const;

  Content content_;
  std::vector<Curve> curves_;
  QLineSeries* expected_;
  QValueAxis* x_;
  QValueAxis* y_;
  QCategoryAxis* log_y_;  // of logarithms
  QAbstractAxis* vertical_;
  std::optional<double> pointed_;
};

}  // namespace shardscope
