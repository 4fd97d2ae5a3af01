#pragma once

#include <QPaintEngine>
#include <QPainter>

namespace shardscope {

// Whether the painter keeps lines and letters as such: then nothing is drawn by way of a picture of pixels.
inline bool keeps_vectors(const QPainter& painter) {
  const QPaintEngine::Type type = painter.paintEngine()->type();
  return type == QPaintEngine::Picture || type == QPaintEngine::SVG || type == QPaintEngine::Pdf;
}

}  // namespace shardscope
