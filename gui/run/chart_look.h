#pragma once

#include <QAbstractAxis>
#include <QChartView>
#include <initializer_list>

namespace shardscope {

// What the charts of a run have in common: margins and legend, once; fonts and colors, with every theme.
void prepare_chart(QChartView& view);
void show_theme(QChartView& view, std::initializer_list<QAbstractAxis*> axes);
// How many marks an axis may have on a chart of `height` pixels.
int most_marks(int height);

}  // namespace shardscope
