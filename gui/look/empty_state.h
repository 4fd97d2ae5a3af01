#pragma once

#include <QPainter>
#include <QString>

namespace shardscope {

// What a view shows while it has nothing: what is missing, and what to do.
void paint_empty_state(QPainter& painter, const QRect& place, const QString& title, const QString& advice);

}  // namespace shardscope
