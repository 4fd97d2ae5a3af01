#pragma once

#include <QChartView>
#include <QSize>
#include <QString>

namespace shardscope {

// Writes a chart as a picture of its own: SVG where the file is called so, else PNG. False where that fails.
bool save_picture(QChartView& view, const QString& file, QSize size = {720, 440});

// Gives the chart a menu "Save picture".
void offer_picture(QChartView& view);

}  // namespace shardscope
