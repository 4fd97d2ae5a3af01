#include "gui/run/chart_picture.h"

#include <QAction>
#include <QChart>
#include <QFileDialog>
#include <QGraphicsLayout>
#include <QMessageBox>
#include <QPainter>
#include <QSvgGenerator>

namespace shardscope {
namespace {

constexpr qreal png_scale = 2;

void paint(QChartView& view, QPainter& painter, QSize size) {
  QChart& chart = *view.chart();
  const QSizeF before = chart.size();
  chart.resize(size);
  chart.layout()->activate();
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF area({}, QSizeF(size));
  view.scene()->render(&painter, area, area);
  chart.resize(before);
}

bool save_svg(QChartView& view, const QString& file, QSize size) {
  QSvgGenerator generator;
  generator.setFileName(file);
  generator.setSize(size);
  generator.setViewBox(QRect({}, size));
  QPainter painter;
  if (!painter.begin(&generator)) return false;
  paint(view, painter, size);
  return painter.end();
}

bool save_png(QChartView& view, const QString& file, QSize size) {
  QImage image(size * png_scale, QImage::Format_RGB888);
  image.setDevicePixelRatio(png_scale);
  QPainter painter(&image);
  paint(view, painter, size);
  painter.end();
  return image.save(file, "PNG");
}

void choose_picture(QChartView& view) {
  const QString file = QFileDialog::getSaveFileName(view.window(), QObject::tr("Save picture"),
                                                    view.objectName() + ".svg", QObject::tr("Pictures (*.svg *.png)"));
  if (!file.isEmpty() && !save_picture(view, file))
    QMessageBox::warning(view.window(), QObject::tr("Save picture"), QObject::tr("%1 cannot be written").arg(file));
}

}  // namespace

bool save_picture(QChartView& view, const QString& file, QSize size) {
  return file.endsWith(".svg", Qt::CaseInsensitive) ? save_svg(view, file, size) : save_png(view, file, size);
}

void offer_picture(QChartView& view) {
  auto* save = new QAction(QObject::tr("Save &picture\u2026"), &view);
  QObject::connect(save, &QAction::triggered, &view, [&view] { choose_picture(view); });
  view.addAction(save);
  view.setContextMenuPolicy(Qt::ActionsContextMenu);
}

}  // namespace shardscope
