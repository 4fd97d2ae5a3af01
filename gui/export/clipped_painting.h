#pragma once

#include <QPainter>
#include <QPicture>

namespace shardscope {

// Plays a picture to a painter whose device knows no clipping (Qt's SVG generator before 6.7): what is cut by a clip is
// cut before it is drawn. Text is drawn where its middle is seen.
void play_clipped(const QPicture& picture, QPainter& painter, QSize size);

}  // namespace shardscope
