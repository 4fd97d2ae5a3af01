#include "gui/run/chart_look.h"

#include <QChart>
#include <QGraphicsLayout>
#include <QLegend>

#include "gui/look/appearance.h"

namespace shardscope {

void prepare_chart(QChartView& view) {
  QChart& chart = *view.chart();
  view.viewport()->setAccessibleName(QObject::tr("curves"));
  chart.legend()->setAlignment(Qt::AlignTop);
  chart.legend()->setContentsMargins(0, 0, 0, 0);
  chart.legend()->setMarkerShape(QLegend::MarkerShapeFromSeries);
  chart.setMargins({4, 0, 14, 0});
  chart.layout()->setContentsMargins(0, 0, 0, 0);
  chart.setBackgroundRoundness(0);
  view.setRenderHint(QPainter::Antialiasing);
  view.setFrameShape(QFrame::NoFrame);
  view.setMinimumSize(180, 96);
}

void show_theme(QChartView& view, std::initializer_list<QAbstractAxis*> axes) {
  QChart& chart = *view.chart();
  chart.setBackgroundBrush(theme().base);
  chart.setTitleBrush(theme().text);
  chart.setTitleFont(small_font());
  chart.legend()->setFont(small_font());
  chart.legend()->setLabelBrush(theme().text);
  for (QAbstractAxis* axis : axes) {
    axis->setLabelsFont(small_font());
    axis->setLabelsBrush(theme().muted);
    axis->setGridLinePen(QPen(theme().line, 1));
    axis->setLinePen(QPen(theme().line, 1));
  }
  view.setBackgroundBrush(theme().base);
}

int most_marks(int height) { return height < 170 ? 4 : 6; }

}  // namespace shardscope
